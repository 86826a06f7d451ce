"""Errors of the columns with the highest counts, separate from all others: for what sensitivity, Section 3.2, says about ALPA."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpbench.data import Counts, Incidence
from dpbench.errors import UserError, positive
from dpbench.model.metric import Metric
from dpbench.tasks.base import Task
from dpbench.tasks.column_counts import published


@dataclass(frozen=True, kw_only=True)
class HighCounts(Task, name="high_counts"):
    """The mean absolute error of the highest counts and that of the others."""

    top: float = 0.01
    """The share of the columns that count as highest; at least one column."""

    kinds = ("incidence",)
    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric("mae_high", "mean absolute error of the columns with the highest counts", "lower"),
        Metric("mae_others", "mean absolute error of all other columns", "lower"),
    )

    def __post_init__(self) -> None:
        positive("top", self.top)
        if self.top >= 1:
            raise UserError(f"top={self.top!r} is not valid: expected a share below 1")

    def score(self, data: Incidence, release: Counts, rng: np.random.Generator) -> dict[str, float]:
        size = np.abs(published(release, data.columns) - data.counts)
        most = max(1, int(self.top * data.columns))
        order = data.memo("columns by count", lambda: np.argsort(-data.counts, kind="stable"))
        others = size[order[most:]]
        return {
            "mae_high": float(size[order[:most]].mean()),
            "mae_others": float(others.mean()) if others.size else 0.0,
        }
