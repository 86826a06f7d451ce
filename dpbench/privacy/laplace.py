"""The step `laplace`: independent Laplace noise; in its exact form the discrete Laplace distribution. Used by noise.py."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbench.errors import UserError
from dpbench.numerics.arrays import Floats
from dpbench.privacy._uniform import of_discrete_laplace, tile
from dpbench.privacy._words import Words
from dpbench.privacy.exact import LARGEST_WHOLE, add_discrete_laplace, as_integers
from dpbench.privacy.step import Cost, RandomStep

FINE = 10
"""The rounding of real values adds at most 2^-10 to their sensitivity."""


@dataclass(frozen=True, eq=False)
class LaplaceStep(RandomStep, kind="laplace"):
    """values + Lap(scale)."""

    values: NDArray[Any]
    scale: ArrayLike
    parts: ArrayLike | None = None
    sensitivity: float | None = None

    per_value = True

    def parameters(self) -> Mapping[str, Any]:
        return {"scale": self.scale}

    @property
    def scales(self) -> Floats:
        return np.asarray(self.scale, dtype=np.float64)

    def check(self) -> None:
        scales = self.scales
        if scales.ndim and scales.shape != self.values.shape:
            raise ValueError(f"scale has the shape {scales.shape}: expected one number or {self.values.shape}")
        if not (scales >= 0).all():
            raise ValueError("scale must be 0 or more")

    def draw(self, rng: np.random.Generator) -> Floats:
        noisy = np.asarray(rng.laplace(0.0, self.scales, self.values.shape))
        noisy += self.values
        return noisy

    def draw_exact(self, words: Words) -> Floats:
        """In steps of 1 for integers, and of 1/parts or a power of two for other values."""
        values, scales = self.values, self.scales
        if self.parts is not None and self.sensitivity is not None:
            raise ValueError("parts and sensitivity are both given: expected one of them")
        if self.sensitivity is not None:
            unit, scales = self._rounding(self.sensitivity)
            whole = np.rint(values / unit)
            if np.any(np.abs(whole) >= LARGEST_WHOLE):
                raise UserError(f"the values are too large to be rounded to {unit:.3g}, as their sensitivity asks for")
            return np.asarray(add_discrete_laplace(as_integers(whole), scales / unit, words) * unit)
        if self.parts is None:
            if not np.issubdtype(values.dtype, np.integer):
                raise UserError(
                    "exact noise needs to know what numbers these are: give integers, `parts` where they are whole numbers "
                    "divided by it, or `sensitivity` where they are real"
                )
            return add_discrete_laplace(values.astype(np.int64, copy=False), scales, words).astype(np.float64)
        divisors = np.asarray(self.parts)
        if np.any(divisors < 1) or np.any(divisors != np.rint(divisors)):
            raise ValueError("parts must be whole numbers from 1 on")
        times = values * divisors
        whole = np.rint(times)
        if np.any(np.abs(times - whole) > 2.0**-20):
            raise ValueError("the values are not whole numbers divided by parts")
        noisy = add_discrete_laplace(as_integers(whole), np.broadcast_to(scales * divisors, values.shape), words)
        return np.asarray(noisy / divisors)

    def tiled(self, size: int) -> LaplaceStep:
        scale = tile(np.asarray(self.scale), size) if np.ndim(self.scale) else self.scale
        parts = tile(np.asarray(self.parts), size) if self.parts is not None and np.ndim(self.parts) else self.parts
        return replace(self, values=tile(self.values, size), scale=scale, parts=parts)

    def uniforms(self, output: Any, exact: bool, rng: np.random.Generator) -> Floats:
        values, scales = self.values, self.scales
        unit: Any = 1.0
        if exact and self.sensitivity is not None:
            unit, scales = self._rounding(self.sensitivity)
            values = np.rint(values / unit) * unit
        elif exact and self.parts is not None:
            unit = 1 / np.asarray(self.parts, dtype=np.float64)
        scales, unit = (np.broadcast_to(each, values.shape) for each in (scales, unit))
        noisy = scales > 0
        noise, scales = (np.asarray(output) - values)[noisy], scales[noisy]
        if exact:
            return of_discrete_laplace(noise / unit[noisy], np.exp(-unit[noisy] / scales), rng)
        tail = np.exp(-np.abs(noise) / scales) / 2
        return np.asarray(np.where(noise < 0, tail, 1 - tail))

    def _rounding(self, sensitivity: float) -> tuple[float, Floats]:
        """The power of two that real values are rounded to, and the scales enlarged by what the rounding adds to the
        sensitivity."""
        size = self.values.size
        if not 0 < sensitivity < math.inf:
            raise ValueError(f"sensitivity={sensitivity!r} is not valid: expected a positive number")
        if self.scales.ndim:
            raise ValueError("scale is one for each value: then a rounding has no single sensitivity; give one number")
        most = sensitivity / max(1, size)
        unit = 2.0 ** (math.floor(math.log2(most)) - FINE)
        # On either of two neighbouring inputs a value moves by up to half a unit: together one unit per value.
        return unit, self.scales * ((sensitivity + size * unit) / sensitivity)

    @classmethod
    def cost(cls, values: Floats, others: Floats, parameters: Mapping[str, NDArray[Any]]) -> Cost:
        """Σ |q - q'| / scale; a value without noise must not move at all."""
        apart = np.abs(others - values)
        moved = apart > 0
        scales = np.broadcast_to(parameters["scale"].astype(np.float64), apart.shape)[moved]
        return Cost(float((apart[moved] / scales).sum()) if np.all(scales > 0) else math.inf)
