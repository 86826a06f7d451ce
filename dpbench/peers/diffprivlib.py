"""diffprivlib's mechanisms on column counts, one number at a time, as the library works. Seeded by the trial."""

from __future__ import annotations

import importlib
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpbench.peers.base import DeltaPeer, Peer, load


def _mechanisms() -> Any:
    load("diffprivlib")
    return importlib.import_module("diffprivlib.mechanisms")


def _seed(rng: np.random.Generator) -> int:
    return int(rng.integers(2**32))


@dataclass(frozen=True, kw_only=True)
class Laplace(Peer):
    """`mechanisms.Laplace` on each count."""

    library = "diffprivlib"

    def counts(self, data: Any, sensitivity: int, epsilon: float, rng: np.random.Generator) -> Any:
        noise = _mechanisms().Laplace(epsilon=epsilon, sensitivity=sensitivity, random_state=_seed(rng))
        return [noise.randomise(float(count)) for count in data.counts]


@dataclass(frozen=True, kw_only=True)
class Geometric(Peer):
    """`mechanisms.Geometric` on each count."""

    library = "diffprivlib"

    def counts(self, data: Any, sensitivity: int, epsilon: float, rng: np.random.Generator) -> Any:
        noise = _mechanisms().Geometric(epsilon=epsilon, sensitivity=sensitivity, random_state=_seed(rng))
        return [noise.randomise(int(count)) for count in data.counts]


@dataclass(frozen=True, kw_only=True)
class Gaussian(DeltaPeer):
    """`mechanisms.GaussianAnalytic` on each count, for an L2 sensitivity of √Δ."""

    library = "diffprivlib"

    def counts(self, data: Any, sensitivity: int, epsilon: float, rng: np.random.Generator) -> Any:
        noise = _mechanisms().GaussianAnalytic(
            epsilon=epsilon, delta=self.delta, sensitivity=math.sqrt(sensitivity), random_state=_seed(rng)
        )
        return [noise.randomise(float(count)) for count in data.counts]


@dataclass(frozen=True, kw_only=True)
class Histogram(Peer):
    """`tools.histogram` of all pairs of row and column. It protects one pair, so a row of Δ pairs needs ε/Δ for each."""

    library = "diffprivlib"

    def counts(self, data: Any, sensitivity: int, epsilon: float, rng: np.random.Generator) -> Any:
        load("diffprivlib")
        tools = importlib.import_module("diffprivlib.tools.histograms")
        edges = (-0.5, data.columns - 0.5)
        noisy, _ = tools.histogram(
            data.indices, epsilon=epsilon / sensitivity, bins=int(data.columns), range=edges, random_state=_seed(rng)
        )
        return noisy
