"""Welch's t test: used by the check of utility numbers and by the leaderboard."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import ArrayLike

ROUNDING = 1e-9
"""Relative spread below which numbers count as equal up to rounding."""


def welch(one: ArrayLike, other: ArrayLike) -> float:
    """Two-sided p-value of Welch's t test. If neither side has any spread, the p-value of the exact permutation test: a
    metric with few values, such as a precision, is often constant over a few trials, and the t test would take that for
    certainty.

    With a single trial on either side nothing can be concluded: 1.
    """
    from scipy.stats import ttest_ind

    x, y = np.asarray(one, dtype=np.float64), np.asarray(other, dtype=np.float64)
    if x.size < 2 or y.size < 2:
        return 1.0
    a, b = x.var(ddof=1) / x.size, y.var(ddof=1) / y.size
    digits = ROUNDING * max(np.abs(x).max(), np.abs(y).max())
    if math.sqrt(a + b) <= digits:
        return 2.0 / math.comb(x.size + y.size, x.size) if abs(x.mean() - y.mean()) > digits else 1.0
    with nearly_equal():
        return float(ttest_ind(x, y, equal_var=False).pvalue)


@contextmanager
def nearly_equal() -> Iterator[None]:
    """Silence scipy's warning about nearly equal numbers: the remaining precision is enough for a decision."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Precision loss", category=RuntimeWarning)
        yield
