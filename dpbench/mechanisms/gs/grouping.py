"""Grouping and smoothing: columns with similar counts share one noisy average (gs, Section 3).

Averaging w columns divides the sensitivity by w, so the noise is small; the price is the distance of each count from
its group's average. `gs_r` groups at random, `gs_s` by a noisy sample of the data, `gs` tunes the group size too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench.data import Counts, Incidence
from dpbench.errors import UserError, one_of, positive
from dpbench.mechanisms.base import Bounded
from dpbench.mechanisms.gs._grouping import averages_of, estimated_l1, smooth, tuning_curve
from dpbench.mechanisms.gs._sampling import ones_of, row_rate, sample_columns, sample_rows
from dpbench.mechanisms.halves import also_records
from dpbench.numerics.laplace import mean_abs

SAMPLING = ("column", "row", "none")


@dataclass(frozen=True, kw_only=True)
class Grouped(Bounded):
    """What the three mechanisms share."""

    paper = "gs"
    share: ClassVar[float] = 0.5
    """Part of the budget for module M_g, the noisy averages; the rest pays for the sample that makes the groups."""

    def sensitivity(self, data: Any) -> int:
        """Δ₁(Q): a row holds at most d ones, unless it may hold repeats."""
        delta = super().sensitivity(data)
        return delta if getattr(data, "repeats", False) else min(delta, data.columns)

    def scale(self, data: Incidence, epsilon: float, w: int) -> float:
        """Scale of the noise on averages of w columns or more, whose sensitivity is Δ/w (Lemma 2)."""
        return self.sensitivity(data) / w / (self.share * epsilon)

    def smoothed(
        self, data: Incidence, order: np.ndarray, w: int, epsilon: float, rng: np.random.Generator, **chosen: float
    ) -> Counts:
        """Module M_g, the same in all three: noisy averages of runs of w columns along `order` (I of the paper)."""
        scale = self.scale(data, epsilon, w)
        t = smooth(data.counts, order, w, scale, rng)
        return Counts(counts=t, info={"w": w, "groups": data.columns // w, "scale": scale, **chosen})

    def expected_error(self, data: Incidence, epsilon: float, grouping: np.ndarray, w: int | None = None) -> float:
        """Expected mean absolute error of a release, given the group index of each column (`grouping_of` a release).

        w: the group size used; by default the smallest group, which it is unless there is only one.
        """
        _, g, sizes = np.unique(grouping, return_inverse=True, return_counts=True)
        off = averages_of(data.counts, g)[g] - data.counts
        scale = self.scale(data, epsilon, int(sizes.min()) if w is None else w)
        return float(mean_abs(off, scale).mean())


def grouping_of(release: Counts) -> np.ndarray:
    """The group index of each column: those of one group were published with the same number, and no others."""
    return np.unique(release.counts, return_inverse=True)[1]


@dataclass(frozen=True, kw_only=True)
class GSR(Grouped, name="gs_r"):
    """GS-R: groups of Δ columns at random (gs, Figure 2)."""

    place = "Section 3.1, Figure 2"
    share = 1.0

    def publish(self, data: Incidence, epsilon: float, rng: np.random.Generator) -> Counts:
        w = min(self.sensitivity(data), data.columns)  # Δ₁(Q), Line 1
        order = rng.permutation(data.columns)  # Lines 2-6
        return self.smoothed(data, order, w, epsilon, rng)  # Lines 7-13


@dataclass(frozen=True, kw_only=True)
class GSS(Grouped, name="gs_s"):
    """GS-S: groups of Δ columns that are neighbours in a noisy sample of the counts (gs, Figure 4).

    Half the budget pays for the sample, half for the averages.
    """

    sampling: str = "column"
    """How D_s is drawn: one 1 of every row (column), a few whole rows (row), or everything under more noise (none)."""

    place = "Section 3.2, Figure 4"

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("sampling", self.sampling, SAMPLING)

    def publish(self, data: Incidence, epsilon: float, rng: np.random.Generator) -> Counts:
        delta = self.sensitivity(data)  # Δ₁(Q)
        w = min(delta, data.columns)
        t_s, sample_size = noisy_sample(data, self.sampling, delta, epsilon, rng)  # Lines 1-5
        order = np.argsort(t_s)  # Lines 6-8
        return self.smoothed(data, order, w, epsilon, rng, sample_size=sample_size)  # Lines 9-11


@also_records
@dataclass(frozen=True, kw_only=True)
class GS(Grouped, name="gs"):
    """GS: as GS-S, with the group size of the smallest error that the noisy sample itself foretells (gs, Figure 6)."""

    sampling: str = "column"
    """How D_s is drawn: see `gs_s`."""
    w: int | str = "auto"
    """Group size; "auto": tuned as the paper does, a number: that one (Figure 8)."""
    scale_up: float | str = "delta"
    """What the sample is multiplied by to estimate the counts when w is tuned: "delta", as the pseudocode has it; a
    number, a declared typical row size; "mean_row", the observed one. Δ overestimates when rows hold fewer than Δ
    ones, so w comes out too small; with the mean row the tuning does what the paper reports of it."""

    place = "Section 3.3, Figure 6"
    reconstructed = 'c̃ = t_s with sampling="none": the text scales a sample up by Δ, and all of D is no sample'

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("sampling", self.sampling, SAMPLING)
        if isinstance(self.w, str) and self.w != "auto":
            raise UserError(f"w={self.w!r} is not valid: expected 'auto' or a positive whole number")
        if self.w != "auto":
            positive("w", self.w, whole=True)
        if isinstance(self.scale_up, str):
            one_of("scale_up", self.scale_up, ("delta", "mean_row"))
        else:
            positive("scale_up", self.scale_up)

    def not_private(self) -> str:
        looks = "the mean row looks at the data: give `scale_up` a number" if self.scale_up == "mean_row" else ""
        return "; ".join(filter(None, [super().not_private(), looks]))

    def unfit(self, data: Any) -> str:
        if reason := super().unfit(data):
            return reason
        d = data.n_items if data.kind == "records" else data.columns
        if self.w != "auto" and int(self.w) > d:
            return f"w={self.w} is above the number of columns {d}"
        return ""

    def publish(self, data: Incidence, epsilon: float, rng: np.random.Generator) -> Counts:
        delta = self.sensitivity(data)  # Δ₁(Q)
        t_s, sample_size = noisy_sample(data, self.sampling, delta, epsilon, rng)  # Lines 1-2
        order = np.argsort(t_s)  # Line 3
        estimate = t_s[order] * self._factor(data, delta)  # c̃, sorted; Line 4
        w, l1 = self._tune(estimate, self.scale(data, epsilon, 1), rng)  # Lines 5-11
        return self.smoothed(data, order, w, epsilon, rng, sample_size=sample_size, estimated_l1=l1)  # Lines 12-16

    def _factor(self, data: Incidence, delta: int) -> float:
        """What t_s is multiplied by. Without sampling it estimates the counts as it is."""
        if self.sampling == "none":
            return 1.0
        if self.scale_up == "mean_row":
            return max(1.0, data.ones / max(1, data.rows))
        return float(delta if self.scale_up == "delta" else self.scale_up)

    def _tune(self, estimate: np.ndarray, scale: float, rng: np.random.Generator) -> tuple[int, float]:
        """w* = argmin_w L1(c̃, t_w) and that L1, or the fixed w and its own."""
        if self.w != "auto":
            return int(self.w), estimated_l1(estimate, int(self.w), scale, rng)
        curve = tuning_curve(estimate, scale, rng)
        best = int(np.argmin(curve))
        return best + 1, float(curve[best])


def noisy_sample(
    data: Incidence, sampling: str, delta: int, epsilon: float, rng: np.random.Generator
) -> tuple[np.ndarray, int]:
    """Submodule M_s under ε/2: t_s = Q(D_s) + ⟨Lap⟩^d and the number of ones in D_s (gs, Figure 4, Lines 1-5).

    An empty row has no 1 to give to the column sample. Without sampling c_s = c, which needs noise Lap(2Δ/ε).
    """
    if sampling == "none":
        return data.counts + rng.laplace(0.0, 2 * delta / epsilon, data.columns), data.ones
    if sampling == "row":
        rows = sample_rows(data.rows, row_rate(epsilon, delta), rng)
        columns = ones_of(data.indptr, data.indices, rows)
    else:
        columns = sample_columns(data.indptr, data.indices, rng)
    c_s = np.bincount(columns, minlength=data.columns)
    return c_s + rng.laplace(0.0, 2 / epsilon, data.columns), columns.size
