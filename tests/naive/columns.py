"""Modern mechanisms for column counts by their definitions, one row and one candidate at a time: for tiny data only."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np


def counts_norm(z):
    """max z⁺ + max z⁻."""
    return max(0.0, *z) + max(0.0, *(-x for x in z))


def counts_noise(d, epsilon, rng):
    """Density ∝ exp(-ε ‖z‖): a point of the unit ball, found by trial and error in the cube, times Gamma(d+1)/ε."""
    while True:
        point = rng.uniform(-1, 1, d)
        if counts_norm(point) <= 1:
            return point * rng.gamma(d + 1) / epsilon


def correlated_covariance(d, k, sigma):
    """The covariance matrix of c + Z 1 + Y from its variances along the vector of ones and across it."""
    ones = np.full((d, 1), 1 / math.sqrt(d))
    k = min(k, (d + math.sqrt(d)) / 2)
    v1, v2 = k / math.sqrt(d), math.sqrt(k * (d - k) / d)
    length = v1 + v2 * math.sqrt(d - 1)
    along, across = length * v1, length * v2 / math.sqrt(d - 1)
    return sigma**2 * (along * ones @ ones.T + across * (np.eye(d) - ones @ ones.T))


def rows_of(data):
    """Each row as how often it holds each of its columns."""
    return [dict(Counter(data.indices[a:b].tolist())) for a, b in itertools.pairwise(data.indptr.tolist())]


def norm(row, power):
    """|x|₁ or |x|₂, before the root is taken."""
    return sum(x**power for x in row.values())


def clipped_counts(rows, d, power, m):
    """Column counts when a row of a larger norm (1 or 2) is scaled down to m, or to √m."""
    total = [0.0] * d
    for row in rows:
        weight = min(1.0, (m / norm(row, power)) ** (1 / power)) if row else 0.0
        for j, x in row.items():
            total[j] += x * weight
    return total


def clip_chances(rows, power, grid, target, most, exponent):
    """Probability of each candidate: ∝ exp(exponent u/R), u minus the distance of t from [S_i, S_{i-1}]."""
    saved = []
    for m in grid:
        saved.append(0.0)
        for row in rows:
            if norm(row, power) > m:
                saved[-1] += min(most, norm(row, 1) / norm(row, power) ** (1 / power))
    weights = []
    for i in range(len(grid)):
        low = saved[i] if i < len(grid) - 1 else -math.inf
        high = saved[i - 1] if i > 0 else math.inf
        distance = 0.0 if low <= target <= high else min(abs(target - low), abs(target - high))
        weights.append(math.exp(-exponent * distance / most))
    return [w / math.fsum(weights) for w in weights]


def exponential_peeling(counts, k, epsilon):
    """Probability of each sequence of k columns, chosen one after the other with ε/k each, without the factor 2."""
    chances = {(): 1.0}
    for _ in range(k):
        longer = {}
        for chosen, chance in chances.items():
            left = [column for column in range(len(counts)) if column not in chosen]
            total = math.fsum(math.exp(epsilon / k * counts[column]) for column in left)
            for column in left:
                longer[(*chosen, column)] = chance * math.exp(epsilon / k * counts[column]) / total
        chances = longer
    return chances


def limited_domain(counts, k, reach, rate, delta):
    """Probability of each ranking of up to k of the `reach` largest columns before the stop mark comes."""
    order = sorted((c for c in range(len(counts)) if counts[c] > 0), key=lambda c: -counts[c])[:reach]
    after = sorted(counts, reverse=True)[reach] if reach < len(counts) else 0
    stop = after + 1 + math.log(reach / delta) / rate
    found = {}

    def go(chosen, chance):
        if len(chosen) == k:
            found[chosen] = chance
            return
        left = [c for c in order if c not in chosen]
        weights = [math.exp(rate * (counts[c] - stop)) for c in left]
        total = 1 + math.fsum(weights)
        found[chosen] = chance / total
        for column, weight in zip(left, weights, strict=True):
            go((*chosen, column), chance * weight / total)

    go((), 1.0)
    return found


def hockey_stick(one, other, epsilon):
    """The least δ at ε: Σ max(0, P - e^ε P')."""
    return math.fsum(max(0.0, chance - math.exp(epsilon) * other.get(s, 0.0)) for s, chance in one.items())
