"""Noise for counts that one row moves in one direction: all up, or all down. In none of the five papers.

Both mechanisms use that a row adds 0 or 1 to every count. They need no bound on rows; records must be without repeats.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from dpbench.data import ColumnData, Counts
from dpbench.data.last_step import NoiseLaw, after, normal_law
from dpbench.mechanisms.base import ColumnMechanism
from dpbench.mechanisms.baselines.base import GaussianNoise
from dpbench.privacy import Noise


def _repeated(columns: ColumnData) -> str:
    """Why these mechanisms cannot take data in which a row may move a count by more than 1; empty if none may."""
    return "a user may hold an item more than once, which this noise does not cover" if columns.repeats else ""


@dataclass(frozen=True, kw_only=True)
class KNormCounts(ColumnMechanism, name="knorm_counts"):
    """The K-norm mechanism for counts, not of the five papers: noise of density ∝ exp(-ε ‖z‖), ‖z‖ = max z⁺ + max z⁻.

    The unit ball is the smallest convex set that contains x and -x for every row x in {0, 1}^d, so no K-norm mechanism
    is better for counts without a bound on rows. Its error (d+2)/3ε is two thirds of `linf`'s; LPA with a bound Δ has
    less where Δ < (d+2)/3.
    """

    paper = "Joseph, Yu: Some Constructions of Private, Efficient, and Optimal K-Norm and Elliptic Gaussian Noise, COLT 2024"
    place = "the count problem: K-norm mechanism and its sampler"
    kinds = ("incidence", "records")
    label, look = "K-norm", 13

    def unfit(self, data: Any) -> str:
        return super().unfit(data) or _repeated(data)

    def publish_columns(self, columns: ColumnData, epsilon: float, noise: Noise) -> Counts:
        # j uniform in 0..d counts move up by A U_i, A ~ Gamma(j+1)/ε; the others down by B U_i, B ~ Gamma(d-j+1)/ε.
        d = columns.columns
        law = NoiseLaw((d + 2) * (d + 3) / (6 * epsilon**2), (d + 2) / (3 * epsilon))
        return Counts(
            counts=noise.ball(columns.counts, norm="counts", epsilon=epsilon), stages=(), last_step=after(law)
        )

    def columns_error(self, columns: ColumnData, epsilon: float) -> float:
        """The mean over j of [j (j+1) + (d-j) (d-j+1)] / 2dε."""
        return (columns.columns + 2) / (3 * epsilon)


@dataclass(frozen=True, kw_only=True)
class GaussianCorrelated(GaussianNoise, name="gaussian_correlated"):
    """Gaussian noise with a component shared by all counts, not of the five papers: c + Z 1 + Y, (ε, δ) only.

    Rows of k ones extend k/√d along 1, the vector of ones, and √(k(d-k)/d) across it. Noise that is larger along 1 than
    across it covers them with less noise in total: about half of `gaussian`'s standard deviation if rows may hold all columns.
    """

    paper = "Lebeda: Better Gaussian Mechanism using Correlated Noise, SOSA 2025"
    place = "Algorithm 1; with a bound, the elliptic Gaussian of Joseph and Yu, COLT 2024"
    kinds = ("incidence", "records")
    label, look = "Correlated Gaussian", 14
    audited = ({}, {"bound": 3}, {"bound": 1}, {"bound": 6, "delta": 0.01})

    bound: int | None = None
    """Declared size k of the largest row. None: d, as no row holds more columns than there are."""

    def unfit(self, data: Any) -> str:
        return super().unfit(data) or _repeated(data)

    def not_private(self) -> str:
        return ""

    def inexact(self) -> str:
        return "noise that all counts have in common has no discrete form with a known δ"

    def sensitivity(self, data: ColumnData) -> int:
        """k: the declared bound, at most d."""
        return data.columns if self.bound is None else min(int(self.bound), data.columns)

    def deviations(self, columns: ColumnData, epsilon: float) -> tuple[float, float]:
        """The standard deviations of Y_j and of Z."""
        d, sigma = columns.columns, self.unit_sigma(columns, epsilon)
        # k': beyond (d + √d)/2 rows come closer to the direction 1 again, and the noise of a larger k would not
        # cover those at the cap.
        k = min(self.sensitivity(columns), (d + math.sqrt(d)) / 2)
        v1, v2 = k / math.sqrt(d), math.sqrt(k * max(0.0, d - k) / d)  # a row along 1 and across it
        length = v1 + v2 * math.sqrt(d - 1)  # L
        along = sigma**2 * length * v1
        across = sigma**2 * length * v2 / math.sqrt(d - 1) if d > 1 else along
        # Y has the variance `across` in all directions; d Var Z is what is missing along 1/√d (nothing at k = 1).
        return math.sqrt(across), math.sqrt(max(0.0, along - across) / d)

    def publish_columns(self, columns: ColumnData, epsilon: float, noise: Noise) -> Counts:
        own, shared = self.deviations(columns, epsilon)
        counts = noise.gaussian(columns.counts, sigma=own, shared=shared)
        law = normal_law(math.hypot(own, shared))
        return Counts(counts=counts, chosen={"sigma": own, "shared": shared}, stages=(), last_step=after(law))

    def columns_error(self, columns: ColumnData, epsilon: float) -> float:
        """√(2/π) times the standard deviation of a count, which is σ L/√d."""
        return math.hypot(*self.deviations(columns, epsilon)) * math.sqrt(2 / math.pi)
