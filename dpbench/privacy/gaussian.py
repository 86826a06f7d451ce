"""The step `gaussian`: normal noise, in part common to all values; exact: the discrete Gaussian. Used by noise.py."""

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
from dpbench.privacy._bounds import exp_minus, raised
from dpbench.privacy._uniform import of_discrete_gaussian, tile
from dpbench.privacy._words import Words
from dpbench.privacy.exact import discrete_laplace, more_bits
from dpbench.privacy.step import Cost, RandomStep


@dataclass(frozen=True, eq=False)
class GaussianStep(RandomStep, kind="gaussian"):
    """values + N(0, sigma²) independently, plus one draw of N(0, shared²) that is added to all of them."""

    values: NDArray[Any]
    sigma: float
    shared: float = 0.0

    per_value = True

    def parameters(self) -> Mapping[str, Any]:
        return {"sigma": self.sigma, "shared": self.shared}

    def check(self) -> None:
        if not (self.sigma >= 0 and self.shared >= 0):
            raise ValueError(f"sigma={self.sigma!r} and shared={self.shared!r}: expected 0 or more")

    def draw(self, rng: np.random.Generator) -> Floats:
        common = rng.normal(0.0, self.shared)
        noisy = np.asarray(rng.normal(common, self.sigma, self.values.shape))
        noisy += self.values
        return noisy

    def draw_exact(self, words: Words) -> Floats:
        if self.shared:
            reason = "noise that all values have in common has no discrete form with a known δ"
            raise UserError(f'the step `gaussian` has no exact noise: {reason}; expected noise="float"')
        if not np.issubdtype(self.values.dtype, np.integer):
            raise UserError("exact Gaussian noise is for whole numbers: give integers")
        drawn = discrete_gaussian(self.values.size, raised(self.sigma) if self.sigma else Fraction(0), words)
        return (self.values.astype(np.int64, copy=False) + drawn.reshape(self.values.shape)).astype(np.float64)

    def tiled(self, size: int) -> GaussianStep | None:
        return None if self.shared else replace(self, values=tile(self.values, size))

    def uniforms(self, output: Any, exact: bool, rng: np.random.Generator) -> Floats:
        from scipy.special import ndtr

        noise: Floats = (np.asarray(output, dtype=np.float64) - self.values).reshape(-1)
        if self.shared:
            # The sum of two numbers and their difference, which has nothing in common, are independent.
            if noise.size < 2 or not self.sigma:
                return np.asarray(ndtr(noise[:1] / math.hypot(self.sigma, self.shared)))
            apart, both = (
                (noise[1] - noise[0]) / self.sigma,
                (noise[0] + noise[1]) / math.hypot(self.sigma, math.sqrt(2) * self.shared),
            )
            return np.asarray(ndtr(np.array([apart, both]) / math.sqrt(2)))
        if not self.sigma:
            return noise[:0]
        return of_discrete_gaussian(noise, self.sigma, rng) if exact else np.asarray(ndtr(noise / self.sigma))

    @classmethod
    def cost(cls, values: Floats, others: Floats, parameters: Mapping[str, NDArray[Any]]) -> Cost:
        """No pure loss: the squared distance of the means, in standard deviations."""
        sigma, shared = float(parameters["sigma"]), float(parameters["shared"])
        return Cost(squared=_distance((others - values).reshape(-1), sigma, shared))


def _distance(apart: NDArray[np.float64], sigma: float, shared: float) -> float:
    """x^T Σ^-1 x for Σ = σ² I + τ² 1 1^T, by the Sherman-Morrison formula."""
    if not apart.any():
        return 0.0
    if sigma == 0:
        # Only the common part is hidden, and only if all values move equally.
        alike = bool(np.all(apart == apart[0])) and shared > 0
        return float(apart[0] / shared) ** 2 if alike else math.inf
    ratio = shared**2 / (sigma**2 + apart.size * shared**2)
    return float((apart @ apart - ratio * apart.sum() ** 2) / sigma**2)


def discrete_gaussian(size: int, sigma: Fraction, words: Words) -> NDArray[np.int64]:
    """Independent draws of P[x] ∝ exp(-x²/2σ²) (Canonne, Kamath, Steinke 2020, Algorithm 3).

    A discrete Laplace draw y of scale t = ⌊σ⌋ + 1 is kept with probability exp(-(|y| - σ²/t)²/2σ²).
    """
    out = np.zeros(size, dtype=np.int64)
    if sigma == 0:
        return out
    t = math.floor(sigma) + 1
    places = np.arange(size)
    while places.size:
        drawn = discrete_laplace(places.size, Fraction(t), words)
        kept = _kept(drawn, sigma, t, words)
        out[places[kept]] = drawn[kept]
        places = places[~kept]
    return out


UNSURE = 2.0**-44
"""Far above the error of exp(-γ) in doubles, if γ is off by a few units in its last place."""


def _kept(drawn: NDArray[np.int64], sigma: Fraction, t: int, words: Words) -> NDArray[np.bool_]:
    """An exact coin for each draw: doubles decide all but one in 10^13, integers the rest."""
    s = float(sigma)
    distance = (np.abs(drawn) - s * s / t) / s
    chance = np.exp(-distance * distance / 2)
    given = words.take(drawn.size)
    coin = (given >> np.uint64(11)) * 2.0**-53
    kept = coin < chance
    for place in np.flatnonzero(np.abs(coin - chance) < UNSURE):
        x = (abs(int(drawn[place])) - sigma * sigma / t) ** 2 / (2 * sigma * sigma)
        kept[place] = _coin(x, int(given[place]), words)
    return kept


def _coin(x: Fraction, word: int, words: Words) -> bool:
    """Whether the number in [0, 1) that begins with `word` is below exp(-x)."""
    if x == 0:
        return True
    bits = 64
    while True:
        low, high = exp_minus(x, bits)
        if word + 1 <= low:
            return True
        if word >= high:
            return False
        word, bits = word << 64 | more_bits(words), bits + 64
