"""Sensitivity control: limit every row to θ ones, with θ chosen privately (sensitivity: DPSense and DPSense-S).

Only a page and a half of the paper is available to us; `reconstructed` says what we filled in.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np

from dpbench.data import ColumnData, Counts
from dpbench.data.last_step import NoiseCase, NoisyCounts, after, laplace_law
from dpbench.data.stages import Stage
from dpbench.errors import UserError, one_of, positive
from dpbench.mechanisms.base import Bounded, Mechanism
from dpbench.mechanisms.sensitivity._anchors import Anchors
from dpbench.mechanisms.sensitivity._limits import (
    PARTS,
    capped_total,
    capped_totals,
    normalised_counts,
    normalised_parts,
    sampled_counts,
    scaled_truncation,
)
from dpbench.numerics.exponential import probabilities
from dpbench.numerics.laplace import mean_abs
from dpbench.privacy import Noise

NEGLIGIBLE = 1e-12
RARELY = 1e-9
"""Outcomes of the choice that are less likely are no part of expected errors: a millionth of a percent of them."""
LATEST = 8
"""Limited counts that are kept, each as large as the counts: trials often choose the same θ."""

Stages = tuple[Stage[np.ndarray], ...]


@dataclass(frozen=True, kw_only=True)
class SensitivityControl(Bounded):
    """What both algorithms share: the split of the budget, and the limiting of rows. Not a mechanism itself.

    `bound` is only the largest candidate for θ; the noise is calibrated to the chosen θ. Larger rows are no reason to refuse
    the data, as they are elsewhere: every row is cut to θ before it is counted. (A refusal would also reveal that there is
    such a row.)
    """

    share: float = 0.5
    """ε_c/ε, the part of the budget that chooses θ; the rest, ε_p, publishes the counts."""
    limit: str = "normalise"
    """How D|θ limits a row larger than θ: "normalise" scales it by θ/RC, "sample" keeps θ of its ones."""
    tight: bool = False
    """Divide the quality by its true sensitivity θ_max/d instead of the paper's looser 1."""

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("share", self.share)
        if self.share >= 1:
            raise UserError(f"share={self.share!r} is not valid: expected a number between 0 and 1, both excluded")
        one_of("limit", self.limit, ("normalise", "sample"))

    def unfit(self, data: Any) -> str:
        return Mechanism.unfit(self, data)  # not Bounded's check, which wants every row within the bound

    def not_private(self) -> str:
        observed = "the candidates for θ end at the largest observed row, which looks at the data: declare `bound`"
        return observed if self.bound is None else ""

    def split(self, epsilon: float) -> tuple[float, float]:
        """ε_c and ε_p."""
        return self.share * epsilon, (1 - self.share) * epsilon

    def limited(self, data: ColumnData, theta: float, noise: Noise) -> np.ndarray:
        """Q(D|θ), the column counts after every row is limited to θ."""
        if self.limit == "sample":
            # Even if nothing is cut, so that items and edges always have separate streams.
            return sampled_counts(data.indptr, data.indices, data.counts, theta, noise.stream("limit"))
        if theta >= data.largest_row:
            return data.counts.astype(np.float64)
        if noise.form == "exact":
            return normalised_parts(data.indptr, data.indices, data.counts, theta)
        return _normalised(data)(theta)

    @property
    def parts(self) -> int:
        """Limited counts are whole numbers divided by this, for exact noise."""
        return PARTS if self.limit == "normalise" else 1

    def stages(self, columns: ColumnData, theta: float, alpha: float, limited: np.ndarray) -> Stages:
        """Bounding: rows scaled down to θ, and α times their counts. If θ ones are drawn instead, each is kept with
        probability θ/RC: the scaled counts are the expected ones, and the draw's deviation from them is sampling."""
        counts = Stage("bounding" if self.limit == "normalise" else "sampling", partial(np.multiply, alpha, limited))
        if self.limit == "normalise":
            return (counts,)
        return (Stage("bounding", partial(_scaled, columns, theta, alpha)), counts)

    def last_step(
        self, columns: ColumnData, epsilon: float, theta: float, alpha: float, counts: Stage[np.ndarray]
    ) -> NoisyCounts:
        """α (c^θ + Lap(θ/ε_p)), and what takes out the chance of the choice of θ and α: see `_anchors`."""
        _, eps_p = self.split(epsilon)
        anchors = columns.memo(("anchors", self, epsilon), lambda: self._anchors(columns, epsilon))
        weights, cases = dict(anchors.means), list[NoiseCase]()
        if (
            self.limit == "sample" or (theta, alpha) not in weights
        ):  # otherwise the release itself is an anchor, and cancels
            cases += after(laplace_law(alpha * theta / eps_p), counts).cases
            for anchor, share in anchors.shares(theta, alpha).items():
                weights[anchor] = weights.get(anchor, 0.0) - share
        for (at, scale), weight in weights.items():
            law, before = laplace_law(scale * at / eps_p), partial(_scaled, columns, at, scale)
            cases.append(NoiseCase(law, before, weight, ("limited", at, scale, eps_p)))
        return NoisyCounts(tuple(cases))

    def _anchors(self, columns: ColumnData, epsilon: float) -> Anchors:
        likely = [outcome for outcome in self.choices(columns, epsilon) if outcome[0] > RARELY]
        whole = sum(chance for chance, _, _ in likely)
        return Anchors.of([(chance / whole, theta, alpha) for chance, theta, alpha in likely])

    def quality_sensitivity(self, data: ColumnData) -> float:
        """Δq: the most by which one row moves the quality of an outcome."""
        raise NotImplementedError

    def choices(self, data: ColumnData, epsilon: float) -> Iterator[tuple[float, float, float]]:
        """(probability, θ, α) of every outcome of the private choice that is not negligible."""
        raise NotImplementedError

    def columns_error(self, data: ColumnData, epsilon: float) -> float:
        """The mean over (θ, α) of E|α (c^θ + Lap(θ/ε_p)) - c|, with one pass over the data for
        every likely θ. Sampled rows have no closed form: nan."""
        if self.limit == "sample":
            return math.nan
        _, eps_p = self.split(epsilon)
        total, theta_before = 0.0, 0.0
        for probability, theta, alpha in self.choices(data, epsilon):
            if theta != theta_before:
                limited = normalised_counts(data.indptr, data.indices, data.counts, theta)
                theta_before = theta
            error = mean_abs(alpha * limited - data.counts, alpha * theta / eps_p)
            total += probability * float(error.mean())
        return total


def _normalised(columns: ColumnData) -> Callable[[float], np.ndarray]:
    """`normalised_counts` of these data for any θ; the latest ones are kept."""
    compute = partial(normalised_counts, columns.indptr, columns.indices, columns.counts)
    return columns.memo("normalised counts", lambda: lru_cache(maxsize=LATEST)(compute))


def _scaled(columns: ColumnData, theta: float, alpha: float) -> np.ndarray:
    return alpha * _normalised(columns)(theta)


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
