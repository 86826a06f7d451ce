"""The modern baselines by their definitions, with exact probabilities by enumeration: for a handful of columns only."""

from __future__ import annotations

import itertools
import math


def permute_and_flip(counts, epsilon):
    """Probability of each column: over all orders, the first whose coin exp(ε (c - c_max)) comes up."""
    best = max(counts.values())
    chance = dict.fromkeys(counts, 0.0)
    orders = list(itertools.permutations(counts))
    for order in orders:
        alive = 1.0
        for column in order:
            coin = math.exp(epsilon * (counts[column] - best))
            chance[column] += alive * coin / len(orders)
            alive *= 1 - coin
    return chance


def peeling(counts, k, epsilon):
    """Probability of each sequence of k columns, chosen one after the other with ε/k each."""
    chances = {(): 1.0}
    for _ in range(k):
        longer = {}
        for chosen, chance in chances.items():
            left = {column: c for column, c in enumerate(counts) if column not in chosen}
            for column, share in permute_and_flip(left, epsilon / k).items():
                longer[(*chosen, column)] = chance * share
        chances = longer
    return chances


def loss(counts, sequence):
    falling = sorted(counts, reverse=True)
    return max(falling[i] - counts[column] for i, column in enumerate(sequence))


def joint(counts, k, epsilon):
    """Probability of each sequence of k columns, ∝ exp(-ε loss / 2)."""
    sequences = list(itertools.permutations(range(len(counts)), k))
    weights = [math.exp(-epsilon / 2 * loss(counts, s)) for s in sequences]
    return {s: w / math.fsum(weights) for s, w in zip(sequences, weights, strict=True)}
