"""Takes the chance of a private choice out of an expected error. Used by DPSense.

The error is a smooth function of θ. Interpolated between a few anchors, it is a function whose mean over the choice is
known: expected error of the chosen θ, minus the interpolated one, plus the mean of the interpolated one has the same mean
as the expected error, and hardly varies. If every likely θ is an anchor, it does not vary at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

MOST = 64
"""Up to so many likely values of θ, all of them are anchors."""
FEW, FEWER = 24, 8
"""Otherwise, so many quantiles of them for each α: if there is one α, or several."""
RARE = 1e-3
"""Quantiles end at this probability from either end: far tails would make poor anchors. An α as rare as this has none."""

ChosenLimit = tuple[float, float]
"""θ and α."""


@dataclass(frozen=True, eq=False)
class Anchors:
    """Anchors over θ for each α."""

    thetas: Mapping[float, np.ndarray]
    """Ascending, by α."""
    means: Mapping[ChosenLimit, float]
    """The mean share of each anchor over the choice."""

    @classmethod
    def of(cls, likely: Sequence[tuple[float, float, float]]) -> Anchors:
        """From (probability, θ, α) of every likely outcome; the probabilities add up to 1."""
        chances, thetas, alphas = np.array(likely, dtype=np.float64).T
        if np.unique(thetas).size <= MOST:
            return cls({}, {(theta, alpha): chance for chance, theta, alpha in likely})
        scales = np.unique(alphas)
        points = {
            float(alpha): _quantiles(
                chances[alphas == alpha], thetas[alphas == alpha], FEWER if scales.size > 1 else FEW
            )
            for alpha in scales
            if chances[alphas == alpha].sum() > RARE
        }
        means: dict[ChosenLimit, float] = {}
        for chance, theta, alpha in likely:
            for anchor, share in _shares(points.get(alpha), theta, alpha).items():
                means[anchor] = means.get(anchor, 0.0) + chance * share
        return cls(points, means)

    def shares(self, theta: float, alpha: float) -> dict[ChosenLimit, float]:
        """How an outcome is interpolated. Beyond the anchors, the nearest one is taken."""
        return {(theta, alpha): 1.0} if (theta, alpha) in self.means else _shares(self.thetas.get(alpha), theta, alpha)


def _quantiles(chances: np.ndarray, thetas: np.ndarray, number: int) -> np.ndarray:
    """Some values of θ, in equal steps of probability. `thetas` are ascending."""
    below = np.cumsum(chances) / chances.sum()
    return thetas[np.unique(np.searchsorted(below, np.linspace(RARE, 1 - RARE, number)))]


def _shares(values: np.ndarray | None, theta: float, alpha: float) -> dict[ChosenLimit, float]:
    if values is None:
        return {}
    at = int(np.searchsorted(values, theta))
    if at == values.size or values[at] == theta or at == 0:
        return {(float(values[min(at, values.size - 1)]), float(alpha)): 1.0}
    low, high = float(values[at - 1]), float(values[at])
    upper = (theta - low) / (high - low)
    return {(low, float(alpha)): 1 - upper, (high, float(alpha)): upper}
