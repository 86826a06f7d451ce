"""Noise as numbers that are uniform on (0, 1) if it has the stated distribution: what tests of samplers look at.

Used by the steps that add noise to values.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpbench.numerics.arrays import Floats

OFF = 1e-6
"""How far from a whole number integer noise may be, after it was divided by its unit."""


def tile(values: NDArray[np.generic], size: int) -> NDArray[np.generic]:
    """At least `size` numbers: the values again and again."""
    return np.tile(values.reshape(-1), -(-size // max(1, values.size)))


def of_discrete_laplace(noise: Floats, decay: Floats, rng: np.random.Generator) -> Floats:
    """For P[x] = (1-a)/(1+a) a^|x|, a = `decay`. Noise that is not a whole number becomes 0, which no test accepts often."""
    whole = np.rint(noise)
    mass = decay ** np.abs(whole) / (1 + decay)
    below = np.where(whole < 0, mass, 1 - mass * decay)
    return np.where(np.abs(noise - whole) < OFF, below - rng.random(noise.shape) * (1 - decay) * mass, 0.0)


def of_choice(chosen: NDArray[np.int64], probabilities: Floats, rng: np.random.Generator) -> Floats:
    """For outcomes with these probabilities: the probability of all outcomes before, likelier ones first, plus a random part of
    its own."""
    order = np.argsort(-probabilities, kind="stable")
    before = np.empty_like(probabilities)
    before[order] = np.cumsum(probabilities[order]) - probabilities[order]
    return before[chosen] + rng.random(chosen.shape) * probabilities[chosen]


def of_discrete_gaussian(noise: Floats, sigma: float, rng: np.random.Generator) -> Floats:
    """For P[x] ∝ exp(-x²/2σ²). Noise that is not a whole number, or is beyond 12σ, becomes 0."""
    most = math.ceil(12 * sigma) + 1
    mass = np.exp(-(np.arange(-most, most + 1.0) ** 2) / (2 * sigma**2))
    whole = np.rint(noise)
    inside = (np.abs(whole) <= most) & (np.abs(noise - whole) < OFF)
    at = of_choice((np.where(inside, whole, 0) + most).astype(np.int64), mass / mass.sum(), rng)
    return np.asarray(np.where(inside, at, 0.0))
