"""Samples of a binary matrix, by rows and by columns (gs, Section 3.2). Used by the grouping mechanisms."""

from __future__ import annotations

import math

import numpy as np

from dpbench.numerics.compiled import kernel

BATCH = 256
"""Rows whose positions are drawn before any is read, so that the scattered memory reads overlap."""


def row_rate(epsilon: float, delta: float) -> float:
    """β = (e^(ε/2) - 1) / (e^(εΔ/2) - 1), the rate of row sampling; never above 1/Δ.

    Computed with logarithms: e^(εΔ/2) overflows at Δ = 17000, while β itself is only very small.
    """
    return math.exp(_log_expm1(epsilon / 2) - _log_expm1(epsilon * delta / 2))


def _log_expm1(x: float) -> float:
    """ln(e^x - 1) for x > 0, accurate where x is tiny and finite where e^x is not."""
    return x + math.log(-math.expm1(-x))


def ones_of(indptr: np.ndarray, indices: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The columns of all ones in the chosen rows of a CSR matrix, row by row, at a cost proportional to the sample."""
    begins = indptr[rows]
    sizes = indptr[rows + 1] - begins
    shift = np.repeat(begins - (np.cumsum(sizes) - sizes), sizes)
    return indices[np.arange(shift.size) + shift]


@kernel()
def sample_columns(indptr, indices, rng):  # type: ignore[no-untyped-def]
    """One column of every non-empty row of a CSR matrix, uniform among the row's ones."""
    rows = indptr.size - 1
    chosen = np.empty(rows, indices.dtype)
    places = np.empty(BATCH, np.int64)
    size, end = 0, indptr[0]
    for first in range(0, rows, BATCH):
        filled = 0
        for row in range(first, min(first + BATCH, rows)):
            begin, end = end, indptr[row + 1]
            if end > begin:
                places[filled] = begin + int(rng.random() * (end - begin))
                filled += 1
        for k in range(filled):
            chosen[size + k] = indices[places[k]]
        size += filled
    return chosen[:size]
