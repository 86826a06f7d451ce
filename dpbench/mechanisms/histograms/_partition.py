"""The private partition of dawa: the cost of every bucket of allowed length, and the cheapest cover of the line under noise.

Buckets have lengths 1, 2, 4, ... and start anywhere: n log₂ n of them. Row j of a cost table holds the buckets of 2^j cells,
by their first cell; the cost is infinite if none fits.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpbench.mechanisms.histograms._buckets import bucket_starts
from dpbench.mechanisms.histograms._covers import cover_chances, covers
from dpbench.numerics.compiled import kernel


@kernel()
def deviations(ranks, values, lengths):  # type: ignore[no-untyped-def]
    """Σ|x - mean| of every bucket. `values` are the distinct counts in order, `ranks` the index of each cell's count in them.

    A window of the bucket's length slides along the line, with two Fenwick trees over the values: how many of its cells have
    each value, and their sum. One descent finds those up to the mean, and Σ|x - mean| = 2 Σ_{x <= mean} (mean - x). Integers
    until the last division, so no errors accumulate.
    """
    n, different = ranks.size, values.size
    top = 1
    while 2 * top <= different:
        top *= 2
    table = np.full((lengths.size, n), np.inf)
    for j in range(lengths.size):
        length = lengths[j]
        count = np.zeros(different + 1, dtype=np.int64)
        sums = np.zeros(different + 1, dtype=np.int64)
        total = np.int64(0)
        for end in range(n):
            value = values[ranks[end]]
            total += value
            at = ranks[end] + 1
            while at <= different:
                count[at] += 1
                sums[at] += value
                at += at & -at
            if end >= length:
                value = values[ranks[end - length]]
                total -= value
                at = ranks[end - length] + 1
                while at <= different:
                    count[at] -= 1
                    sums[at] -= value
                    at += at & -at
            if end >= length - 1:
                below, below_sum, at, step = np.int64(0), np.int64(0), 0, top
                while step > 0:
                    if at + step <= different and values[at + step - 1] * length <= total:
                        at += step
                        below += count[at]
                        below_sum += sums[at]
                    step //= 2
                table[j, end - length + 1] = 2.0 * (below * total - length * below_sum) / length
    return table


@kernel()
def cheapest(table, lengths):  # type: ignore[no-untyped-def]
    """The first cells of the buckets that cover the line at least cost, in order."""
    n = table.shape[1]
    best = np.full(n + 1, np.inf)
    last = np.zeros(n + 1, dtype=np.int64)
    best[0] = 0.0
    for end in range(1, n + 1):
        for j in range(lengths.size):
            start = end - lengths[j]
            if start >= 0:
                cost = best[start] + table[j, start]
                if cost < best[end]:
                    best[end], last[end] = cost, start
    return bucket_starts(last)


def lengths_for(n: int) -> NDArray[np.int64]:
    """1, 2, 4, ... up to n."""
    return 2 ** np.arange(n.bit_length(), dtype=np.int64)


def bucket_deviations(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """The table of Σ|x - mean|."""
    values, ranks = np.unique(counts, return_inverse=True)
    return deviations(ranks.astype(np.int64), values.astype(np.int64), lengths_for(counts.size))


def scale_for(length: int, n: int, epsilon: float) -> float:
    """2 (2 - 1/L - 1/n)/ε. One individual moves the cost of a bucket of L cells by at most 2 (1 - 1/L), in either direction.
    The resulting cover has one bucket around that individual, and every other cover has one of at most n cells: noise that
    is lower by both moves on that one bucket compensates for the change."""
    return 2 * (2 - 1 / length - 1 / n) / epsilon


@dataclass(frozen=True, eq=False)
class Partition:
    """The cheapest cover by noisy costs. Only the cover is the outcome: the noisy costs of all buckets would reveal more."""

    deviations: NDArray[np.float64]
    epsilon: float
    """ε₁, the budget of the cover."""
    price: float
    """1/ε₂ per bucket: the noise that its total will get."""

    def draw(self, rng: np.random.Generator) -> NDArray[np.int64]:
        """The first cells of the buckets of the cover."""
        n = self.deviations.shape[1]
        lengths = lengths_for(n)
        noisy = self.deviations + self.price
        for row, length in zip(noisy, lengths.tolist(), strict=True):
            # On every bucket, single cells too: the published implementation omits these, and so reveals too much.
            row[: n - length + 1] += rng.laplace(0.0, scale_for(length, n, self.epsilon), n - length + 1)
        return cheapest(noisy, lengths)

    def log_probability(self, outcome: NDArray[np.int64]) -> float:
        """For up to three cells; beyond that, `bound` limits what a cover reveals."""
        starts = tuple(np.asarray(outcome).tolist())
        chances = cover_chances(self.deviations + self.price, self._scales())
        return math.log(chances[starts]) if chances.get(starts, 0.0) > 0 else -math.inf

    def outcomes(self) -> Iterator[NDArray[np.int64]]:
        """Every cover of up to three cells: for audits."""
        return (np.array(starts, dtype=np.int64) for starts in covers(self.deviations.shape[1]))

    def bound(self, other: Partition) -> float:
        """No cover is more than e^bound times as likely under one of the two distributions as under the other. Infinite if
        nothing is known, because costs differ that are not all around one cell.

        Consider a cover with the bucket B around that cell, whose cost rises by Δ_B, while another cover's rises by at least
        the least Δ: noise on B that is lower by the difference compensates for it.
        """
        if (self.epsilon, self.price) != (
            other.epsilon,
            other.price,
        ) or self.deviations.shape != other.deviations.shape:
            return math.inf
        fits = np.isfinite(self.deviations)
        moved = np.where(fits, other.deviations, 0.0) - np.where(fits, self.deviations, 0.0)
        if not moved.any():
            return 0.0
        n = moved.shape[1]
        lengths, first = lengths_for(n)[:, None], np.arange(n)
        level, start = np.nonzero(moved)
        low, high = int(start.max()), int((start + lengths[level, 0]).min())
        if low >= high:
            return math.inf
        around = fits & (first <= low) & (first + lengths > low)
        shift = np.maximum(moved - moved[around].min(), moved[around].max() - moved)
        return float((shift / self._scales()[:, None])[around].max())

    def _scales(self) -> NDArray[np.float64]:
        """The noise scale of each bucket length."""
        n = self.deviations.shape[1]
        return np.array([scale_for(length, n, self.epsilon) for length in lengths_for(n).tolist()])
