"""The zero entries under noise and a summary, as distributions that are drawn without listing the zeros.

Used by the shortcuts through `Noise.draw`. An outcome consists of the places of the zeros in the summary and their noisy
values, as the laborious form would have chosen them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpbench.mechanisms.sparse import _zeros as zeros
from dpbench.mechanisms.sparse._priority import zero_priorities
from dpbench.mechanisms.sparse.base import Chosen
from dpbench.mechanisms.tables import SparseTable
from dpbench.numerics import places


@dataclass(frozen=True, eq=False)
class PassingZeros:
    """The zeros that pass the filter: k ~ Bin(m - n, p_θ) of them, at uniform places, with values of noise that
    passes (Remark 1)."""

    table: SparseTable
    alpha: float
    theta: float
    two_sided: bool

    def draw(self, rng: np.random.Generator) -> Chosen:
        k = zeros.upgraded(self.table.zeros, self._chance(), rng)
        where = places.free(k, self.table.places, self.table.size, rng)
        return where, zeros.passed(self.alpha, self.theta, self.two_sided, k, rng)

    def log_probability(self, outcome: Chosen) -> float:
        where, values = outcome
        magnitude = np.abs(values) if self.two_sided else values
        if not _are_zeros(self.table, where) or np.any(magnitude < self.theta):
            return -math.inf
        return float(_log_mass(self.alpha, values).sum()) + _log_none(self.table, where, self._chance())

    def _chance(self) -> float:
        return zeros.pass_probability(self.alpha, self.theta, self.two_sided)


@dataclass(frozen=True, eq=False)
class SampledZeros:
    """The zeros that threshold sampling chooses, each with probability min(|v|/τ, 1) for its noisy value v."""

    table: SparseTable
    alpha: float
    tau: float

    def draw(self, rng: np.random.Generator) -> Chosen:
        k = zeros.upgraded(self.table.zeros, self._chance(), rng)
        where = places.free(k, self.table.places, self.table.size, rng)
        return where, zeros.sampled(self.alpha, self.tau, 1, k, rng)

    def log_probability(self, outcome: Chosen) -> float:
        where, values = outcome
        if not _are_zeros(self.table, where) or np.any(values == 0):
            return -math.inf
        kept = np.log(np.minimum(np.abs(values) / self.tau, 1.0))
        return float((_log_mass(self.alpha, values) + kept).sum()) + _log_none(self.table, where, self._chance())

    def _chance(self) -> float:
        return float(zeros.sample_probability(self.alpha, self.tau))


@dataclass(frozen=True, eq=False)
class PriorityZeros:
    """Noisy values and priorities of the zeros that can be among the s + 1 highest priorities, given the values and
    priorities of the other entries."""

    table: SparseTable
    alpha: float
    theta: float
    values: np.ndarray
    priorities: np.ndarray
    s: int

    def draw(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        given = (self.table.zeros, self.values, self.priorities, self.s)
        return zero_priorities(self.alpha, self.theta, *given, rng)

    def log_probability(self, outcome: tuple[np.ndarray, np.ndarray]) -> float:
        raise NotImplementedError(
            "priorities are continuous, and how many are drawn depends on a guess: use the laborious form"
        )


@dataclass(frozen=True, eq=False)
class ZeroPlaces:
    """`number` distinct zero entries, chosen uniformly, sorted."""

    table: SparseTable
    number: int

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        return places.free(self.number, self.table.places, self.table.size, rng)

    def log_probability(self, outcome: np.ndarray) -> float:
        if outcome.size != self.number or not _are_zeros(self.table, outcome):
            return -math.inf
        n, k = self.table.zeros, self.number
        return math.lgamma(k + 1) + math.lgamma(n - k + 1) - math.lgamma(n + 1)


def _are_zeros(table: SparseTable, where: np.ndarray) -> bool:
    """Whether these are distinct zero entries, in order."""
    inside = where.size == 0 or (int(where[0]) >= 0 and int(where[-1]) < table.size)
    return inside and bool(np.all(np.diff(where) > 0)) and not np.isin(where, table.places).any()


def _log_mass(alpha: float, values: np.ndarray) -> np.ndarray:
    """ln P[noise = v]."""
    return math.log1p(-alpha) - math.log1p(alpha) + np.abs(values) * math.log(alpha)


def _log_none(table: SparseTable, where: np.ndarray, chance: float) -> float:
    """ln of the probability that none of the other zeros is in the summary."""
    rest = table.zeros - where.size
    if rest == 0:
        return 0.0
    return rest * math.log1p(-chance) if chance < 1 else -math.inf
