"""The wealth of a gambler who bets that a mechanism is less private than it states. Valid whenever one looks or stops.

Under (ε, δ)-privacy E f(X) ≤ e^ε E f(X') + δ for every score f in [0, 1], so a bet on f(X) - e^ε f(X') - δ cannot win on
average, and wealth that starts at 1 reaches 1/α with probability at most α (Ville). Parallel wealth at a grid of ε, from the
same draws, gives a lower bound of the loss.
Imported by the sequential test.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

STAKES = (0.015, 0.04, 0.09, 0.18, 0.35, 0.65, 0.98)
"""λ as shares of the largest stake 1/(e^ε + δ), at which wealth could reach 0. The gambler splits the wealth among all."""
NEAR = (0.1, 0.25, 0.5, 0.7, 0.85, 0.95, 1, 1.05, 1.1, 1.2, 1.35, 1.5, 1.75, 2, 2.5, 3)
"""The losses that are tested, as multiples of the stated one."""
STATED = NEAR.index(1)
CHUNK = 512
"""Draws processed at once."""


def grid(epsilon: float) -> NDArray[np.float64]:
    """The losses that are tested, ascending, including the stated one."""
    near = epsilon * np.array(NEAR)
    far = np.array([0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5, 5.5, 6, 6.5, 7, 7.5, 8, 9, 10])
    return np.concatenate([near, far[far > near[-1] * 1.1]])


def smallest_factor(epsilon: float, delta: float, draws: int, alpha: float, ways: int) -> float:
    """The smallest factor by which Laplace noise could be too small and still be expected to be found in so many draws of a
    pair on which one number moves by the sensitivity. Infinite if no factor below a hundred would be."""
    from scipy.optimize import brentq

    shares = np.array([(a, b) for a in (0, 1) for b in (0, 1)])
    stakes = np.array(STAKES) / (math.exp(epsilon) + delta)
    needed = -math.log(alpha) + math.log(ways * len(STAKES))

    def lacking(factor: float) -> float:
        # The best event of a direction, and how likely it is without and with the row.
        chances = np.array([0.5, 0.5 * math.exp(-factor * epsilon)])
        weight = np.prod(np.where(shares == 1, chances, 1 - chances), axis=1)
        one = (shares[:, 0] - math.exp(epsilon) * shares[:, 1] - delta) / 2
        both = one[:, None] + one[None, :]
        growth = np.log1p(np.maximum(stakes[:, None, None] * both, -1 + 1e-12)) * (weight[:, None] * weight)[None]
        return needed - draws * float(growth.sum(axis=(1, 2)).max())

    if lacking(100.0) > 0:
        return math.inf
    return float(brentq(lacking, 1.0, 100.0, xtol=1e-4)) if lacking(1.0) > 0 else 1.0


class Wealth:
    """One wealth per ε of the grid: the mean over scoring methods and stakes."""

    def __init__(self, levels: NDArray[np.float64], delta: float, ways: int) -> None:
        self.levels, self.delta = levels, delta
        self.logs = np.zeros((levels.size, ways, len(STAKES)))
        self.most = np.zeros(levels.size)
        """The largest log wealth so far, by level."""

    def bet(self, terms: NDArray[np.float64]) -> None:
        """`terms`, levels x methods x draws: the mean over both directions of f(X) - e^ε f(X') - δ, 0 without a bet."""
        stakes = np.array(STAKES) / (np.exp(self.levels)[:, None] + self.delta)
        for start in range(0, terms.shape[2], CHUNK):
            part = terms[:, :, start : start + CHUNK]
            steps = np.log1p(stakes[:, None, :, None] * part[:, :, None, :])
            path = self.logs[..., None] + np.cumsum(steps, axis=-1)
            flat = path.reshape(self.levels.size, -1, path.shape[-1])
            total = np.logaddexp.reduce(flat, axis=1) - math.log(flat.shape[1])
            self.most = np.maximum(self.most, total.max(axis=1))
            self.logs = path[..., -1]

    def rejects(self, level: int, alpha: float) -> bool:
        """Whether the wealth at a level ever reached 1/alpha."""
        return bool(self.most[level] >= -math.log(alpha))

    def bound(self, alpha: float) -> float:
        """The largest loss up to which every level is rejected; 0 if the first is not. Levels are tested in ascending order, so
        the error probability of all of them together is alpha."""
        kept = np.flatnonzero(self.most < -math.log(alpha))
        rejected = int(kept[0]) if kept.size else self.levels.size
        return float(self.levels[rejected - 1]) if rejected else 0.0

    def winner(self, level: int) -> int:
        """The scoring method with most of the wealth at a level."""
        return int(np.argmax(np.logaddexp.reduce(self.logs[level], axis=1)))
