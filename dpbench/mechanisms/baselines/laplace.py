"""The two trivial baselines for column counts: noise on every count, and one noisy average for all."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpbench.data import Counts, Incidence
from dpbench.mechanisms.base import Bounded
from dpbench.mechanisms.halves import also_records
from dpbench.numerics.laplace import mean_abs


@also_records
@dataclass(frozen=True, kw_only=True)
class LPA(Bounded, name="lpa"):
    """Laplace Perturbation Algorithm: t = c + ⟨Lap(Δ₁(Q)/ε)⟩^d (gs, Theorem 1).

    Its mean absolute error is Δ/ε; the theorem's √2 Δ/ε is the standard deviation.
    """

    paper, place = "gs", "Theorem 1"

    def publish(self, data: Incidence, epsilon: float, rng: np.random.Generator) -> Counts:
        scale = self.sensitivity(data) / epsilon
        return Counts(counts=data.counts + rng.laplace(0.0, scale, data.columns), info={"scale": scale})

    def expected_error(self, data: Incidence, epsilon: float) -> float:
        """Expected mean absolute error: exactly Δ/ε."""
        return self.sensitivity(data) / epsilon


@dataclass(frozen=True, kw_only=True)
class ALPA(Bounded, name="alpa"):
    """Average LPA: one noisy average count published for every column, sensitivity 1 (sensitivity, Section 3.2).

    A row moves the average by (its ones)/d ≤ 1 whatever its size: `bound`, which all column-count mechanisms take, is
    checked but changes nothing, and leaving it open costs no privacy.
    """

    paper, place = "sensitivity", "Section 3.2"

    def not_private(self) -> str:
        return ""

    def publish(self, data: Incidence, epsilon: float, rng: np.random.Generator) -> Counts:
        average = data.ones / data.columns + rng.laplace(0.0, 1 / epsilon)
        return Counts(counts=np.full(data.columns, average), info={"scale": 1 / epsilon})

    def expected_error(self, data: Incidence, epsilon: float) -> float:
        """Expected mean absolute error: the mean over columns of E|average - c_j + Lap(1/ε)|."""
        return float(mean_abs(data.ones / data.columns - data.counts, 1 / epsilon).mean())
