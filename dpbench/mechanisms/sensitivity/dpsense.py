"""DPSense: limit every row to θ ones, with θ chosen privately (sensitivity, Algorithm 1).

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
from dpbench.mechanisms.sensitivity._limits import capped_total, capped_totals
from dpbench.numerics.exponential import probabilities
from dpbench.privacy import Noise


@dataclass(frozen=True, kw_only=True)
class DPSense(SensitivityControl, name="dpsense"):
    """DPSense: θ by the exponential mechanism on q(D, θ) = ac(D|θ) - θ/ε_p, then Q(D|θ) + ⟨Lap(θ/ε_p)⟩^d.

    ac(D|θ) = Σ_i min(RC_i, θ) / d, so the histogram of row sizes gives q for every θ at once. q is concave; its best θ
    is the (d/ε_p)-th largest row. Adding a row raises q for all θ, so exp(ε_c q) needs no factor 2.

    θ need not be an integer (`step`), nor the data binary (Section 4.4): for records, RC is a user's number of records, and
    such a row is scaled like any other. It may exceed d, so one row may move the average count by more than Lemma 1's 1.
    """

    paper, place = "sensitivity", "Section 4.2, Algorithm 1"
    kinds = ("incidence", "records")
    reconstructed = "candidates θ = 1..largest row; half of the budget chooses θ; all of Section 4.4"
    label, look = "DPSense", 8
    audited = (
        {"bound": 3},
        {"bound": 60},  # so wide that the choice of θ costs nearly all of its budget
        {"bound": 3, "limit": "sample", "tight": True},
        {"bound": 3, "theta": 2},
        {"bound": 3, "step": 0.25},
        {"theta": 1.5},
        {"theta": 1, "limit": "sample"},
        {"bound": 3, "share": 0.2, "tight": True},
        {},
    )

    theta: float | None = None
    """A fixed threshold that was not chosen by looking at the data: the whole budget then publishes the counts."""
    step: float = 1.0
    """The candidates for θ are the multiples of this, up to the largest row."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("theta", "step"):
            if (value := getattr(self, name)) is not None:
                positive(name, value, whole=self.limit == "sample")
        if self.theta is not None and self.step != 1.0:
            raise UserError(f"step={self.step!r} has no effect together with theta={self.theta!r}")

    def unfit(self, data: Any) -> str:
        if reason := super().unfit(data):
            return reason
        end = "the largest row" if self.bound is None else "the bound"
        if self.theta is not None and self.theta > self.sensitivity(data):
            return f"theta={self.theta} is above {end} {self.sensitivity(data)}: there is nothing to limit"
        if self.step > self.sensitivity(data):
            return f"step={self.step} is above {end} {self.sensitivity(data)}: there is no candidate for θ"
        return ""

    def not_private(self) -> str:
        return super().not_private() if self.theta is None else ""

    def split(self, epsilon: float) -> tuple[float, float]:
        return super().split(epsilon) if self.theta is None else (0.0, epsilon)

    def candidates(self, data: ColumnData) -> np.ndarray:
        """θ = step, 2 step, ... up to θ_max."""
        most = self.sensitivity(data)
        if self.step == 1:
            return np.arange(1, most + 1)
        return self.step * np.arange(1, int(most / self.step * (1 + 1e-12)) + 1)

    def quality(self, data: ColumnData, epsilon: float) -> np.ndarray:
        """q(D, θ, ε_p) of every candidate (equation 3)."""
        _, eps_p = self.split(epsilon)
        thetas = self.candidates(data)

        def total() -> np.ndarray:
            whole = self.step == 1
            return capped_total(data.row_sizes, thetas.size) if whole else capped_totals(data.row_sizes, thetas)

        return data.memo(("capped_total", thetas.size, self.step), total) / data.columns - thetas / eps_p

    def quality_sensitivity(self, data: ColumnData) -> float:
        """1 by Lemma 1, as a binary row has at most d ones; a row with repeats may have more."""
        true = self.sensitivity(data) / data.columns
        return true if self.tight else max(1.0, true) if data.repeats else 1.0

    def scores(self, data: ColumnData, epsilon: float) -> np.ndarray:
        """The exponent of the exponential mechanism for each θ: ε_c q / Δq."""
        eps_c, _ = self.split(epsilon)
        return eps_c * self.quality(data, epsilon) / self.quality_sensitivity(data)

    def publish_columns(self, columns: ColumnData, epsilon: float, noise: Noise) -> Counts:
        eps_c, eps_p = self.split(epsilon)
        thetas, quality = self.candidates(columns), self.quality(columns, epsilon)
        if self.theta is None:
            delta_q = self.quality_sensitivity(columns)
            at = noise.choose(quality, epsilon=eps_c, sensitivity=delta_q, monotone=True)
            theta, expected = thetas[at], quality[at]
        else:
            theta = self.theta
            expected = capped_totals(columns.row_sizes, np.array([theta]))[0] / columns.columns - theta / eps_p
        limited = self.limited(columns, theta, noise)
        counts = noise.laplace(limited, scale=theta / eps_p, parts=self.parts)
        # The error that the quality function predicts for θ, and its best θ: both from the exact quality.
        foretold = {
            "predicted_mae": columns.ones / columns.columns - expected,
            "best_theta": thetas[np.argmax(quality)],
        }
        stages = self.stages(columns, theta, 1.0, limited)
        return Counts(
            counts=counts,
            chosen={"theta": theta, "alpha": 1.0},
            diagnostics=foretold,
            stages=stages,
            last_step=self.last_step(columns, epsilon, theta, 1.0, stages[-1]),
        )

    def choices(self, data: ColumnData, epsilon: float) -> Iterator[tuple[float, float, float]]:
        if self.theta is not None:
            yield 1.0, float(self.theta), 1.0
            return
        chances, thetas = probabilities(self.scores(data, epsilon)), self.candidates(data)
        for at in np.flatnonzero(chances > NEGLIGIBLE):
            yield float(chances[at]), float(thetas[at]), 1.0
