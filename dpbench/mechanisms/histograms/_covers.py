"""The probability of every cover of two or three cells being the cheapest under Laplace noise. Used by _partition.py in audits.

After subtracting what all covers of three cells would pay for the outer single cells, {1}{2}{3} costs c₂, {12}{3} costs
c₁₂ - c₁, and {1}{23} costs c₂₃ - c₃. These are independent; the smallest wins.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FAR = 45.0
"""Probabilities beyond this many noise scales, e^-45, are neglected."""

NODES = 24
"""Gauss-Legendre nodes per interval of one scale."""

COVERS: dict[int, list[tuple[int, ...]]] = {1: [(0,)], 2: [(0, 1), (0,)], 3: [(0, 1, 2), (0, 2), (0, 1)]}
"""The covers, as the first cells of their buckets, by the number of cells."""


def covers(n: int) -> list[tuple[int, ...]]:
    """The first cells of the buckets of every cover."""
    if n not in COVERS:
        raise NotImplementedError(f"the chances of covers are known for up to {max(COVERS)} cells, not {n}")
    return list(COVERS[n])


@dataclass(frozen=True)
class _Sum:
    """at + Lap(a), or at + Lap(a) + Lap(b) with a != b."""

    at: float
    a: float
    b: float = 0.0

    def density(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        away = np.abs(x - self.at)
        if not self.b:
            return np.exp(-away / self.a) / (2 * self.a)
        return (self.a * np.exp(-away / self.a) - self.b * np.exp(-away / self.b)) / (2 * (self.a**2 - self.b**2))

    def above(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """The probability of being above x."""
        away = np.abs(x - self.at)
        tail = np.exp(-away / self.a) / 2
        if self.b:
            ends = self.a**2 * np.exp(-away / self.a) - self.b**2 * np.exp(-away / self.b)
            tail = ends / (2 * (self.a**2 - self.b**2))
        return np.where(x >= self.at, tail, 1 - tail)


def cover_chances(costs: NDArray[np.float64], scales: NDArray[np.float64]) -> dict[tuple[int, ...], float]:
    """By first cells. `costs` and `scales`: one row, and one noise scale, per bucket length (1, 2)."""
    n = costs.shape[1]
    known = covers(n)
    if n == 1:
        return {known[0]: 1.0}
    one, two = float(scales[0]), float(scales[1])
    rivals = [_Sum(costs[0, 1], one), _Sum(costs[1, 0] - costs[0, 0], two, one)]
    if n == 3:
        rivals.append(_Sum(costs[1, 1] - costs[0, 2], two, one))
    kinks = sorted({rival.at for rival in rivals})
    edges = [np.array([kinks[0] - FAR * two, kinks[-1] + FAR * two])]
    for low, high in zip([edges[0][0], *kinks], [*kinks, edges[0][1]], strict=True):
        edges.append(np.linspace(low, high, int(np.ceil((high - low) / one)) + 1))
    points = np.unique(np.concatenate(edges))
    at, weights = np.polynomial.legendre.leggauss(NODES)
    half = np.diff(points)[:, None] / 2
    x = points[:-1, None] + half * (1 + at)
    probability = {}
    for starts, rival in zip(known, rivals, strict=True):
        others = np.prod([other.above(x) for other in rivals if other is not rival], axis=0)
        probability[starts] = float((half * weights * rival.density(x) * others).sum())
    return probability
