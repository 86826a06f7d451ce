"""The odds of each one of a random binary matrix, fitted so that its expected row and column sums are the required ones.

Used by _margins.py.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dpbench.numerics.compiled import kernel
from dpbench.sources.generators._taste import LEVELS, Taste


class Odds(NamedTuple):
    """The fitted odds of a one: x of its row's size times y of its column's class times their factor."""

    sizes: np.ndarray
    """Distinct row sums, ascending."""
    x: np.ndarray
    bands: np.ndarray
    """The row of `factors` for each row sum."""
    classes: np.ndarray
    """Distinct classes of columns, ascending: equal sums and, with a taste, equal levels."""
    y: np.ndarray
    factors: np.ndarray


def classes_of(column_sums: np.ndarray, taste: Taste | None) -> np.ndarray:
    """The class of each column that is not empty: its sum and, with a taste, its level."""
    filled = np.flatnonzero(column_sums)
    return column_sums[filled] if taste is None else column_sums[filled] * LEVELS + taste.levels[filled]


def fit(
    row_sums: np.ndarray,
    column_sums: np.ndarray,
    taste: Taste | None = None,
    *,
    sweeps: int = 60,
    tolerance: float = 0.05,
) -> Odds:
    """x by distinct row sum and y by class of columns, so that the expected sums equal the required ones.

    Good enough when each expected column sum is off by less than `tolerance` of its standard deviation, about √c:
    `_settle` has to correct random deviations anyway.
    """
    r, rows = np.unique(row_sums[row_sums > 0], return_counts=True)
    classes, columns = np.unique(classes_of(column_sums, taste), return_counts=True)
    c, bands, factors = classes, np.zeros(r.size, dtype=np.int64), np.ones((1, classes.size))
    if taste is not None:
        c = classes // LEVELS
        bands, factors = taste.factors(r, c, classes % LEVELS, int(rows.sum()))
    root = np.sqrt(float((r * rows).sum()))
    x, y = r / root, c / root
    row_targets, column_targets = r.astype(np.float64), c.astype(np.float64)
    for _ in range(sweeps):
        _balance_rows(x, row_targets, y, columns.astype(np.float64), bands, factors)
        old = y.copy()
        _balance_columns(y, column_targets, x, rows.astype(np.float64), bands, factors)
        if np.all(np.abs(y / old - 1) * np.sqrt(c) < tolerance):
            break
    return Odds(r, x, bands, classes, y, factors)


@kernel()
def _balance_rows(
    x: np.ndarray, target: np.ndarray, y: np.ndarray, weight: np.ndarray, bands: np.ndarray, factors: np.ndarray
) -> None:
    """One sweep of x_i <- target_i / Σ_j weight_j f_ij y_j / (1 + x_i f_ij y_j)."""
    for i in range(x.size):
        factor = factors[bands[i]]
        total = 0.0
        for j in range(y.size):
            odds = factor[j] * y[j]
            total += weight[j] * odds / (1.0 + x[i] * odds)
        x[i] = target[i] / total


@kernel()
def _balance_columns(
    y: np.ndarray, target: np.ndarray, x: np.ndarray, weight: np.ndarray, bands: np.ndarray, factors: np.ndarray
) -> None:
    """The same for the columns, row by row, because `factors` is stored by rows."""
    total = np.zeros(y.size)
    for i in range(x.size):
        factor = factors[bands[i]]
        for j in range(y.size):
            odds = factor[j] * x[i]
            total[j] += weight[i] * odds / (1.0 + y[j] * odds)
    y[:] = target / total
