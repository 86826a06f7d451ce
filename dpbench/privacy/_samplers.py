"""The samplers behind `Noise`, in floating point. Used by noise.py only, which owns the generators."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

BLOCK = 1 << 18
"""Numbers processed at a time, so that the noise of a large table stays in the processor's cache."""


def add_geometric(values: NDArray[Any], alpha: float, rng: np.random.Generator) -> NDArray[Any]:
    """`values` plus two-sided geometric noise: the difference of two one-sided draws. The type of the values is kept."""
    noisy = np.empty(values.shape, values.dtype)
    flat, out = values.reshape(-1), noisy.reshape(-1)
    for start in range(0, flat.size, BLOCK):
        part = flat[start : start + BLOCK]
        drawn = rng.geometric(1 - alpha, part.size)
        drawn -= rng.geometric(1 - alpha, part.size)
        np.add(part, drawn, out=out[start : start + BLOCK])
    return noisy


def cube(d: int, epsilon: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """Density ∝ exp(-ε |x|_∞): a radius Gamma(d+1)/ε times a point of the cube [-1, 1]^d."""
    radius = rng.gamma(d + 1, 1 / epsilon)
    return rng.uniform(-radius, radius, d)


def counts_ball(d: int, epsilon: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """Density ∝ exp(-ε (max x⁺ + max x⁻)), the norm whose unit ball is the smallest that contains x and -x for all x in {0, 1}^d.

    The number of positive entries is uniform on 0 to d; given that number, both sides are independent
    (Joseph and Yu, 2023).
    """
    positive = int(rng.integers(0, d, endpoint=True))
    up, down = rng.gamma(positive + 1) / epsilon, rng.gamma(d - positive + 1) / epsilon
    reach = np.full(d, -down)
    reach[rng.permutation(d)[:positive]] = up
    return reach * rng.random(d)


def poisson_rows(n: int, rate: float, rng: np.random.Generator) -> NDArray[np.int64]:
    """A sample of range(n) that contains each row independently with probability `rate`, ascending.

    The gaps between rows are geometric and drawn in order, so a larger n changes none of the earlier rows.
    """
    if rate <= 0 or n == 0:
        return np.empty(0, dtype=np.int64)
    if rate >= 1:
        return np.arange(n, dtype=np.int64)
    decay = -math.log1p(-rate)
    parts: list[NDArray[np.float64]] = []
    last = -1.0
    while last < n:
        expected = (n - last) * rate
        size = int(expected + 4 * math.sqrt(expected)) + 16
        # A gap beyond the end is limited to n + 1, so that the sums stay finite integers.
        with np.errstate(over="ignore"):
            gaps = np.floor(np.minimum(rng.standard_exponential(size) / decay, n)) + 1
        parts.append(last + np.cumsum(gaps))
        last = float(parts[-1][-1])
    rows = np.concatenate(parts)
    return rows[rows < n].astype(np.int64)
