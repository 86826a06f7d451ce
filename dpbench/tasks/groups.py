"""Which columns were published together: what the groups of gs, Section 3.2, reveal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpbench.data import Counts, Data, Incidence
from dpbench.errors import UserError
from dpbench.model.metric import Metric
from dpbench.tasks.base import Task
from dpbench.tasks.column_counts import published


@dataclass(frozen=True, kw_only=True)
class Groups(Task, name="groups"):
    """Whether two columns share one published number. Exactly the columns of one group do."""

    one: int = 0
    other: int = 1
    """Numbers of the two columns, from 0."""

    kinds = ("incidence",)
    metrics: ClassVar[tuple[Metric, ...]] = (Metric("together", "1 when the two columns are in one group, else 0"),)

    def __post_init__(self) -> None:
        for name in ("one", "other"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise UserError(f"{name}={value!r} is not valid: expected the number of a column, 0 or more")

    def unfit(self, data: Data) -> str:
        if reason := super().unfit(data):
            return reason
        columns = getattr(data, "columns", 0)
        return f"there is no column {max(self.one, self.other)}" if max(self.one, self.other) >= columns else ""

    def score(self, data: Incidence, release: Counts, rng: np.random.Generator) -> dict[str, float]:
        counts = published(release, data.columns)
        return {"together": float(counts[self.one] == counts[self.other])}
