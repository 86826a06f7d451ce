"""The top items by name: for one context, the recommendations of analytics, Table 5; for pairs, the most frequent items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench.data import Counts, Data, Incidence, Records, TopK
from dpbench.errors import UserError, positive
from dpbench.model.metric import Metric
from dpbench.tasks.base import Task

REACHES = (3, 8)
"""How many movies of Table 5's first column are also in the lists of SRA and HPA, in the paper."""


@dataclass(frozen=True, kw_only=True)
class TopItems(Task, name="top_items"):
    """The K items that the edge counts of one context recommend, in the data and as published; without contexts, the item counts.

    Items of the data that are as frequent as the K-th one are listed after it and count as right. Equal counts are in
    the order of the items' numbers. Names are words, not metrics: `raw_1` ... (true) and `top_1` ... (published) are
    stored among the diagnostics, and `raw_count_1` ... holds the true counts.
    """

    context: int = 0
    """Number of the context; MovieLens' first one is men under 25."""
    k: int = 10

    kinds = ("records", "incidence")
    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric(
            "right",
            "published items that are among the true top K, ties for the last place included",
            "higher",
            largest="k",
        ),
        Metric(
            "right_first",
            "published items among the first K of the true list, ties by the items' numbers",
            "higher",
            largest="k",
        ),
        Metric("reaches_*", "1 when at least that many published items are among the first K of the true list, else 0"),
        Metric("listed", "how many items the true top K are, ties for the last place included", noiseless=True),
        Metric("raw_count_*", "number of records of an item of the true top list in this context", noiseless=True),
    )

    def __post_init__(self) -> None:
        positive("k", self.k, whole=True)
        if isinstance(self.context, bool) or not isinstance(self.context, int) or self.context < 0:
            raise UserError(f"context={self.context!r} is not valid: expected the number of a context, 0 or more")

    def unfit(self, data: Data) -> str:
        if reason := super().unfit(data):
            return reason
        contexts = getattr(data, "n_contexts", 1)
        return f"there is no context {self.context}, only 0..{contexts - 1}" if self.context >= contexts else ""

    def score(self, data: Records | Incidence, release: Counts | TopK, rng: np.random.Generator) -> dict[str, Any]:
        counts = self._counts(data)
        raw = data.memo(("top", self.context, self.k), lambda: self._raw(counts))
        top = self._top(data, release, rng)
        first = float(np.isin(top, raw[: self.k]).sum())
        scores: dict[str, Any] = {
            "right": float(np.isin(top, raw).sum()),
            "right_first": first,
            **{f"reaches_{least}": float(first >= least) for least in REACHES},
            "listed": float(raw.size),
        }
        scores |= {f"raw_count_{i}": float(counts[item]) for i, item in enumerate(raw, 1)}
        scores |= {f"raw_{i}": _label(data, item) for i, item in enumerate(raw, 1)}
        scores |= {f"top_{i}": _label(data, item) for i, item in enumerate(top, 1)}
        return scores

    def _counts(self, data: Records | Incidence) -> np.ndarray:
        return data.edges[:, self.context] if isinstance(data, Records) else data.counts

    def _top(self, data: Records | Incidence, release: Counts | TopK, rng: np.random.Generator) -> np.ndarray:
        """The published top K items."""
        if isinstance(release, TopK):
            return release.top[: self.k]
        published = release.edges if isinstance(data, Records) else release.counts
        if published is None:
            raise UserError("top_items needs edge counts, which this mechanism does not publish")
        published = published[:, self.context] if published.ndim == 2 else published
        # Columns with equal published values have no order: their order is random, not by number.
        return np.lexsort((rng.random(published.size), -published))[: self.k]

    def _raw(self, counts: np.ndarray) -> np.ndarray:
        order = np.argsort(-counts, kind="stable")
        return order[: int(np.count_nonzero(counts >= counts[order[min(self.k, order.size) - 1]]))]


def _label(data: Records | Incidence, item: Any) -> str:
    return f"item {int(item)}" if data.item_labels is None else data.item_labels[int(item)]
