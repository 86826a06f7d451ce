"""SRA and HPA line by line from the paper, on plain lists: slow, and sharing no code with dpbench.

D is a list of users, a user a list of (item, context). All Laplace noise comes from `lap(place, scale)`, place being
"popularity", "items" or "edges", so that a test can plant a fault in one place.
"""

from __future__ import annotations

import math


def noise(rng, **faults):
    """Laplace noise, its scale multiplied by a planted fault: noise(rng, items=1.1)."""
    return lambda place, scale: rng.laplace(0.0, scale * faults.get(place, 1.0))


def item_counts(sample, m):
    counts = [0] * m
    for item, _ in sample:
        counts[item] += 1
    return counts


def edge_counts(sample, m, h):
    counts = [[0] * h for _ in range(m)]
    for item, context in sample:
        counts[item][context] += 1
    return counts


def random_records(user, most, rng):
    """Lines 4-7 of Algorithm 1."""
    if len(user) <= most:
        return list(user)
    return [user[i] for i in rng.choice(len(user), most, replace=False)]


def best_records(user, most, score, rng):
    """Lines 11-16 of Algorithm 2; records with the same score have an equal chance to be picked."""
    if len(user) <= most:
        return list(user)
    shuffled = [user[i] for i in rng.permutation(len(user))]
    return sorted(shuffled, key=lambda record: -score[record[0]])[:most]


def publish(sample, m, h, most, epsilon_1, epsilon_2, lap):
    q1 = [c + lap("items", most / epsilon_1) for c in item_counts(sample, m)]
    q2 = [[c + lap("edges", most / epsilon_2) for c in row] for row in edge_counts(sample, m, h)]
    return q1, q2


def sra(D, m, h, most, epsilon, rng, lap, each=0.5):
    """Algorithm 1; `each`: the share of either query, which is 1 where each of them has the whole budget."""
    sample = [record for user in D for record in random_records(user, most, rng)]
    return publish(sample, m, h, most, each * epsilon, each * epsilon, lap)


def popularity(D, m, d, epsilon, rng, lap, scale=None):
    """Algorithm 2, Lines 1-6; `scale`: of the noise, where it is another than the paper's."""
    sample = [record for user in D for record in random_records(user, d, rng)]
    return [c + lap("popularity", scale or d / (epsilon / 10)) for c in item_counts(sample, m)]


def hpa(D, m, h, most, d, epsilon, rng, lap, each=0.45, scale=None):
    """Algorithm 2; `each` and `scale` as above."""
    noisy = [max(c, 0.0) for c in popularity(D, m, d, epsilon, rng, lap, scale)]
    total = sum(noisy) or 1.0
    score = [c / total for c in noisy]
    sample = [record for user in D for record in best_records(user, most, score, rng)]
    return publish(sample, m, h, most, each * epsilon, each * epsilon, lap)


def kl(released, true):
    """D(released ‖ true), zero or negative counts replaced by 0.01."""
    p = [x if x > 0 else 0.01 for x in released]
    q = [x if x > 0 else 0.01 for x in true]
    return sum(a / sum(p) * math.log((a / sum(p)) / (b / sum(q))) for a, b in zip(p, q, strict=True))


def precision(released, true, k, rng):
    """Share of one top-k list that is in the true one, ties for the true k-th place included."""
    order = sorted(rng.permutation(len(released)), key=lambda i: -released[i])
    last = sorted(true, reverse=True)[k - 1]
    return sum(true[i] >= last for i in order[:k]) / k


def equation_21(most, n, p, average, epsilon_1):
    """For one item."""
    sampling = n * most * p * (1 - p * most / average)
    return sampling + 2 * most**2 / epsilon_1**2 + (n * most * p - n * average * p) ** 2
