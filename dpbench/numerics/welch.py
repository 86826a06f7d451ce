"""Welch's t test: used by the check of utility numbers and by the leaderboard."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike


def welch(one: ArrayLike, other: ArrayLike) -> float:
    """Two-sided p of Welch's t test. Without any spread in either, the exact permutation test's p instead.

    With a single trial on either side nothing can be told: 1.
    """
    from scipy.special import stdtr

    x, y = np.asarray(one, dtype=np.float64), np.asarray(other, dtype=np.float64)
    if x.size < 2 or y.size < 2:
        return 1.0
    a, b = x.var(ddof=1) / x.size, y.var(ddof=1) / y.size
    if a + b == 0:
        return 1.0 if x[0] == y[0] else 2.0 / math.comb(x.size + y.size, x.size)
    freedom = (a + b) ** 2 / (a**2 / (x.size - 1) + b**2 / (y.size - 1))
    return float(2 * stdtr(freedom, -abs(x.mean() - y.mean()) / math.sqrt(a + b)))
