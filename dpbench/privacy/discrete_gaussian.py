"""The step `discrete_gaussian`: whole noise P[x] ∝ exp(-x²/2σ²) on whole numbers, in float and in exact form. Used by noise.py.

Canonne, Kamath, Steinke: The Discrete Gaussian for Differential Privacy, NeurIPS 2020.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbench.errors import UserError
from dpbench.numerics.arrays import Floats
from dpbench.privacy._bounds import raised
from dpbench.privacy._uniform import of_discrete_gaussian, tile
from dpbench.privacy._words import Words
from dpbench.privacy.exact import as_integers
from dpbench.privacy.gaussian import discrete_gaussian
from dpbench.privacy.step import Cost, RandomStep

LARGEST_SIGMA = 2.0**46
"""The largest σ: a hundred of them are still below 2^53. Beyond, draws leave the integers that doubles represent: at 2^63 the
spread is 0.58 of what it should be."""


@dataclass(frozen=True, eq=False)
class DiscreteGaussianStep(RandomStep, kind="discrete_gaussian"):
    """values + x, P[x] ∝ exp(-x²/2σ²), independently."""

    values: NDArray[Any]
    sigma: float

    per_value = True

    def parameters(self) -> Mapping[str, Any]:
        return {"sigma": self.sigma}

    def check(self) -> None:
        if not self.sigma >= 0:
            raise ValueError(f"sigma={self.sigma!r} is not valid: expected 0 or more")
        if self.sigma > LARGEST_SIGMA:
            raise UserError(
                f"sigma={self.sigma:.4g} is too large for whole noise: expected at most {LARGEST_SIGMA:.4g}"
            )

    def draw(self, rng: np.random.Generator) -> Floats:
        """A discrete Laplace draw y of scale t = ⌊σ⌋ + 1 is kept with probability exp(-(|y| - σ²/t)²/2σ²)."""
        noisy = self.values.astype(np.float64).reshape(-1)
        places, t = np.arange(noisy.size if self.sigma else 0), math.floor(self.sigma) + 1
        while places.size:
            drawn = rng.geometric(-math.expm1(-1 / t), places.size) - rng.geometric(-math.expm1(-1 / t), places.size)
            distance = (np.abs(drawn) - self.sigma**2 / t) / self.sigma
            kept = rng.random(places.size) < np.exp(-distance * distance / 2)
            noisy[places[kept]] += drawn[kept]
            places = places[~kept]
        return noisy.reshape(self.values.shape)

    def draw_exact(self, words: Words) -> Floats:
        drawn = discrete_gaussian(self.values.size, raised(self.sigma) if self.sigma else Fraction(0), words)
        return (as_integers(self.values) + drawn.reshape(self.values.shape)).astype(np.float64)

    def tiled(self, size: int) -> DiscreteGaussianStep:
        return replace(self, values=tile(self.values, size))

    def uniforms(self, output: Any, exact: bool, rng: np.random.Generator) -> Floats:
        noise: Floats = (np.asarray(output, dtype=np.float64) - self.values).reshape(-1)
        return of_discrete_gaussian(noise, self.sigma, rng) if self.sigma else noise[:0]

    @classmethod
    def cost(cls, values: Floats, others: Floats, parameters: Mapping[str, NDArray[Any]]) -> Cost:
        """The squared distance in standard deviations, which is 2ρ of zCDP as with normal noise. Whole noise does not hide
        fractions."""
        apart, sigma = others - values, float(parameters["sigma"])
        if not apart.any():
            return Cost()
        whole = bool(np.all(apart == np.round(apart))) and sigma > 0
        return Cost(squared=float((apart * apart).sum()) / sigma**2) if whole else Cost(math.inf)
