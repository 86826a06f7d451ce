"""Kernels of sensitivity control: the effect of limiting every row to θ on the column counts.

All of them visit only the rows larger than θ: the others stay as they are.
"""

from __future__ import annotations

import numpy as np

from dpbench.numerics.compiled import kernel
from dpbench.numerics.rows import weighed_counts


def capped_total(row_sizes: np.ndarray, largest: int) -> np.ndarray:
    """Σ_i min(RC_i, θ) for θ = 1..largest, from one histogram of row sizes: O(n + largest).

    Going from θ-1 to θ adds one for every row of at least θ ones.
    """
    histogram = np.bincount(np.minimum(row_sizes, largest), minlength=largest + 1)
    at_least = np.cumsum(histogram[::-1])[::-1]
    return np.cumsum(at_least[1:])


def capped_totals(row_sizes: np.ndarray, thetas: np.ndarray) -> np.ndarray:
    """Σ_i min(RC_i, θ) for any θ, whole or not: rows of at most ⌊θ⌋ ones count fully, the others as θ."""
    histogram = np.bincount(row_sizes, minlength=1)
    rows, ones = np.cumsum(histogram), np.cumsum(histogram * np.arange(histogram.size))
    whole = np.minimum(np.floor(thetas).astype(np.int64), histogram.size - 1)
    return ones[whole] + thetas * (rows[-1] - rows[whole])


def normalised_counts(indptr: np.ndarray, indices: np.ndarray, counts: np.ndarray, theta: float) -> np.ndarray:
    """Column counts of D|θ when rows are scaled by min(1, θ/RC)."""
    weights = np.minimum(1.0, theta / np.maximum(np.diff(indptr), 1))
    return weighed_counts(indptr, indices, counts, weights)


PARTS = 1 << 24
"""For exact noise, a row's weight θ/RC is rounded down to a multiple of 1/PARTS, so that a row still moves the counts by at
most θ. Doubles represent such counts exactly up to 5 * 10^8."""


@kernel()
def normalised_parts(indptr, indices, counts, theta):
    """As `normalised_counts`, exactly, with θ/RC rounded down to a multiple of 1/PARTS."""
    out = counts.astype(np.int64) * PARTS
    for row in range(indptr.size - 1):
        size = np.int64(indptr[row + 1] - indptr[row])
        if size > theta:
            loss = PARTS - np.int64(theta * PARTS) // size
            for at in range(indptr[row], indptr[row + 1]):
                out[indices[at]] -= loss
    return out / PARTS


@kernel()
def sampled_counts(indptr, indices, counts, theta, rng):
    """Column counts of D|θ when larger rows keep θ of their ones, drawn without replacement (selection sampling)."""
    out = counts.astype(np.float64)
    for row in range(indptr.size - 1):
        left = indptr[row + 1] - indptr[row]
        drop = left - theta
        if drop > 0:
            for at in range(indptr[row], indptr[row + 1]):
                if rng.random() * left < drop:
                    out[indices[at]] -= 1.0
                    drop -= 1
                    if drop == 0:
                        break
                left -= 1
    return out


@kernel()
def _add_stretch(sums, thetas, alphas, low, high, count, base, slope):
    """Add a column with true count `count` and limited count base + slope θ to the candidates thetas[low:high].

    The ratio of the two decreases as θ grows, so it crosses the gaps between α values in order: one entry per gap, written as
    differences along θ at its two ends.
    """
    if high <= low:
        return
    gap = np.searchsorted(alphas, count / (base + slope * thetas[high - 1]))
    while high > low:
        start = low
        if gap < alphas.size:
            first = (count / alphas[gap] - base) / slope
            start = low + np.searchsorted(thetas[low:high], first)
        if start < high:
            for place, sign in ((start, 1.0), (high, -1.0)):
                sums[place, gap, 0] += sign * count
                sums[place, gap, 1] += sign * base
                sums[place, gap, 2] += sign * slope
            high = start
        gap += 1


@kernel()
def scaled_truncation(indptr, indices, counts, by_size, thetas, alphas):
    """mean_j |c_j - α c_j^θ| for all pairs of ascending `thetas` and ascending `alphas` (from 1), exactly.

    Rows are taken largest first (`by_size`). Between the sizes of two rows that hold it, a column's limited count is
    linear in θ: it is added once for the whole interval, so the work is a few steps per one in the data, however
    many candidates there are.
    """
    d = counts.size
    above = np.zeros(d, np.int32)  # rows already taken that hold the column
    inverse = np.zeros(d, np.float64)  # sum of 1/RC over them
    until = np.zeros(d, np.int32)  # candidates from here on are done
    sums = np.zeros((thetas.size + 1, alphas.size + 1, 3))
    for j in range(d):
        sums[0, 0, 0] += counts[j]
        sums[0, 0, 1] += counts[j]
    high = thetas.size
    for row in by_size:
        size = indptr[row + 1] - indptr[row]
        while high > 0 and thetas[high - 1] >= size:
            high -= 1
        if high == 0:
            break
        for at in range(indptr[row], indptr[row + 1]):
            j = indices[at]
            if above[j] == 0:  # unchanged so far: c^θ = c; from here on it is counted separately
                sums[0, 0, 0] -= counts[j]
                sums[0, 0, 1] -= counts[j]
                sums[high, 0, 0] += counts[j]
                sums[high, 0, 1] += counts[j]
            elif until[j] > high:
                _add_stretch(sums, thetas, alphas, high, until[j], counts[j], counts[j] - above[j], inverse[j])
            until[j] = high
            above[j] += 1
            inverse[j] += 1.0 / size
    for j in range(d):
        if above[j] > 0:
            _add_stretch(sums, thetas, alphas, 0, until[j], counts[j], counts[j] - above[j], inverse[j])
    out = np.empty((thetas.size, alphas.size))
    now = np.zeros((alphas.size + 1, 3))
    for t in range(thetas.size):
        now += sums[t]
        true_above = 0.0
        limited_above = 0.0
        for gap in range(alphas.size + 1):
            true_above += now[gap, 0]
            limited_above += now[gap, 1] + now[gap, 2] * thetas[t]
        true_below = 0.0
        limited_below = 0.0
        for a in range(alphas.size):
            limited = now[a, 1] + now[a, 2] * thetas[t]
            true_below += now[a, 0]
            limited_below += limited
            true_above -= now[a, 0]
            limited_above -= limited
            out[t, a] = (alphas[a] * limited_below - true_below + true_above - alphas[a] * limited_above) / d
    return out
