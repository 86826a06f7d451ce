"""Kernels over the rows of a CSR matrix shared by several families of mechanisms: column counts of weighted rows."""

from __future__ import annotations

import numpy as np

from dpbench.numerics.compiled import kernel


@kernel()
def weighed_counts(indptr, indices, counts, weights):  # type: ignore[no-untyped-def]
    """Column counts when row i counts `weights[i]` instead of 1. Only rows with a weight other than 1 are visited."""
    out = counts.astype(np.float64)
    for row in range(indptr.size - 1):
        loss = 1.0 - weights[row]
        if loss != 0.0:
            for at in range(indptr[row], indptr[row + 1]):
                out[indices[at]] -= loss
    return out


@kernel()
def square_norms(indptr, indices):  # type: ignore[no-untyped-def]
    """‖x‖₂² of every row: the sum over its columns of the squared number of times it holds them."""
    out = np.zeros(indptr.size - 1, np.int64)
    for row in range(indptr.size - 1):
        inside = np.sort(indices[indptr[row] : indptr[row + 1]])
        start = 0
        for at in range(1, inside.size + 1):
            if at == inside.size or inside[at] != inside[start]:
                out[row] += (at - start) ** 2
                start = at
    return out
