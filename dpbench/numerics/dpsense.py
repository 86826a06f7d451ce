"""Kernels of sensitivity control: what limiting every row to θ does to the column counts.

All of them touch only the rows larger than θ: the others stay as they are.
"""

from __future__ import annotations

import numpy as np

from dpbench.numerics.compiled import kernel


def capped_total(row_sizes: np.ndarray, largest: int) -> np.ndarray:
    """Σ_i min(RC_i, θ) for θ = 1..largest, from one histogram of row sizes: O(n + largest).

    Going from θ-1 to θ adds one for every row of at least θ ones.
    """
    histogram = np.bincount(np.minimum(row_sizes, largest), minlength=largest + 1)
    at_least = np.cumsum(histogram[::-1])[::-1]
    return np.cumsum(at_least[1:])


def theta_grid(largest: int, most: int | None) -> np.ndarray:
    """1..largest, or when these are more than `most`, about that many in geometric steps with both ends in."""
    if most is None or largest <= most:
        return np.arange(1, largest + 1)
    return np.unique(np.rint(np.geomspace(1, largest, most)).astype(np.int64))


@kernel()
def normalised_counts(indptr, indices, counts, theta):
    """Column counts of D|θ when rows are scaled by min(1, θ/RC)."""
    out = counts.astype(np.float64)
    for row in range(indptr.size - 1):
        size = indptr[row + 1] - indptr[row]
        if size > theta:
            loss = 1.0 - theta / size
            for at in range(indptr[row], indptr[row + 1]):
                out[indices[at]] -= loss
    return out


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
def scaled_truncation(indptr, indices, counts, by_size, thetas, alphas):
    """mean_j |c_j - α c_j^θ| for all pairs of ascending `thetas` and ascending `alphas` (from 1), exactly.

    θ falls from the largest: rows enter as they outgrow it (`by_size`: rows, largest first), and only the columns they
    touch are looked at again. For one θ the sum is piecewise linear in α with a corner at c_j/c_j^θ for each column, so
    two sums a gap between α values give it for every α: O(touched + alphas) instead of their product.
    """
    d = counts.size
    above = np.zeros(d, np.int32)  # rows larger than θ that hold the column
    inverse = np.zeros(d, np.float64)  # sum of 1/RC over them
    touched = np.empty(d, np.int32)
    n_touched = 0
    rest = 0.0  # total count of the columns not touched
    for j in range(d):
        rest += counts[j]
    out = np.empty((thetas.size, alphas.size))
    true_sum = np.empty(alphas.size + 1)
    limited_sum = np.empty(alphas.size + 1)
    entered = 0
    for t in range(thetas.size - 1, -1, -1):
        theta = thetas[t]
        while entered < by_size.size:
            row = by_size[entered]
            size = indptr[row + 1] - indptr[row]
            if size <= theta:
                break
            for at in range(indptr[row], indptr[row + 1]):
                j = indices[at]
                if above[j] == 0:
                    touched[n_touched] = j
                    n_touched += 1
                    rest -= counts[j]
                above[j] += 1
                inverse[j] += 1.0 / size
            entered += 1
        true_sum[:] = 0.0
        limited_sum[:] = 0.0
        true_sum[0] = rest
        limited_sum[0] = rest
        for k in range(n_touched):
            j = touched[k]
            limited = counts[j] - above[j] + theta * inverse[j]
            gap = np.searchsorted(alphas, counts[j] / limited)
            true_sum[gap] += counts[j]
            limited_sum[gap] += limited
        true_above = true_sum.sum()
        limited_above = limited_sum.sum()
        true_below = 0.0
        limited_below = 0.0
        for a in range(alphas.size):
            true_below += true_sum[a]
            limited_below += limited_sum[a]
            true_above -= true_sum[a]
            limited_above -= limited_sum[a]
            over = alphas[a] * limited_below - true_below
            under = true_above - alphas[a] * limited_above
            out[t, a] = (over + under) / d
    return out
