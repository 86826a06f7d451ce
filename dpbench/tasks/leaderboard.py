"""Column counts, scored in all the ways the papers do: as numbers, as a distribution and as a ranking. For comparisons
across papers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpbench.data import Counts, Incidence, TopK
from dpbench.errors import positive
from dpbench.model.metric import Metric
from dpbench.tasks._comparison import distribution, kl_divergence, precision_at, ranking_precision, top_thresholds
from dpbench.tasks.column_counts import ColumnCounts

KS = (10, 100)


@dataclass(frozen=True, kw_only=True)
class Leaderboard(ColumnCounts, name="leaderboard"):
    """The errors of gs beside the KL divergence and the top-K precision of analytics.

    A mechanism that only names the largest columns (`TopK`) has a precision and nothing else. A K above the number of
    columns, or above the length of such a list, is left out. If the list ends before the k that it was asked for, the
    missing places count as wrong.
    """

    floor: float = 0.01
    """Replaces counts of zero or less before the KL divergence."""

    kinds: ClassVar[tuple[str, ...]] = ("incidence",)
    metrics: ClassVar[tuple[Metric, ...]] = (
        *ColumnCounts.metrics,
        Metric("kl", "KL divergence of the released distribution from the true one", "lower"),
        Metric(
            "precision_at_*", "share of the released top K columns that belong to the true top K", "higher", largest=1
        ),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("floor", self.floor)

    def score(self, data: Incidence, release: Counts | TopK, rng: np.random.Generator) -> dict[str, float]:  # type: ignore[override]
        listed = min(_length(release), data.columns) if isinstance(release, TopK) else data.columns
        ks = [k for k in KS if k <= listed]
        tops = data.memo(("tops", tuple(ks)), lambda: top_thresholds(data.counts, ks))
        if isinstance(release, TopK):
            return _precision(ks, ranking_precision(release.top, data.counts, tops, ks))
        scores = _precision(ks, precision_at(release.counts, data.counts, tops, ks))
        true = data.memo(("distribution", self.floor), lambda: distribution(data.counts, self.floor))
        kl = kl_divergence(distribution(release.counts, self.floor), true)
        return {**super().score(data, release, rng), "kl": kl, **scores}

    def expected(self, data: Incidence, release: Counts | TopK, rng: np.random.Generator) -> dict[str, float]:  # type: ignore[override]
        return {} if isinstance(release, TopK) else super().expected(data, release, rng)

    def errors(self, data: Incidence, release: Counts | TopK) -> np.ndarray | None:  # type: ignore[override]
        return None if isinstance(release, TopK) else super().errors(data, release)


def _length(release: TopK) -> int:
    return max(release.top.size, int(release.chosen.get("k", 0)))


def _precision(ks: list[int], shares: np.ndarray) -> dict[str, float]:
    return {f"precision_at_{k}": float(share) for k, share in zip(ks, shares, strict=True)}
