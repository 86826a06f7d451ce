"""diffprivlib's mechanisms on column counts, one number at a time, as the library works. Seeded by the trial."""

from __future__ import annotations

import importlib
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpbench.mechanisms.peers.base import DeltaPeer, Peer, load


def _mechanisms() -> Any:
    load("diffprivlib")
    return importlib.import_module("diffprivlib.mechanisms")


def _seed(rng: np.random.Generator) -> int:
    return int(rng.integers(2**32))


@dataclass(frozen=True, kw_only=True)
class DiffprivlibLaplace(Peer, name="diffprivlib_laplace"):
    """`mechanisms.Laplace` on each count."""

    library, paper, place = "diffprivlib", "diffprivlib", "mechanisms.Laplace"
    label = "diffprivlib Laplace"

    def counts(self, data: Any, sensitivity: int, epsilon: float, rng: np.random.Generator) -> Any:
        noise = _mechanisms().Laplace(epsilon=epsilon, sensitivity=sensitivity, random_state=_seed(rng))
        return [noise.randomise(float(count)) for count in data.counts]


@dataclass(frozen=True, kw_only=True)
class DiffprivlibGeometric(Peer, name="diffprivlib_geometric"):
    """`mechanisms.Geometric` on each count."""

    library, paper, place = "diffprivlib", "diffprivlib", "mechanisms.Geometric"
    label = "diffprivlib geometric"

    def counts(self, data: Any, sensitivity: int, epsilon: float, rng: np.random.Generator) -> Any:
        noise = _mechanisms().Geometric(epsilon=epsilon, sensitivity=sensitivity, random_state=_seed(rng))
        return [noise.randomise(int(count)) for count in data.counts]


@dataclass(frozen=True, kw_only=True)
class DiffprivlibGaussian(DeltaPeer, name="diffprivlib_gaussian"):
    """`mechanisms.GaussianAnalytic` on each count, for an L2 sensitivity of √Δ."""

    library, paper, place = "diffprivlib", "diffprivlib", "mechanisms.GaussianAnalytic"
    label = "diffprivlib Gaussian"

    def counts(self, data: Any, sensitivity: int, epsilon: float, rng: np.random.Generator) -> Any:
        noise = _mechanisms().GaussianAnalytic(
            epsilon=epsilon, delta=self.delta, sensitivity=math.sqrt(sensitivity), random_state=_seed(rng)
        )
        return [noise.randomise(float(count)) for count in data.counts]


@dataclass(frozen=True, kw_only=True)
class DiffprivlibHistogram(Peer, name="diffprivlib_histogram"):
    """`tools.histogram` of all pairs of row and column. It protects one pair, so a row of Δ pairs needs ε/Δ for each."""

    library, paper, place = "diffprivlib", "diffprivlib", "tools.histogram"
    label = "diffprivlib histogram"

    def counts(self, data: Any, sensitivity: int, epsilon: float, rng: np.random.Generator) -> Any:
        load("diffprivlib")
        tools = importlib.import_module("diffprivlib.tools.histograms")
        edges = (-0.5, data.columns - 0.5)
        noisy, _ = tools.histogram(
            data.indices, epsilon=epsilon / sensitivity, bins=int(data.columns), range=edges, random_state=_seed(rng)
        )
        return noisy
