"""Modern baselines for the papers' question that are in none of the five papers; each names its reference.

Two publish all column counts; two publish only which columns are the largest (`TopK`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpbench.data import ColumnData, Counts, Incidence, TopK
from dpbench.data.last_step import NoiseLaw, after, normal_law
from dpbench.errors import positive
from dpbench.mechanisms.base import ColumnMechanism, Mechanism
from dpbench.mechanisms.baselines._topk import Joint, Peeling
from dpbench.mechanisms.baselines.base import GaussianNoise
from dpbench.privacy import Noise


@dataclass(frozen=True, kw_only=True)
class LInfinity(ColumnMechanism, name="linf"):
    """The l∞ mechanism, not of the five papers: noise with density ∝ exp(-ε |x|_∞), as no row moves a count by more than 1.

    That is Gamma(d+1, 1/ε) times uniform on the cube [-1, 1]^d. It needs no bound on rows; its error (d+1)/2ε is below
    LPA's if rows may hold more than half of the columns.
    """

    paper = "Hardt, Talwar: On the Geometry of Differential Privacy, STOC 2010"
    place = "Section 4, the K-norm mechanism, for the l∞ ball"
    label, look = "l∞", 11

    def publish_columns(self, columns: ColumnData, epsilon: float, noise: Noise) -> Counts:
        d = columns.columns
        law = NoiseLaw((d + 1) * (d + 2) / (3 * epsilon**2), (d + 1) / (2 * epsilon))
        return Counts(counts=noise.ball(columns.counts, norm="inf", epsilon=epsilon), stages=(), last_step=after(law))

    def columns_error(self, columns: ColumnData, epsilon: float) -> float:
        """E[radius] / 2."""
        return (columns.columns + 1) / (2 * epsilon)


@dataclass(frozen=True, kw_only=True)
class Gaussian(GaussianNoise, name="gaussian"):
    """The Gaussian mechanism with its exact calibration, not of the five papers: N(0, σ²) on every count, (ε, δ) only.

    A row of Δ ones moves the counts by √Δ in L2, while LPA pays Δ. Exact noise is the discrete Gaussian, whose σ comes from zCDP
    (Canonne, Kamath, Steinke: The Discrete Gaussian for Differential Privacy, NeurIPS 2020) and is a few percent larger.
    """

    paper = "Balle, Wang: Improving the Gaussian Mechanism for Differential Privacy, ICML 2018"
    place = "Theorem 8, Algorithm 1"
    label, look = "Gaussian", 12
    audited = ({"bound": 3}, {"bound": 3, "delta": 0.01}, {})

    def sigma(self, columns: ColumnData, epsilon: float, form: str = "float") -> float:
        """σ for a form of noise (float or exact)."""
        return math.sqrt(self.sensitivity(columns)) * self.unit_sigma(columns, epsilon, form)

    def publish_columns(self, columns: ColumnData, epsilon: float, noise: Noise) -> Counts:
        sigma = self.sigma(columns, epsilon, noise.form)
        return Counts(
            counts=noise.gaussian(columns.counts, sigma=sigma),
            chosen={"sigma": sigma},
            stages=(),
            last_step=after(normal_law(sigma)),
        )

    def columns_error(self, columns: ColumnData, epsilon: float) -> float:
        """σ √(2/π)."""
        return self.sigma(columns, epsilon) * math.sqrt(2 / math.pi)


@dataclass(frozen=True, kw_only=True)
class TopKMechanism(Mechanism):
    """What the rankings share: K, and the columns by descending count. Not a mechanism itself.

    Adding a row raises some counts by one and lowers none, whatever the row's size: no bound on rows is needed.
    """

    k: int = 100
    """Number of columns chosen."""

    def __post_init__(self) -> None:
        positive("k", self.k, whole=True)

    def unfit(self, data: Incidence) -> str:  # type: ignore[override]
        if reason := super().unfit(data):
            return reason
        return f"cannot choose {self.k} columns of {data.columns}" if self.k > data.columns else ""

    @staticmethod
    def falling(data: Incidence) -> tuple[np.ndarray, np.ndarray]:
        """The columns by descending count, and these counts."""

        def rank() -> tuple[np.ndarray, np.ndarray]:
            order = np.argsort(-data.counts, kind="stable")
            return order, data.counts[order]

        return data.memo("falling counts", rank)


@dataclass(frozen=True, kw_only=True)
class PermuteAndFlip(TopKMechanism, name="pf_peeling"):
    """Permute-and-flip, peeled K times with ε/K each, not of the five papers: the K largest columns in order, no counts.

    Counts move in one direction, so a column's coin is exp(ε/K (c - c_max)) without the factor 2.
    """

    paper = "McKenna, Sheldon: Permute-and-Flip, NeurIPS 2020"
    place = "Algorithm 1, as report-noisy-max with exponential noise (Ding et al., 2021)"
    label, look = "PF peeling", 18
    audited = ({"k": 1}, {"k": 2}, {"k": 3})

    def publish(self, data: Incidence, epsilon: float, noise: Noise) -> TopK:
        top = noise.draw(Peeling(*self.falling(data), int(self.k), self.k / epsilon))
        return TopK(top=top, columns=data.columns, chosen={"k": self.k})


@dataclass(frozen=True, kw_only=True)
class JointTopK(TopKMechanism, name="joint_topk"):
    """The joint exponential mechanism, not of the five papers: one draw of a whole sequence of K columns, no counts.

    A sequence's utility is minus the largest shortfall c_(i) - c_{s_i} of its places, of sensitivity 1.
    """

    paper = "Gillenwater, Joseph, Muñoz Medina, Ribero: A Joint Exponential Mechanism for Top-k, ICML 2022"
    place = "Algorithm 1; equal counts drawn together instead of their tie-breaking"
    label, look = "Joint top-K", 20
    audited = ({"k": 1}, {"k": 2}, {"k": 3})

    def publish(self, data: Incidence, epsilon: float, noise: Noise) -> TopK:
        law = data.memo(("joint", int(self.k), epsilon), lambda: Joint(*self.falling(data), int(self.k), epsilon))
        return TopK(top=noise.draw(law), columns=data.columns, chosen={"k": self.k})
