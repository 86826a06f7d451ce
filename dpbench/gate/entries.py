"""The result of a comparison: one entry per column of a cell, and one per column of a mechanism if something moved.

The types that the comparisons produce and that the verb, JUnit, Markdown and JSON show.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dpbench.model.metric import Metric
from dpbench.storage.frame import CHOSEN, DIAGNOSTIC, EXPECTED

SAME, CHANGED, BETTER, WORSE, NEW, GONE = "same", "changed", "better", "worse", "new", "gone"
ORDER = (WORSE, GONE, BETTER, CHANGED, NEW, SAME)
MIN_EFFECT = 0.05
"""Smallest relative move of a mean that counts as worse or better; a smaller one is a change."""

UNKNOWN = Metric("", "a metric of a task that declares none")
MetricLookup = Callable[[str, str], Metric | None]
"""The metric of a task by its name; None if the task does not declare it."""


def metric_of(metrics_of: MetricLookup, task: str, column: str) -> Metric:
    """The metric of a column, also of its expectation. Chosen parameters and diagnostics are not metrics, whatever name families
    a task declares."""
    if column.startswith((CHOSEN, DIAGNOSTIC)):
        return UNKNOWN
    return metrics_of(task, column.removeprefix(EXPECTED)) or UNKNOWN


def metrics_of_tasks() -> MetricLookup:
    """The metrics that the tasks declare."""
    from dpbench.tasks.base import TASKS

    def declared(task: str, metric: str) -> Metric | None:
        declared = getattr(TASKS.get(task), "metric", None)  # a user's own class may declare no metrics
        return declared(metric) if callable(declared) else None

    return declared


@dataclass
class ColumnResult:
    """One column of one cell, or of several cells of a mechanism (`cells` of them)."""

    experiment: str
    mechanism: str
    metric: str
    labels: Mapping[str, Any]
    status: str
    cells: int = 1
    old: float = math.nan
    new: float = math.nan
    effect: float = 0.0
    """Relative move, positive if it is an improvement."""
    p: float = 1.0
    note: str = ""

    @property
    def group(self) -> tuple[str, str, str, str]:
        """The key that the cells of its mechanism share: they are also judged together."""
        return self.experiment, self.mechanism, str(self.labels.get("task", "")), self.metric

    def decide(self) -> None:
        """Set the status of a move that is certain: better or worse if the metric has a direction and moved far enough."""
        self.status = CHANGED
        if abs(self.effect) >= MIN_EFFECT:
            self.status = BETTER if self.effect > 0 else WORSE


@dataclass
class UtilityComparison:
    """Everything that was compared."""

    entries: list[ColumnResult] = field(default_factory=list)
    """One per column of a cell, and one for a cell that is new or gone."""
    groups: list[ColumnResult] = field(default_factory=list)
    """One per column of a mechanism, of a figure or of the data, if something moved."""
    compared: int = 0

    def count(self, status: str) -> int:
        return sum(entry.status == status for entry in self.entries)

    @property
    def moved(self) -> set[str]:
        """The statuses that occur besides `same`."""
        return {entry.status for entry in (*self.entries, *self.groups)} - {SAME}


def relative(old: float, new: float) -> float:
    if old == new:
        return 0.0
    return (new - old) / abs(old) if old else math.copysign(math.inf, new)
