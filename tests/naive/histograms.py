"""The modern mechanisms for histograms by their definitions: loops, dense matrices, and privacy by summing over outcomes."""

from __future__ import annotations

import itertools
import math

import numpy as np

# Noise on non-zero counts and a threshold.


def shown_cell(count, cdf, least, edges):
    """The masses of what one cell shows: nothing, or a noisy count in one of the bins. A count of zero shows nothing."""
    if count == 0:
        return np.concatenate([[1.0], np.zeros(edges.size - 1)])
    inside = np.maximum(edges, least)
    bins = np.diff(cdf(inside - count))
    return np.concatenate([[cdf(least - count)], bins])


def excess(p, q, epsilon):
    """sup over events of P - e^ε Q."""
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())


def worst_delta(epsilon, k, cdf, least, edges, counts):
    """Over all k cells of one individual, empty before or with one of `counts`, and both directions."""
    worst = 0.0
    for before in itertools.combinations_with_replacement([0, *counts], k):
        joint = []
        for added in (0, 1):
            product = np.ones(1)
            for count in before:
                product = np.multiply.outer(product, shown_cell(count + added, cdf, least, edges)).ravel()
            joint.append(product)
        worst = max(worst, excess(*joint, epsilon), excess(*joint[::-1], epsilon))
    return worst


def stable(table, epsilon_noise, tau):
    """{cell: noisy count}, of the non-zero cells that come out above 1 + τ; `epsilon_noise()` draws."""
    noisy = {cell: count + epsilon_noise() for cell, count in table.items() if count > 0}
    return {cell: value for cell, value in noisy.items() if value > 1 + tau}


# ALP.


def alp_hash(place, level, seed, width):
    """splitmix64, in Python's own numbers."""
    mask = 2**64 - 1
    z = (place + seed + (level + 1) * 0x9E3779B97F4A7C15) & mask
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
    return (z ^ (z >> 31)) % width


def alp_table(heights, levels, width, seed):
    """The bits before they are flipped, as a tuple, level after level."""
    bits = [[0] * width for _ in range(levels)]
    for place, height in heights.items():
        for level in range(height):
            bits[level][alp_hash(place, level, seed, width)] = 1
    return tuple(bit for row in bits for bit in row)


def alp_chances(table, epsilon, alpha, levels, width, seed):
    """The probability of every table of bits: over all roundings, over all flips."""
    q = 1 / (2 + alpha * (math.exp(epsilon) - 1) / epsilon)
    outcomes = list(itertools.product((0, 1), repeat=levels * width))
    chances = dict.fromkeys(outcomes, 0.0)
    cells = list(table)
    scaled = [min(table[cell] * epsilon / alpha, levels) for cell in cells]
    for ups in itertools.product((0, 1), repeat=len(cells)):
        rounding = math.prod((y % 1) if up else 1 - (y % 1) for y, up in zip(scaled, ups, strict=True))
        if rounding == 0:
            continue
        heights = {cell: math.floor(y) + up for cell, y, up in zip(cells, scaled, ups, strict=True)}
        written = alp_table(heights, levels, width, seed)
        for outcome in outcomes:
            flips = sum(a != b for a, b in zip(written, outcome, strict=True))
            chances[outcome] += rounding * q**flips * (1 - q) ** (len(outcome) - flips)
    return chances


def alp_estimate(bits, place, levels, width, seed, unit):
    """The mean of all n for which most bits agree: Σ_{b <= n} (2z - 1) is largest."""
    scores = [0]
    for level in range(levels):
        scores.append(scores[-1] + 2 * int(bits[level * width + alp_hash(place, level, seed, width)]) - 1)
    best = [n for n, score in enumerate(scores) if score == max(scores)]
    return unit * sum(best) / len(best)


# Trees.


def best_shape(n):
    """b and h by trying every b."""
    if n <= 46:
        return n, 1
    found = []
    for b in range(2, n):
        h = 1
        while b**h < n:
            h += 1
        if h >= 2:
            found.append(((b - 1) * h**3 - 2 * (b + 1) * h**2 / 3, b, h))
    return min(found)[1:]


def tree_rows(n, b, h):
    """Which leaves each node covers, level by level, the leaves first: rows of zeros and ones."""
    groups = [[i] for i in range(n)]
    rows = []
    for _ in range(h):
        rows.append([[1.0 if i in group else 0.0 for i in range(n)] for group in groups])
        groups = [[i for group in groups[at : at + b] for i in group] for at in range(0, len(groups), b)]
    return [np.array(level) for level in rows]


def least_squares(levels, variances, b):
    """The leaves that make Σ (y - x)²/v least, by a dense solve."""
    matrix = np.concatenate(tree_rows(levels[0].size, b, len(levels)))
    weight = 1 / np.sqrt(np.concatenate(variances))
    return np.linalg.lstsq(matrix * weight[:, None], np.concatenate(levels) * weight, rcond=None)[0]


# DAWA.


def deviation(values):
    mean = sum(values) / len(values)
    return sum(abs(v - mean) for v in values)


def covers(n):
    """All partitions of range(n) into runs whose lengths are powers of two, as lists of (start, length)."""
    if n == 0:
        return [[]]
    return [[*rest, (n - length, length)] for length in (1, 2, 4, 8, 16) if length <= n for rest in covers(n - length)]


def cheapest_cover(cost, n):
    """The first cells of the cover whose costs, {(start, length): cost}, add up to least."""
    best = min(covers(n), key=lambda cover: sum(cost[bucket] for bucket in cover))
    return [start for start, _ in best]


def cover_chances(values, epsilon_1, price):
    """Of three cells: the probabilities of [0][1][2], [0 1][2] and [0][1 2], by summing over the noise of single cells.

    Given those three, the two pairs decide independently of each other, but for which of them is the cheaper."""
    n, grid = 3, 24
    scale = {length: 2 * (2 - 1 / length - 1 / n) / epsilon_1 for length in (1, 2)}
    u = (np.arange(grid) + 0.5) / grid
    z = np.where(u < 0.5, np.log(2 * u), -np.log(2 * (1 - u))) * scale[1]
    z0, z1, z2 = np.meshgrid(z, z, z, indexing="ij")
    left, right = (deviation(values[i : i + 2]) + price for i in (0, 1))
    # [0 1] is worth it when its noise is below x = price 2 + z0 + z1 - left, [1 2] likewise; both differences shift by z.
    x = 2 * price + z0 + z1 - left
    y = 2 * price + z1 + z2 - right
    b = scale[2]

    def above(t):
        return np.where(t > 0, np.exp(-np.abs(t) / b) / 2, 1 - np.exp(-np.abs(t) / b) / 2)

    alone = above(x) * above(y)
    # [0 1][2] wins when Z01 < x and Z01 - x < Z12 - y: integrate over how far Z01 is below x.
    steps = (np.arange(60) + 0.5) / 60
    first = np.zeros_like(x)
    below = 1 - above(x)
    for s in steps:  # Z01 at quantile s of its law below x
        target = s * below
        z01 = np.where(target < 0.5, np.log(2 * target), -np.log(2 * (1 - target))) * b
        first += above(z01 - x + y) / steps.size
    first *= below
    chances = np.array([alone.mean(), first.mean()])
    return np.append(chances, 1 - chances.sum())


def loss_without_single_noise(n, cell, epsilon_1, price):
    """What the cover into single cells tells of one individual alone in n cells, were there no noise on single cells: it wins
    when no longer bucket's noise is below what the bucket saves, and these are independent."""
    loss, length = 0.0, 2
    while length <= n:
        scale = 2 * (2 - 1 / length - 1 / n) / epsilon_1
        around = min(cell, n - length) - max(0, cell - length + 1) + 1  # buckets of this length that hold the cell
        chances = []
        for deviation_of in (0.0, 2 * (1 - 1 / length)):
            t = (length - 1) * price - deviation_of
            chances.append(math.exp(-t / scale) / 2 if t > 0 else 1 - math.exp(t / scale) / 2)
        loss += around * math.log(chances[1] / chances[0])
        length *= 2
    return loss


# The matrix mechanism.


def workload(n, name):
    """One row per query: all ranges, or all prefixes."""
    starts = range(n) if name == "ranges" else [0]
    return np.array([[lo <= i < hi for i in range(n)] for lo in starts for hi in range(lo + 1, n + 1)], dtype=float)


def strategy_matrix(theta):
    """[I; Θ], each column divided by its sum."""
    stacked = np.vstack([np.eye(theta.shape[1]), theta])
    return stacked / stacked.sum(axis=0)


def strategy_error(theta, queries):
    """The sum of the variances of all queries under noise of variance 1."""
    return float((np.square(queries @ np.linalg.pinv(strategy_matrix(theta)))).sum())


def descend(theta, queries, steps=150):
    """Projected gradient steps on the dense objective, as long as they help."""
    gram = queries.T @ queries

    def error(t):
        inverse = np.linalg.inv(np.eye(t.shape[1]) + t.T @ t)
        s = 1 + t.sum(axis=0)
        scaled = inverse * np.outer(s, s)
        # d tr(S K S V) with K = (I + ΘᵀΘ)⁻¹: through S, and through K
        through_s = 2 * (inverse * gram * s).sum(axis=1)
        through_k = -2 * t @ inverse @ (gram * np.outer(s, s)) @ inverse
        return float((scaled * gram).sum()), through_k + through_s

    now, slope = error(theta)
    step = 1 / np.abs(slope).max()
    for _ in range(steps):
        moved = np.maximum(0, theta - step * slope)
        then, next_slope = error(moved)
        if then < now:
            theta, now, slope, step = moved, then, next_slope, step * 1.5
        else:
            step /= 3
    return now


def toeplitz(column):
    n = len(column)
    return np.array([[column[i - j] if i >= j else 0.0 for j in range(n)] for i in range(n)])


# Privelet.


def privelet(cells, real, noise):
    """The cells that come back after noise on half differences of means, weighted by the number of cells of their range.

    `noise` gives Lap(Δ/ε) in the order of the published coefficients: the lowest level first, the mean of all cells last. Ranges
    beyond the `real` cells hold nothing in any data, and are known to be zero.
    """
    means, differences, width = [float(c) for c in cells], [], 1
    while len(means) > 1:
        width *= 2
        pairs = list(zip(means[::2], means[1::2], strict=True))
        known = [at * width >= real for at in range(len(pairs))]
        drawn = [0.0 if zero else next(noise) / width for zero in known]
        differences.append([(a - b) / 2 + draw for (a, b), draw in zip(pairs, drawn, strict=True)])
        means = [(a + b) / 2 for a, b in pairs]
    means = [means[0] + next(noise) / len(cells)]
    for level in reversed(differences):
        means = [value for mean, c in zip(means, level, strict=True) for value in (mean + c, mean - c)]
    return np.array(means)


# NoiseFirst.


def bucket_means(values, starts):
    return np.concatenate([[part.mean()] * part.size for part in np.split(np.asarray(values, dtype=float), starts[1:])])


def starts_of(weights):
    return [0, *(np.flatnonzero(np.diff(weights)) + 1).tolist()]


def best_buckets(values, price):
    """The first cells of the best of all 2^(n-1) partitions."""
    n = len(values)
    options = [[0, *(i + 1 for i in range(n - 1) if cuts >> i & 1)] for cuts in range(2 ** (n - 1))]
    return min(options, key=lambda s: float(((values - bucket_means(values, s)) ** 2).sum()) + price * len(s))
