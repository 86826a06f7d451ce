"""The step `geometric`: two-sided geometric noise on whole numbers. Used by noise.py."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbench.errors import UserError
from dpbench.numerics.arrays import Floats
from dpbench.privacy._uniform import of_discrete_laplace, tile
from dpbench.privacy._words import Words
from dpbench.privacy.exact import add_discrete_laplace, as_integers
from dpbench.privacy.step import Cost, RandomStep

BLOCK = 1 << 18
"""Numbers processed at a time, so that the noise of a large table stays in the processor's cache."""

SHORTEST = 2.0**-50
"""Added to α: more than the rounding error of its double."""


@dataclass(frozen=True, eq=False)
class GeometricStep(RandomStep, kind="geometric"):
    """values + x, P[x] = (1-α)/(1+α) α^|x|. Floats stay floats; all other types become 64-bit integers."""

    values: NDArray[Any]
    alpha: float

    per_value = True

    def parameters(self) -> Mapping[str, Any]:
        return {"alpha": self.alpha}

    def check(self) -> None:
        if not 0 < self.alpha < 1:
            raise ValueError(f"alpha={self.alpha!r} is not valid: expected a number between 0 and 1")

    @property
    def given(self) -> NDArray[Any]:
        return self.values if self.values.dtype == np.float64 else self.values.astype(np.int64, copy=False)

    def draw(self, rng: np.random.Generator) -> NDArray[Any]:
        """The difference of two one-sided draws."""
        values = self.given
        noisy = np.empty(values.shape, values.dtype)
        flat, out = values.reshape(-1), noisy.reshape(-1)
        for start in range(0, flat.size, BLOCK):
            part = flat[start : start + BLOCK]
            drawn = rng.geometric(1 - self.alpha, part.size)
            drawn -= rng.geometric(1 - self.alpha, part.size)
            np.add(part, drawn, out=out[start : start + BLOCK])
        return noisy

    def draw_exact(self, words: Words) -> NDArray[Any]:
        """α is raised slightly, never lowered."""
        alpha, values = self.alpha, self.given
        rate = -math.log1p(-(1 - alpha - SHORTEST)) if alpha < 1 - 16 * SHORTEST else 0.0
        if not rate:
            raise UserError(
                f"alpha={alpha!r} is too near to 1 for exact noise: expected at most 1 - {16 * SHORTEST:.2g}"
            )
        noisy = add_discrete_laplace(as_integers(values), np.asarray(1 / rate), words)
        return noisy.astype(values.dtype)

    def tiled(self, size: int) -> GeometricStep:
        return replace(self, values=tile(self.values, size))

    def uniforms(self, output: Any, exact: bool, rng: np.random.Generator) -> Floats:
        noise = np.asarray(np.asarray(output) - self.given, dtype=np.float64)
        return of_discrete_laplace(noise, np.full(noise.shape, float(self.alpha)), rng)

    @classmethod
    def cost(cls, values: Floats, others: Floats, parameters: Mapping[str, NDArray[Any]]) -> Cost:
        """Σ |q - q'| ln 1/α. Integer noise does not hide fractions."""
        apart = others - values
        whole = bool(np.all(apart == np.round(apart)))
        return Cost(float(np.abs(apart).sum() * -math.log(parameters["alpha"])) if whole else math.inf)
