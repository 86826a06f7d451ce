"""The distribution of records and of samples of them: Figures 1 and 11 of analytics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpbench.data import Counts, Records
from dpbench.errors import positive
from dpbench.model.metric import Metric
from dpbench.tasks.base import Task


@dataclass(frozen=True, kw_only=True)
class ContextShares(Task, name="context_shares"):
    """How records spread over the contexts, such as days of the week: in the data, in the sample, as published.

    No mechanism publishes the shares of its sample: only `released_share_J` is private.
    """

    few: int = 10
    """Users with fewer records are occasional: the l of analytics."""

    kinds = ("records",)
    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric("raw_share_*", "share of a context in all records", noiseless=True),
        Metric("sample_share_*", "share of a context in the sampled records; in all records where nothing is sampled"),
        Metric("released_share_*", "share of a context in the published edge counts, their sums at least 0"),
        Metric("occasional", "share of the users who have fewer than `few` records", noiseless=True),
    )

    def __post_init__(self) -> None:
        positive("few", self.few, whole=True)

    def score(self, data: Records, release: Counts, rng: np.random.Generator) -> dict[str, float]:
        raw = data.memo("context_counts", lambda: data.edges.sum(axis=0))
        sample = release.sample
        by_origin = {"raw": raw, "sample": raw if sample is None or sample.contexts is None else sample.contexts}
        if release.edges is not None:
            by_origin["released"] = np.maximum(release.edges.sum(axis=0), 0.0)
        shares = {
            f"{what}_share_{j}": float(share)
            for what, counts in by_origin.items()
            for j, share in enumerate(np.asarray(counts) / max(1, np.sum(counts)))
        }
        return shares | {"occasional": data.memo(("occasional", self.few), lambda: self._occasional(data))}

    def _occasional(self, data: Records) -> float:
        return float(np.mean(data.user_sizes < self.few)) if data.users else 0.0


@dataclass(frozen=True, kw_only=True)
class UserSizes(Task, name="user_sizes"):
    """How many users have at least so many records, independent of the release: use a cheap mechanism and one trial."""

    bins: int = 34
    """Equal steps up to the largest user; at Netflix's 17000 records a step is 500."""

    kinds = ("records",)
    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric("at_least_*", "number of users with that many records or more", noiseless=True),
    )

    def __post_init__(self) -> None:
        positive("bins", self.bins, whole=True)

    def score(self, data: Records, release: Counts, rng: np.random.Generator) -> dict[str, float]:
        sizes = np.sort(data.user_sizes)
        edges = np.unique(np.linspace(0, data.largest_user, int(self.bins) + 1).astype(np.int64))
        return {f"at_least_{k}": float(sizes.size - np.searchsorted(sizes, k, "left")) for k in edges}
