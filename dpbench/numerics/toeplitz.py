"""Lower-triangular Toeplitz matrices by their first column: the square root of all prefix sums, its inverse, products.

The column of a product is the convolution of the columns, as with power series: prefix sums are 1/(1-z), their square root is
(1-z)^(-1/2), the inverse of that (1-z)^(1/2). Used by the matrix mechanism.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbench.numerics.arrays import Floats

DIRECT = 512
"""Up to this many cells, products are sums without a Fourier transform."""


@functools.lru_cache(maxsize=4)
def root(n: int) -> Floats:
    """binom(2k, k)/4^k for k < n: 1, 1/2, 3/8, ..."""
    return _power(n, -0.5)


@functools.lru_cache(maxsize=4)
def inverse_root(n: int) -> Floats:
    """The coefficients of (1-z)^(1/2): 1, -1/2, -1/8, ..."""
    return _power(n, 0.5)


def _power(n: int, exponent: float) -> Floats:
    """The coefficients of (1-z)^exponent."""
    k = np.arange(1.0, n)
    column = np.cumprod(np.concatenate([[1.0], 1 - (1 + exponent) / k]))
    column.setflags(write=False)
    return column


def column_norm(column: Floats) -> float:
    """The L2 norm of the first column, which is the longest one."""
    return float(np.sqrt(column @ column))


def times(column: Floats, vector: NDArray[Any]) -> Floats:
    """The matrix times a vector of the same length."""
    n = column.size
    if n <= DIRECT:
        return np.asarray(np.convolve(column, vector)[:n], dtype=np.float64)
    padded = 1 << (2 * n - 1).bit_length()
    return np.asarray(np.fft.irfft(np.fft.rfft(column, padded) * np.fft.rfft(vector, padded), padded)[:n])
