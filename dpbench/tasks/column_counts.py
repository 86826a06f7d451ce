"""Column counts: the errors of gs, Section 5."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpbench.data import Counts, Incidence, Records, Release, TopK
from dpbench.errors import positive
from dpbench.model.metric import Metric
from dpbench.tasks._expected import expected_errors, known, last_step_of
from dpbench.tasks._split import SHARES, count_shares
from dpbench.tasks.base import Task, once


def published(release: Release, columns: int) -> np.ndarray:
    """The published counts, one finite number per column. Anything else fails the trial."""
    if isinstance(release, TopK):
        raise TypeError("the release only says which columns are the largest: use the task leaderboard")
    counts = getattr(release, "counts", None)
    if counts is None:
        raise TypeError(f"the release is {type(release).__name__}, expected Counts")
    if counts.shape != (columns,):
        raise ValueError(f"the release has counts of shape {counts.shape}, expected ({columns},)")
    if not np.isfinite(counts).all():
        raise ValueError("the release has counts that are not finite")
    return counts


@dataclass(frozen=True, kw_only=True)
class ColumnCounts(Task, name="column_counts"):
    """How far each published count is from the true one."""

    sanity: float = 0.001
    """Sanity bound of the relative error, as a fraction of the number of rows (gs, Section 5)."""

    kinds: ClassVar[tuple[str, ...]] = ("incidence", "records")  # for records, the item counts
    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric("mae", "mean absolute error", "lower"),
        Metric("mre", "mean relative error, the count at least the sanity bound", "lower"),
        Metric("mse", "mean squared error", "lower"),
        Metric("l1", "sum of absolute errors", "lower"),
        Metric("signed", "mean signed error", beside="mae"),
        *SHARES,
    )

    def __post_init__(self) -> None:
        positive("sanity", self.sanity)

    def score(self, data: Incidence | Records, release: Counts, rng: np.random.Generator) -> dict[str, float]:
        error = once(self.errors, data, release)
        size = np.abs(error)
        l1 = float(size.sum())
        return {
            "mae": l1 / data.columns,
            "mre": float(np.dot(size, self._inverse_counts(data))) / data.columns,
            "mse": float(np.dot(error, error)) / data.columns,
            "l1": l1,
            "signed": float(error.mean()),
            **count_shares(data.counts, error, release),
        }

    def expected(self, data: Incidence | Records, release: Counts, rng: np.random.Generator) -> dict[str, float]:
        errors = expected_errors(data, last_step_of(release), data.counts, self._inverse_counts(data), self.sanity)
        if errors is None:
            return {}
        d = data.columns
        return known(
            {"mae": errors.absolute / d, "mre": errors.weighted / d, "mse": errors.squared / d, "l1": errors.absolute}
        )

    def errors(self, data: Incidence | Records, release: Counts) -> np.ndarray:
        return published(release, data.columns) - data.counts

    def _inverse_counts(self, data: Incidence | Records) -> np.ndarray:
        bound = self.sanity * data.item_columns().rows
        return data.memo(("inverse_counts", bound), lambda: 1.0 / np.maximum(data.counts, bound))
