"""Grouping and smoothing: columns with similar counts share one noisy average (gs, Section 3).

Averaging w columns divides the sensitivity by w, so the noise is small; the price is the distance of each count from
its group's average. `gs_r` groups at random, `gs_s` by a noisy sample of the data, `gs` tunes the group size too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from dpbench.data import ColumnData, Counts
from dpbench.data.last_step import after, laplace_law
from dpbench.data.stages import Stage
from dpbench.errors import UserError, one_of, positive
from dpbench.mechanisms.base import Bounded, Choices
from dpbench.mechanisms.gs._grouping import averages_of, group_sums, spread
from dpbench.mechanisms.gs._sampling import ones_of, row_rate, sample_columns
from dpbench.mechanisms.gs._tuning import best_group_size, estimated_l1
from dpbench.numerics.laplace import mean_abs
from dpbench.numerics.order import ascending
from dpbench.privacy import Budget, Noise

SAMPLING = ("column", "row", "none")
MEANS = ("mean_row", "mean_all")


@dataclass(frozen=True, kw_only=True)
class Grouped(Bounded):
    """What the three mechanisms share."""

    paper = "gs"
    share: ClassVar[float] = 0.5
    """Part of the budget for module M_g, the noisy averages; the rest pays for the sample that makes the groups."""

    def sensitivity(self, data: ColumnData) -> int:
        """Δ₁(Q): at most d, unless a row may hold repeats."""
        delta = super().sensitivity(data)
        return delta if data.repeats else min(delta, data.columns)

    def scale(self, columns: ColumnData, epsilon: float, w: int) -> float:
        """Scale of the noise on averages of at least w columns, whose sensitivity is Δ/w (Lemma 2)."""
        return self.sensitivity(columns) / w / (self.share * epsilon)

    def smoothed(
        self,
        columns: ColumnData,
        order: np.ndarray,
        w: int,
        epsilon: float,
        noise: Noise,
        *,
        sample_size: int | None = None,
        **chosen: float,
    ) -> Counts:
        """Module M_g, the same in all three: noisy averages of runs of w columns along `order` (I of the paper).

        Noise is added to the sums, which are integers, scaled by the size of the group: the same distribution.
        """
        scale = self.scale(columns, epsilon, w)
        sums, sizes = group_sums(columns.counts, order, w)
        noisy = noise.laplace(sums, scale=scale * sizes, step="averages") / sizes
        # The sample only decides the grouping, so its cost is part of the cost of grouping.
        grouped = Stage("grouping", partial(spread, sums / sizes, sizes, order))
        return Counts(
            counts=spread(noisy, sizes, order),
            chosen={"w": w, "groups": columns.columns // w, "scale": scale, **chosen},
            # The number of rows with any 1, or of drawn rows, is exact: it must not be published.
            diagnostics={} if sample_size is None else {"sample_size": sample_size},
            stages=(grouped,),
            last_step=after(laplace_law(scale), grouped),
        )

    def grouping_error(self, columns: ColumnData, epsilon: float, grouping: np.ndarray, w: int | None = None) -> float:
        """Expected mean absolute error of a release, given the group index of each column (`grouping_of` a release).

        w: the group size used. Default: the size of the smallest group, which is right unless there is only one group.
        """
        _, g, sizes = np.unique(grouping, return_inverse=True, return_counts=True)
        off = averages_of(columns.counts, g)[g] - columns.counts
        scale = self.scale(columns, epsilon, int(sizes.min()) if w is None else w)
        return float(mean_abs(off, scale).mean())


def grouping_of(release: Counts) -> np.ndarray:
    """The group index of each column: exactly the columns of one group were published with the same number."""
    return np.unique(release.counts, return_inverse=True)[1]


@dataclass(frozen=True, kw_only=True)
class GSR(Grouped, name="gs_r"):
    """GS-R: groups of Δ columns at random (gs, Figure 2)."""

    place = "Section 3.1, Figure 2"
    share = 1.0
    label, look = "GS-R", 3
    audited = ({"bound": 3}, {"bound": 1}, {})

    def publish_columns(self, columns: ColumnData, epsilon: float, noise: Noise) -> Counts:
        w = min(self.sensitivity(columns), columns.columns)  # Δ₁(Q), Line 1
        order = noise.stream("order").permutation(columns.columns)  # Lines 2-6
        return self.smoothed(columns, order, w, epsilon, noise)  # Lines 7-13


@dataclass(frozen=True, kw_only=True)
class GSS(Grouped, name="gs_s"):
    """GS-S: groups of Δ columns that are neighbours in a noisy sample of the counts (gs, Figure 4).

    Half the budget pays for the sample, half for the averages.
    """

    sampling: str = "column"
    """How D_s is drawn: one 1 of every row (column), a few whole rows (row), or everything under more noise (none)."""

    place = "Section 3.2, Figure 4"
    label, look = "GS-S", 4
    audited = (
        {"bound": 3, "sampling": "column"},
        {"bound": 3, "sampling": "row"},
        {"bound": 3, "sampling": "none"},
        {"bound": 1, "sampling": "row"},
        {},
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("sampling", self.sampling, SAMPLING)

    def publish_columns(self, columns: ColumnData, epsilon: float, noise: Noise) -> Counts:
        delta = self.sensitivity(columns)  # Δ₁(Q)
        w = min(delta, columns.columns)
        t_s, sample_size = noisy_sample(columns, self.sampling, delta, epsilon, noise)  # Lines 1-5
        order, _ = rising(t_s, noise)  # Lines 6-8
        return self.smoothed(columns, order, w, epsilon, noise, sample_size=sample_size)  # Lines 9-11


@dataclass(frozen=True, kw_only=True)
class GS(Grouped, name="gs"):
    """GS: as GS-S, with the group size of the smallest error predicted from the noisy sample (gs, Figure 6)."""

    sampling: str = "column"
    """How D_s is drawn: see `gs_s`."""
    w: int | str = "auto"
    """Group size; "auto": tuned as the paper does, a number: that one (Figure 8)."""
    scale_up: float | str = "delta"
    """The factor that scales the sample up to an estimate of the counts when w is tuned: "delta", as in the pseudocode; a
    number, a declared typical row size; "mean_row", the observed mean over non-empty rows, the only ones in the sample;
    "mean_all", the mean over all rows. Δ is an overestimate if rows hold fewer than Δ ones, so w comes out too small."""

    place = "Section 3.3, Figure 6"
    kinds = ("incidence", "records")
    reconstructed = 'c̃ = t_s with sampling="none": the text scales a sample up by Δ, and all of D is no sample'
    label, look = "GS", 2
    audited: ClassVar[Choices] = (
        {"bound": 3, "sampling": "column"},
        {"bound": 3, "sampling": "row"},
        {"bound": 3, "sampling": "none"},
        {"bound": 2, "w": 1},
        {"bound": 3, "scale_up": 1.5},
        {"bound": 3, "scale_up": "mean_row"},
        {},
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("sampling", self.sampling, SAMPLING)
        if isinstance(self.w, str) and self.w != "auto":
            raise UserError(f"w={self.w!r} is not valid: expected 'auto' or a positive whole number")
        if self.w != "auto":
            positive("w", self.w, whole=True)
        if isinstance(self.scale_up, str):
            one_of("scale_up", self.scale_up, ("delta", *MEANS))
        else:
            positive("scale_up", self.scale_up)

    def not_private(self) -> str:
        looks = "the mean row looks at the data: give `scale_up` a number" if self.scale_up in MEANS else ""
        return "; ".join(filter(None, [super().not_private(), looks]))

    def unfit(self, data: Any) -> str:
        if reason := super().unfit(data):
            return reason
        if self.w != "auto" and int(self.w) > data.columns:
            return f"w={self.w} is above the number of columns {data.columns}"
        return ""

    def publish_columns(self, columns: ColumnData, epsilon: float, noise: Noise) -> Counts:
        delta = self.sensitivity(columns)  # Δ₁(Q)
        t_s, sample_size = noisy_sample(columns, self.sampling, delta, epsilon, noise)  # Lines 1-2
        order, sorted_sample = rising(t_s, noise)  # Line 3
        estimate = sorted_sample * self._factor(columns, delta)  # c̃, sorted; Line 4
        w, l1 = self._tune(estimate, self.scale(columns, epsilon, 1), noise.stream("tuning"))  # Lines 5-11
        # The predicted L1 is made from the noisy sample only, so the guarantee covers it, like w.
        return self.smoothed(columns, order, w, epsilon, noise, sample_size=sample_size, estimated_l1=l1)  # Lines 12-16

    def _factor(self, columns: ColumnData, delta: int) -> float:
        """The factor for t_s. Without sampling, t_s itself estimates the counts."""
        if self.sampling == "none":
            return 1.0
        if self.scale_up in MEANS:
            rows = filled_rows(columns) if self.scale_up == "mean_row" else columns.rows
            return max(1.0, columns.ones / max(1, rows))
        return float(delta if self.scale_up == "delta" else self.scale_up)

    def _tune(self, estimate: np.ndarray, scale: float, rng: np.random.Generator) -> tuple[int, float]:
        """w* = argmin_w L1(c̃, t_w) and that L1, or the fixed w and its L1."""
        if self.w != "auto":
            return int(self.w), estimated_l1(estimate, int(self.w), scale, rng)
        return best_group_size(estimate, scale, rng)


def filled_rows(columns: ColumnData) -> int:
    """Number of non-empty rows, from which the column sample takes its ones."""
    return columns.memo("filled_rows", lambda: int(np.count_nonzero(columns.row_sizes)))


def rising(t_s: np.ndarray, noise: Noise) -> tuple[np.ndarray, np.ndarray]:
    """The columns by ascending noisy sample, and that sample, sorted. Exact noise is integer, so there may be ties, which are
    broken at random: the columns' own order may reveal more than the sample does."""
    if noise.form != "exact":
        return ascending(t_s)
    lot = noise.stream("equal").permutation(t_s.size)
    order, values = ascending(t_s[lot].astype(np.float64))
    return lot[order], values


@dataclass(frozen=True, kw_only=True)
class GSMean(GS, name="gs_mean"):
    """GS with its sample scaled up by the mean non-empty row, not by Δ (`scale_up`): close to the paper's numbers on Netflix.

    The factor in the authors' code is not known. The mean row looks at the data; `gs_private` pays for it.
    """

    preset_of = GS
    label, look = "GS (mean row)", 10
    audited = ({"bound": 3}, {"bound": 3, "sampling": "row"}, {})
    scale_up: float | str = "mean_row"


@dataclass(frozen=True, kw_only=True)
class GSPrivate(Grouped, name="gs_private"):
    """GS with its sample scaled up by a private mean of the non-empty rows: what `gs_mean` does, for a small price.

    A noisy total of all ones (one row moves it by Δ) over a noisy number of non-empty rows (moved by 1), cut to 1..Δ; the
    rest of the budget goes to GS. It costs little where ε times the total is far above 100 Δ.
    """

    sampling: str = "column"
    """How D_s is drawn: see `gs_s`. Without sampling, nothing is scaled up."""
    mean_share: float = 0.02
    """Part of the budget for the mean row: nine tenths of it for the total, one tenth for the number of rows."""

    place = "Section 3.3, Figure 6, Line 4"
    kinds = ("incidence", "records")
    reconstructed = "what the sample is multiplied by: a mean row under noise of its own"
    label, look = "GS (private mean)", 19
    audited = ({"bound": 3}, {"bound": 3, "sampling": "row"}, {"bound": 1, "mean_share": 0.5}, {})

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("sampling", self.sampling, ("column", "row"))
        positive("mean_share", self.mean_share)
        if self.mean_share >= 1:
            raise UserError(f"mean_share={self.mean_share!r} is not valid: expected a number between 0 and 1")

    def scale(self, columns: ColumnData, epsilon: float, w: int) -> float:
        return super().scale(columns, (1 - self.mean_share) * epsilon, w)

    def publish_columns(self, columns: ColumnData, epsilon: float, noise: Noise) -> Counts:
        budget, delta = Budget(epsilon), self.sensitivity(columns)
        total = noise.laplace(columns.ones, scale=delta / budget.take(0.9 * self.mean_share), step="total")
        rows = noise.laplace(filled_rows(columns), scale=1 / budget.take(0.1 * self.mean_share), step="rows with ones")
        mean_row = min(float(delta), max(1.0, float(total) / max(1.0, float(rows))))
        release = GS(bound=self.bound, sampling=self.sampling, scale_up=mean_row).publish_columns(
            columns, budget.rest(), noise
        )
        return replace(release, chosen={**release.chosen, "mean_row": mean_row})


def noisy_sample(
    columns: ColumnData, sampling: str, delta: int, epsilon: float, noise: Noise
) -> tuple[np.ndarray, int]:
    """Submodule M_s under ε/2: t_s = Q(D_s) + ⟨Lap⟩^d and the number of ones in D_s (gs, Figure 4, Lines 1-5).

    An empty row contributes nothing to the column sample. Without sampling c_s = c, which needs noise Lap(2Δ/ε).
    """
    if sampling == "none":
        return noise.laplace(columns.counts, scale=2 * delta / epsilon, step="sample"), columns.ones
    if sampling == "row":
        rows = noise.rows(columns.rows, rate=row_rate(epsilon, delta))
        d_s = ones_of(columns.indptr, columns.indices, rows)
    else:
        d_s = sample_columns(columns.indptr, columns.indices, noise.stream("columns"))
    c_s = np.bincount(d_s, minlength=columns.columns)
    return noise.laplace(c_s, scale=2 / epsilon, step="sample"), d_s.size
