"""What the recorders of libraries share: the calls of one release, and steps that a library draws.

Such a step is replayed as our own of the same distribution, and drawn by the library's sampler. So its loss follows from its
values and parameters, and the test of samplers tests the library. Imported by record_*.py; imports privacy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbench.privacy import Noise
from dpbench.privacy.choose import ChooseStep
from dpbench.privacy.gaussian import GaussianStep
from dpbench.privacy.geometric import GeometricStep
from dpbench.privacy.laplace import LaplaceStep

MOST = 20_000
"""Most numbers that a library draws for the test of its sampler: it takes up to 0.1 ms for each."""
REASON = "another library draws it"

Native = Callable[[NDArray[Any]], Any]
"""The library's sampler: noisy values."""


@dataclass(frozen=True)
class Calls:
    """The random calls of one release of a class that knows nothing of `noise`."""

    noise: Noise
    unrecorded: dict[str, None]
    """What was drawn and not recorded."""
    seeds: dict[int, None] = field(default_factory=dict)
    """Integers that were drawn and may be the seed of a recorded generator."""

    def note(self, what: str) -> None:
        self.unrecorded[what] = None

    def explain(self, seed: int | None) -> None:
        """This integer was the seed of a generator whose draws are recorded."""
        if seed is not None:
            self.seeds.pop(seed, None)


def _unknown(values: NDArray[Any]) -> Any:
    raise NotImplementedError("the library's sampler is missing")


@dataclass(frozen=True, eq=False)
class LibraryLaplace(LaplaceStep, kind="library laplace"):
    native: Native = _unknown
    inexact = REASON

    def draw(self, rng: np.random.Generator) -> Any:
        return np.asarray(self.native(self.values), dtype=np.float64)

    def tiled(self, size: int) -> LaplaceStep:
        return super().tiled(min(size, MOST))


@dataclass(frozen=True, eq=False)
class LibraryGeometric(GeometricStep, kind="library geometric"):
    native: Native = _unknown
    inexact = REASON

    def draw(self, rng: np.random.Generator) -> Any:
        return np.asarray(self.native(self.values))

    def tiled(self, size: int) -> GeometricStep:
        return super().tiled(min(size, MOST))


@dataclass(frozen=True, eq=False)
class LibraryGaussian(GaussianStep, kind="library gaussian"):
    """whole: the discrete Gaussian, on integers. Its loss is computed as that of the normal distribution with the same σ."""

    native: Native = _unknown
    whole: bool = False
    most: int = MOST
    inexact = REASON

    def draw(self, rng: np.random.Generator) -> Any:
        return np.asarray(self.native(self.values))

    def tiled(self, size: int) -> GaussianStep | None:
        return super().tiled(min(size, self.most))

    def uniforms(self, output: Any, exact: bool, rng: np.random.Generator) -> Any:
        return super().uniforms(output, self.whole, rng)


@dataclass(frozen=True, eq=False)
class LibraryChoice(ChooseStep, kind="library choice"):
    native: Callable[[], int] = int
    inexact = REASON

    def draw(self, rng: np.random.Generator) -> int:
        return int(self.native())


def one_by_one(randomise: Callable[[Any], Any], whole: bool) -> Native:
    """The sampler of a library that draws one number at a time."""

    def noisy(values: NDArray[Any]) -> NDArray[Any]:
        flat = np.asarray(values, dtype=np.int64 if whole else np.float64).reshape(-1).tolist()
        return np.array([randomise(value) for value in flat]).reshape(np.shape(values))

    return noisy
