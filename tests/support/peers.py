"""Mechanisms of other libraries, behind `release(data, epsilon, rng)`: small adapters. They draw from their own randomness,
as people use them, so their tests do not depend on our seeds."""

from __future__ import annotations

import importlib
import sys
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import numpy as np


@cache
def missing(library: str) -> str:
    """Why a library cannot be used; empty when it can."""
    if find_spec(library) is None:
        return f"{library} is not installed: pip install {library}"
    try:
        if library == "diffprivlib":
            diffprivlib()
    except ImportError as error:
        return f"{library} does not fit the installed libraries: {error}"
    return ""


@cache
def diffprivlib() -> ModuleType:
    """diffprivlib.mechanisms. The package imports its models first, which its last version (0.6.6) cannot do with
    scikit-learn 1.9; its mechanisms need none of them, so they are imported without the package's own opening."""
    spec = find_spec("diffprivlib")
    assert spec is not None
    package = ModuleType("diffprivlib")
    package.__path__ = list(spec.submodule_search_locations or [])
    package.__spec__ = spec  # without it, whoever looks for the package meets a ValueError
    sys.modules.setdefault("diffprivlib", package)
    return importlib.import_module("diffprivlib.mechanisms")


@dataclass(frozen=True)
class DiffprivlibLaplace:
    """IBM's diffprivlib: Laplace noise on every count, for rows of at most `bound` ones."""

    bound: int = 2

    def release(self, data: Any, epsilon: float, rng: np.random.Generator) -> list[float]:
        noise = diffprivlib().Laplace(epsilon=epsilon, sensitivity=self.bound)
        return [noise.randomise(float(count)) for count in data.counts]


@dataclass(frozen=True)
class DiffprivlibExponential:
    """The column with the largest count, by the exponential mechanism."""

    bound: int = 3

    def release(self, data: Any, epsilon: float, rng: np.random.Generator) -> int:
        utility = data.counts.astype(float).tolist()
        return int(
            diffprivlib().Exponential(epsilon=epsilon, sensitivity=1, utility=utility, monotonic=True).randomise()
        )


@dataclass(frozen=True)
class DiffprivlibGaussian:
    """The analytic Gaussian mechanism on the number of rows, which is (ε, δ)-private."""

    delta: float = 0.01
    privacy = "(ε, δ)"

    def release(self, data: Any, epsilon: float, rng: np.random.Generator) -> float:
        noise = diffprivlib().GaussianAnalytic(epsilon=epsilon, delta=self.delta, sensitivity=1)
        return float(noise.randomise(float(data.rows)))


@cache
def _opendp_counts(bound: int, epsilon: float) -> Any:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    return dp.m.make_laplace(*space, scale=bound / epsilon)


@dataclass(frozen=True)
class OpenDPLaplace:
    """OpenDP: discrete Laplace noise on every count, for rows of at most `bound` ones."""

    bound: int = 2

    def release(self, data: Any, epsilon: float, rng: np.random.Generator) -> list[int]:
        return _opendp_counts(self.bound, epsilon)(data.counts.tolist())


PEERS = {
    "diffprivlib": [DiffprivlibLaplace(), DiffprivlibExponential(), DiffprivlibGaussian()],
    "opendp": [OpenDPLaplace()],
}
