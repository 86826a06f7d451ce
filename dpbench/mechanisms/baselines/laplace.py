"""The trivial baselines: noise on every count, one noisy average for all, and only zeros."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from dpbench.data import ColumnData, Contingency, Counts
from dpbench.data.last_step import after, laplace_law
from dpbench.data.stages import Stage, known
from dpbench.data.summary import Entries
from dpbench.mechanisms.base import Bounded, ColumnMechanism
from dpbench.numerics.laplace import mean_abs
from dpbench.privacy import Noise


@dataclass(frozen=True, kw_only=True)
class LPA(Bounded, name="lpa"):
    """Laplace Perturbation Algorithm: t = c + ⟨Lap(Δ₁(Q)/ε)⟩^d (gs, Theorem 1).

    Its mean absolute error is Δ/ε; the theorem's √2 Δ/ε is the standard deviation.
    """

    paper, place = "gs", "Theorem 1"
    kinds = ("incidence", "records")
    label, look = "LPA", 0
    family = "trivial"
    audited = ({"bound": 3}, {"bound": 1}, {})

    def publish_columns(self, columns: ColumnData, epsilon: float, noise: Noise) -> Counts:
        scale = self.sensitivity(columns) / epsilon
        return Counts(
            counts=noise.laplace(columns.counts, scale=scale),
            chosen={"scale": scale},
            stages=(),
            last_step=after(laplace_law(scale)),
        )

    def columns_error(self, columns: ColumnData, epsilon: float) -> float:
        """Exactly Δ/ε."""
        return self.sensitivity(columns) / epsilon


@dataclass(frozen=True, kw_only=True)
class ALPA(Bounded, name="alpa"):
    """Average LPA: one noisy average count published for every column, sensitivity 1 (sensitivity, Section 3.2).

    A row moves the average by (its ones)/d ≤ 1 whatever its size: `bound`, a parameter of all column-count mechanisms, is
    checked but changes nothing, and omitting it costs no privacy.
    """

    paper, place = "sensitivity", "Section 3.2"
    label, look = "ALPA", 5
    family = "trivial"
    audited = ({}, {"bound": 3})

    def not_private(self) -> str:
        return ""

    def publish_columns(self, columns: ColumnData, epsilon: float, noise: Noise) -> Counts:
        d, average = columns.columns, columns.ones / columns.columns
        noisy = noise.laplace(average, scale=1 / epsilon, parts=d)
        one_group = Stage("grouping", partial(np.full, d, average))
        return Counts(
            counts=np.full(d, noisy),
            chosen={"scale": 1 / epsilon},
            stages=(one_group,),
            last_step=after(laplace_law(1 / epsilon), one_group, same="average"),
        )

    def columns_error(self, columns: ColumnData, epsilon: float) -> float:
        """The mean over columns of E|average - c_j + Lap(1/ε)|."""
        return float(mean_abs(columns.ones / columns.columns - columns.counts, 1 / epsilon).mean())


@dataclass(frozen=True, kw_only=True)
class Zero(ColumnMechanism, name="zero"):
    """Zeros, whatever the data: t = 0. It looks at nothing, so it is private at every ε.

    Its error is the count itself. A mechanism with a larger relative error than `zero` is useless.
    """

    paper, place = "none", "the floor of relative errors"
    kinds = ("incidence", "records", "contingency")
    neighbours = "any two datasets"
    label, look = "Zero", 17
    family = "trivial"

    def publish(self, data: Any, epsilon: float, noise: Noise) -> Counts | Entries:  # type: ignore[override]
        if not isinstance(data, Contingency):
            return super().publish(data, epsilon, noise)
        cells = np.empty(0, dtype=np.int64)
        nothing = Entries(size=data.size, shape=data.shape, cells=cells, weights=np.empty(0), chosen={"entries": 0})
        return replace(nothing, stages=(Stage("dropping", partial(replace, nothing)),))

    def publish_columns(self, columns: ColumnData, epsilon: float, noise: Noise) -> Counts:
        zeros = np.zeros(columns.columns)
        return Counts(counts=zeros, stages=(known("dropping", zeros),))

    def expected_error(self, data: Any, epsilon: float) -> float:
        if not isinstance(data, Contingency):
            return super().expected_error(data, epsilon)
        return data.total / data.size

    def columns_error(self, columns: ColumnData, epsilon: float) -> float:
        """The mean count."""
        return columns.ones / columns.columns
