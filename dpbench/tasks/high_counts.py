"""Errors of the columns with the highest counts, separate from all others: for what sensitivity, Section 3.2, says about ALPA."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpbench.data import Counts, Incidence
from dpbench.errors import UserError, positive
from dpbench.model.metric import Metric
from dpbench.tasks._expected import expected_errors, known, last_step_of
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
        most, order = self._most(data), self._order(data)
        others = size[order[most:]]
        return {
            "mae_high": float(size[order[:most]].mean()),
            "mae_others": float(others.mean()) if others.size else 0.0,
        }

    def expected(self, data: Incidence, release: Counts, rng: np.random.Generator) -> dict[str, float]:
        most = self._most(data)
        errors = expected_errors(data, last_step_of(release), data.counts, self._highest(data), ("high", most))
        if errors is None:
            return {}
        rest = max(1, data.columns - most)
        return known({"mae_high": errors.weighted / most, "mae_others": (errors.absolute - errors.weighted) / rest})

    def _most(self, data: Incidence) -> int:
        return max(1, int(self.top * data.columns))

    def _order(self, data: Incidence) -> np.ndarray:
        return data.memo("columns by count", lambda: np.argsort(-data.counts, kind="stable"))

    def _highest(self, data: Incidence) -> np.ndarray:
        """1 for the columns with the highest counts, 0 for all others."""

        def mark() -> np.ndarray:
            marked = np.zeros(data.columns)
            marked[self._order(data)[: self._most(data)]] = 1.0
            return marked

        return data.memo(("highest", self._most(data)), mark)
