"""Closed forms for the error of counts from l random records per user (analytics, Theorem 2 and Appendix A)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike


def optimal_l(users: int, popularity: ArrayLike, average: float, epsilon: float) -> float:
    """Equation 22: the l that minimises Equation 21 with noise Lap(l/ε1), for one item or averaged over several.

    At the minimum over several items, each p_i and p_i² of the equation is replaced by its mean, because the sum of the
    items' derivatives vanishes. `average` is the number of records of a user, the same for all in the model (M of the
    appendix; for real users, their mean). The result is below it. `epsilon` is ε1.
    """
    p = np.asarray(popularity, dtype=np.float64)
    first, second = users * float(p.mean()), users * float(np.mean(p**2))
    return (2 * users * second * average - first) / (4 / epsilon**2 - 2 * second / average + 2 * users * second)


def sample_mse(data: Any, most: int, scale: float) -> float:
    """Expected squared error, averaged over the columns, of counts from `most` random records per row, plus Lap(scale).

    Exact: a row with a of its n records in a column keeps a hypergeometric number of them. Rows may hold repeats, so they
    are first converted to (row, column, a).
    """
    row = np.repeat(np.arange(data.rows, dtype=np.int64), data.row_sizes)
    pairs, times = np.unique(row * data.columns + data.indices, return_counts=True)
    column, n = pairs % data.columns, data.row_sizes[pairs // data.columns]
    kept = np.minimum(most, n)
    lost = times * (1 - kept / n)
    variance = times * (kept / n) * (1 - times / n) * (n - kept) / np.maximum(n - 1, 1)
    bias = np.bincount(column, weights=lost, minlength=data.columns)
    spread = np.bincount(column, weights=variance, minlength=data.columns)
    return float(np.mean(bias**2) + np.mean(spread) + 2 * scale**2)
