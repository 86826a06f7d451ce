"""DPSense-S: limit every row to θ ones and scale the counts by α, both chosen privately (sensitivity, Algorithm 2).

Only a page and a half of the paper is available to us; `reconstructed` says what we filled in.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpbench.data import ColumnData, Counts
from dpbench.errors import UserError, positive
from dpbench.mechanisms.sensitivity._control import NEGLIGIBLE, SensitivityControl
from dpbench.mechanisms.sensitivity._limits import scaled_truncation
from dpbench.numerics.exponential import probabilities
from dpbench.privacy import Noise


@dataclass(frozen=True, kw_only=True)
class DPSenseS(SensitivityControl, name="dpsense_s"):
    """DPSense-S: θ and a scale α together by the exponential mechanism, then α (Q(D|θ) + ⟨Lap(θ/ε_p)⟩^d).

    q_s(D, θ, α) = -(mean_j |c_j - α c_j^θ| + α θ/ε_p) does not move in one direction, hence exp(ε_c q_s / 2Δq). Adding
    a row moves |c_j - α c_j^θ| by at most max(1, α-1), and in no more columns than the row has ones. The bound that `tight`
    derives from this holds only for rows within `bound`, so data with larger rows is then refused.
    """

    paper, place = "sensitivity", "Section 4.3, Algorithm 2"
    reconstructed = "the quality function, its sensitivity, the candidates for θ and α, the even split of the budget"
    label, look = "DPSense-S", 9
    audited = (
        {"bound": 3, "alphas": 3},
        {"bound": 60, "alphas": 2},  # the same
        {"bound": 3, "alphas": 2, "limit": "sample", "tight": True},
        {"bound": 2, "alphas": 4, "alpha_max": 4.0, "tight": True},
        {"alphas": 2},
    )

    def inexact(self) -> str:
        return "q_s is a sum of many rounded numbers, and no sensitivity covers the rounding error"

    alphas: int = 11
    """Number of candidates for α, evenly spaced from 1 to `alpha_max`."""
    alpha_max: float = 2.0
    """The largest candidate for α."""

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("alphas", self.alphas, whole=True)
        if self.alpha_max < 1:
            raise UserError(f"alpha_max={self.alpha_max!r} is not valid: expected a number of at least 1")

    def unfit(self, data: Any) -> str:
        if reason := super().unfit(data):
            return reason
        if self.tight and self.bound is not None and data.largest_row > self.bound:
            row = f"bound={self.bound} is below the largest row {data.largest_row}"
            return f"{row}: the tight sensitivity of the choice would not cover it"
        return ""

    def grid(self, data: ColumnData) -> tuple[np.ndarray, np.ndarray]:
        """The candidates for θ and for α, both ascending."""
        thetas = np.arange(1, self.sensitivity(data) + 1)
        return thetas, np.linspace(1.0, float(self.alpha_max), int(self.alphas))

    def quality(self, data: ColumnData, epsilon: float) -> np.ndarray:
        """q_s(D, θ, α, ε_p), one row per θ and one column per α of `grid`."""
        _, eps_p = self.split(epsilon)
        thetas, alphas = self.grid(data)

        def truncation() -> np.ndarray:
            by_size = np.argsort(data.row_sizes, kind="stable")[::-1]
            # From the largest row on, nothing is cut, whatever the declared bound is.
            cut = thetas[: max(1, data.largest_row)]
            table = scaled_truncation(data.indptr, data.indices, data.counts, by_size, cut, alphas)
            return np.vstack([table, np.tile(table[-1], (thetas.size - cut.size, 1))])

        key = ("scaled_truncation", thetas.size, alphas.size, float(alphas[-1]))
        return -(data.memo(key, truncation) + np.outer(thetas, alphas) / eps_p)

    def quality_sensitivity(self, data: ColumnData) -> float:
        return max(1.0, self.alpha_max - 1) * (self.sensitivity(data) / data.columns if self.tight else 1.0)

    def scores(self, data: ColumnData, epsilon: float) -> np.ndarray:
        """The exponent of the exponential mechanism for each pair: ε_c q_s / 2Δq."""
        eps_c, _ = self.split(epsilon)
        return eps_c * self.quality(data, epsilon) / (2 * self.quality_sensitivity(data))

    def publish_columns(self, columns: ColumnData, epsilon: float, noise: Noise) -> Counts:
        eps_c, eps_p = self.split(epsilon)
        thetas, alphas = self.grid(columns)
        quality, delta_q = self.quality(columns, epsilon), self.quality_sensitivity(columns)
        pair = noise.choose(quality, epsilon=eps_c, sensitivity=delta_q, monotone=False)
        theta, alpha = int(thetas[pair // alphas.size]), float(alphas[pair % alphas.size])
        limited = self.limited(columns, theta, noise)
        counts = noise.laplace(limited, scale=theta / eps_p, parts=self.parts)
        counts *= alpha
        stages = self.stages(columns, theta, alpha, limited)
        return Counts(
            counts=counts,
            chosen={"theta": theta, "alpha": alpha},
            stages=stages,
            last_step=self.last_step(columns, epsilon, theta, alpha, stages[-1]),
        )

    def choices(self, data: ColumnData, epsilon: float) -> Iterator[tuple[float, int, float]]:
        thetas, alphas = self.grid(data)
        chances = probabilities(self.scores(data, epsilon).ravel())
        for pair in np.flatnonzero(chances > NEGLIGIBLE):
            yield float(chances[pair]), int(thetas[pair // alphas.size]), float(alphas[pair % alphas.size])
