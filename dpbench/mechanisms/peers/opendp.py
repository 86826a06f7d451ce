"""OpenDP's mechanisms on column counts. OpenDP draws from the operating system: each run gives different numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from dpbench.mechanisms.peers.base import DeltaPeer, Peer, load


@cache
def _laplace(sensitivity: int, epsilon: float, whole: bool) -> Any:
    dp = load("opendp")
    domain = dp.atom_domain(T=int) if whole else dp.atom_domain(T=float, nan=False)
    space = dp.vector_domain(domain), dp.l1_distance(T=int if whole else float)
    return dp.m.make_laplace(*space, scale=sensitivity / epsilon)


@cache
def _gaussian(sensitivity: int, epsilon: float, delta: float) -> Any:
    dp = load("opendp")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l2_distance(T=float)

    def made(scale: float) -> Any:
        return dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(dp.m.make_gaussian(*space, scale=scale)), delta)

    # OpenDP's accounting determines the scale.
    return made(dp.binary_search_param(made, d_in=math.sqrt(sensitivity), d_out=(epsilon, delta), T=float))


@cache
def _histogram(columns: int, sensitivity: int, epsilon: float) -> Any:
    dp = load("opendp")
    records = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()
    count = dp.t.make_count_by_categories(*records, categories=list(range(columns)), null_category=False)
    return count >> dp.m.then_laplace(scale=sensitivity / epsilon)


@dataclass(frozen=True, kw_only=True)
class OpenDPLaplace(Peer, name="opendp_laplace"):
    """`make_laplace` on the counts as real numbers."""

    library, paper, place = "opendp", "OpenDP", "make_laplace on floats"
    label = "OpenDP Laplace"

    def counts(self, data: Any, sensitivity: int, epsilon: float, rng: np.random.Generator) -> Any:
        return _laplace(sensitivity, epsilon, False)(data.counts.astype(float).tolist())


@dataclass(frozen=True, kw_only=True)
class OpenDPGeometric(Peer, name="opendp_geometric"):
    """`make_laplace` on the counts as whole numbers, which is the geometric mechanism."""

    library, paper, place = "opendp", "OpenDP", "make_laplace on integers"
    label = "OpenDP geometric"

    def counts(self, data: Any, sensitivity: int, epsilon: float, rng: np.random.Generator) -> Any:
        return _laplace(sensitivity, epsilon, True)(data.counts.tolist())


@dataclass(frozen=True, kw_only=True)
class OpenDPGaussian(DeltaPeer, name="opendp_gaussian"):
    """`make_gaussian` on the counts as whole numbers, with the scale that OpenDP's accounting requires."""

    library, paper, place = "opendp", "OpenDP", "make_gaussian"
    label = "OpenDP Gaussian"

    def counts(self, data: Any, sensitivity: int, epsilon: float, rng: np.random.Generator) -> Any:
        return _gaussian(sensitivity, epsilon, self.delta)(data.counts.tolist())


@dataclass(frozen=True, kw_only=True)
class OpenDPHistogram(Peer, name="opendp_histogram"):
    """`make_count_by_categories` of all pairs of row and column, with noise for the records of one row."""

    library, paper, place = "opendp", "OpenDP", "make_count_by_categories, then_laplace"
    label = "OpenDP histogram"

    def counts(self, data: Any, sensitivity: int, epsilon: float, rng: np.random.Generator) -> Any:
        return _histogram(int(data.columns), sensitivity, epsilon)(data.indices.tolist())
