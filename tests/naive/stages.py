"""What a release would be without noise after each of its steps, one row and one number at a time: for tiny data only."""

from __future__ import annotations

import itertools
import math

import numpy as np


def rows_of(columns):
    return [columns.indices[a:b].tolist() for a, b in itertools.pairwise(columns.indptr.tolist())]


def scaled_rows(columns, most, power=1):
    """Column counts when a row with more than `most` entries (power 2: of a larger square norm) is scaled down to it."""
    total = [0.0] * columns.columns
    for row in rows_of(columns):
        norm = sum(row.count(column) ** power for column in set(row))
        for column in row:
            total[column] += min(1.0, (most / norm) ** (1 / power))
    return total


def first_coefficients(counts, rho):
    """The counts that the first rho Fourier coefficients and their mirror images make, by the sums of the definition."""
    d = len(counts)
    kept = set(range(rho)) | {(-f) % d for f in range(rho)}
    spectrum = {f: sum(c * np.exp(-2j * math.pi * f * i / d) for i, c in enumerate(counts)) for f in kept}
    return [sum(s * np.exp(2j * math.pi * f * i / d) for f, s in spectrum.items()).real / d for i in range(d)]


def group_averages(counts, published):
    """Each count replaced by the mean of those that were published with the same number."""
    averages = []
    for mine in published:
        group = [count for count, other in zip(counts, published, strict=True) if other == mine]
        averages.append(sum(group) / len(group))
    return averages


def shares(truth, published, stages):
    """By definition: the mean over the answers of (part of the stage) x (whole error), the noise last."""
    found, before = [], truth
    for after in [*stages, published]:
        products = [(a - b) * (p - t) for a, b, p, t in zip(after, before, published, truth, strict=True)]
        found.append(math.fsum(products) / len(products))
        before = after
    return found


def listed_truth(counts, cells, weights, values):
    """The published cells with their true counts, each weighed as its noisy value is; {cell: count} of all non-zero cells."""
    kept = {}
    for at, cell in enumerate(cells):
        factor = 1.0 if values is None or values[at] == 0 else weights[at] / values[at]
        kept[cell] = counts.get(cell, 0) * factor
    return kept


def node_sums(counts, size):
    """The true count of every dyadic range, in the order of the tree: all cells, then pairs, then fours, up to the whole."""
    level, width, found = list(range(size)), 1, []
    while True:
        found += [sum(c for cell, c in counts.items() if cell // width == node) for node in level]
        if len(level) == 1:
            return found
        width *= 2
        level = list(range((len(level) + 1) // 2))


def shared_buckets(counts, hashes, width, cell):
    """By row, the true sum of the bucket that a cell is in, with its sign; `hashes` give bucket and sign of any cell."""
    found = []
    for hashed in hashes:
        bucket, sign = hashed(cell)
        found.append(sign * sum(hashed(other)[1] * c for other, c in counts.items() if hashed(other)[0] == bucket))
    return found


def run_means(line, published):
    """Each number of a line replaced by the mean over the neighbours that were published with the same number."""
    means, begin = [], 0
    for end in range(1, len(line) + 1):
        if end == len(line) or published[end] != published[begin]:
            means += [sum(line[begin:end]) / (end - begin)] * (end - begin)
            begin = end
    return means
