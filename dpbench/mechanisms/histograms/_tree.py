"""Trees of noisy sums over a line, and the least-squares estimate of their leaves. Used by hb and dawa.

Level 0 are the values; each node of the next level is the sum of b neighbours (the last one of the remaining ones). A tree
has no root: its sum adds nothing to the level below.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbench.privacy import Noise

FLAT = 46
"""Up to this many values a tree does not help, even for all ranges (Qardaji et al. 2013)."""

Level = NDArray[np.float64]


def shape_for(n: int) -> tuple[int, int]:
    """b and h, the branching and the number of levels that minimise the mean squared error of a random range.

    It is proportional to (b-1) h³ - 2 (b+1) h²/3 with h = ⌈log_b n⌉, which grows with b for a fixed h: for each h only the
    smallest b matters. (n, 1), i.e. no tree, if there are few values.
    """
    if n <= FLAT:
        return n, 1
    tallest = (n - 1).bit_length()
    shapes = [(_least_branching(n, h), h) for h in range(2, tallest + 1)]
    return min(shapes, key=lambda s: (s[0] - 1) * s[1] ** 3 - 2 * (s[0] + 1) * s[1] ** 2 / 3)


def _least_branching(n: int, h: int) -> int:
    """The least b with b^h >= n; at least 2."""
    b = max(2, round(n ** (1 / h)))
    while b > 2 and (b - 1) ** h >= n:
        b -= 1
    while b**h < n:
        b += 1
    return b


def sums(values: NDArray[Any], b: int, h: int) -> list[NDArray[Any]]:
    """The h levels of sums, the values first."""
    levels = [values]
    for _ in range(h - 1):
        levels.append(np.add.reduceat(levels[-1], np.arange(0, levels[-1].size, b)))
    return levels


def consistent(levels: list[Level], variances: list[Level], b: int) -> Level:
    """The leaves of least squares, Σ (y - x)²/v over all nodes, where each node is the sum of its children.

    `variances`: v of every node, one array per level. Upwards, each node is averaged with the sum of its children, weighted
    by their variances; downwards, the difference is shared among the children in proportion to their variances.
    """
    z, w = [levels[0]], [variances[0]]
    below: list[tuple[Level, Level]] = []  # Σ z_c and Σ w_c of the children of each node
    for y, v in zip(levels[1:], variances[1:], strict=True):
        first = np.arange(0, z[-1].size, b)
        sum_z, sum_w = np.add.reduceat(z[-1], first), np.add.reduceat(w[-1], first)
        below.append((sum_z, sum_w))
        w.append(1 / (1 / v + 1 / sum_w))
        z.append(w[-1] * (y / v + sum_z / sum_w))
    x = z[-1]
    for level in range(len(levels) - 2, -1, -1):
        sum_z, sum_w = below[level]
        share = (x - sum_z) / sum_w
        x = z[level] + np.repeat(share, b)[: z[level].size] * w[level]
    return x


def noisy_leaves(values: NDArray[Any], epsilon: float, noise: Noise) -> tuple[Level, int, int]:
    """`values` from a tree of noisy sums, and its b and h. One individual is in one node of each level: Lap(h/ε)."""
    b, h = shape_for(values.size)
    levels = sums(values, b, h)
    noisy = [noise.laplace(level, scale=h / epsilon, step=f"level {number}") for number, level in enumerate(levels)]
    return consistent(noisy, [np.ones(level.size) for level in levels], b), b, h
