"""What DPSense and DPSense-S share: the split of the budget, the limiting of rows to θ, and the expected errors.

Used by dpsense.py and dpsense_s.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np

from dpbench.data import ColumnData
from dpbench.data.last_step import NoiseCase, NoisyCounts, after, laplace_law
from dpbench.data.stages import Stage
from dpbench.errors import UserError, one_of, positive
from dpbench.mechanisms.base import Bounded, Mechanism
from dpbench.mechanisms.sensitivity._anchors import Anchors
from dpbench.mechanisms.sensitivity._limits import (
    PARTS,
    normalised_counts,
    normalised_parts,
    sampled_counts,
)
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
