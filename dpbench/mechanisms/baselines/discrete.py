"""The discrete Gaussian mechanism on column counts, accounted for by zero-concentrated privacy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from dpbench.data import ColumnData, Counts
from dpbench.mechanisms.baselines.base import GaussianNoise
from dpbench.numerics.gaussian import zcdp_rho
from dpbench.privacy import Noise


@dataclass(frozen=True, kw_only=True)
class DiscreteGaussian(GaussianNoise, name="discrete_gaussian"):
    """Whole noise P[x] ∝ exp(-x²/2σ²) on every count, (ε, δ) by ρ of zCDP: σ² = Δ/2ρ; not of the five papers.

    ρ is the largest for which every ρ-zCDP mechanism is (ε, δ)-private by the tight conversion. That is a few percent more noise
    than `gaussian` needs, but it holds for noise that computers can draw, and a budget in ρ is spent exactly.
    """

    paper = "Canonne, Kamath, Steinke: The Discrete Gaussian for Differential Privacy, NeurIPS 2020"
    place = "Algorithm 3, Theorem 14; (ε, δ) by Corollary 13"
    only_gaussian = False
    label, look = "Discrete Gaussian", 28
    audited = ({"bound": 3}, {"bound": 3, "delta": 0.01}, {})

    def zcdp(self, data: Any, epsilon: float) -> float:
        each = self._of_each(data)
        parts = 1 if each is self else 2
        return parts * zcdp_rho(epsilon / parts, each.delta)

    def sigma(self, columns: ColumnData, epsilon: float) -> float:
        """√(Δ/2ρ)."""
        return math.sqrt(self.sensitivity(columns)) * self.unit_sigma(columns, epsilon, "exact")

    def publish_columns(self, columns: ColumnData, epsilon: float, noise: Noise) -> Counts:
        sigma = self.sigma(columns, epsilon)
        counts = noise.discrete_gaussian(columns.counts, sigma=sigma)
        return Counts(counts=counts, chosen={"sigma": sigma}, stages=())
