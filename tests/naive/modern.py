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


# Sets, and a domain that is found first.


def canonical_chances(counts, k, epsilon):
    """{set: probability}, from the loss of every set of k columns."""
    weights = {}
    for chosen in itertools.combinations(range(len(counts)), k):
        outside = [counts[i] for i in range(len(counts)) if i not in chosen]
        loss = max(0, max(outside, default=0) - min(counts[i] for i in chosen))
        weights[chosen] = math.exp(-epsilon * loss / 2)
    return {chosen: weight / sum(weights.values()) for chosen, weight in weights.items()}


def discovered_chances(columns, weights, counts, k, scale, sigma, threshold):
    """{ranking: probability}: over all domains that may be found, round by round within each."""
    n = len(columns)
    shown = [0.5 * math.erfc((threshold - w) / sigma / math.sqrt(2)) for w in weights]
    chances = {}
    for size in range(min(k, n) + 1):
        for ranking in itertools.permutations(range(n), size):
            chances[tuple(columns[i] for i in ranking)] = 0.0
    for found in itertools.product((False, True), repeat=n):
        domain = [i for i in range(n) if found[i]]
        chance = math.prod(p if here else 1 - p for p, here in zip(shown, found, strict=True))
        for ranking in itertools.permutations(domain, min(k, len(domain))):
            left, part = list(domain), chance
            for i in ranking:
                part *= math.exp(counts[i] / scale) / sum(math.exp(counts[j] / scale) for j in left)
                left.remove(i)
            chances[tuple(columns[i] for i in ranking)] += part
    return chances
