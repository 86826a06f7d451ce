"""Item and edge counts of records: the three errors of analytics, Section 6.3, and the sample's size (Figure 10)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpbench.data import Counts, Data, Incidence, Records, Sample
from dpbench.errors import UserError, positive
from dpbench.model.metric import Metric
from dpbench.numerics.sample_error import optimal_l
from dpbench.tasks._comparison import distribution, kl_divergence, precision_at, top_thresholds
from dpbench.tasks._expected import expected_errors, last_step_of
from dpbench.tasks._split import SHARES, count_shares
from dpbench.tasks.base import Task, once

KS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


@dataclass(frozen=True, kw_only=True)
class RecordAnalytics(Task, name="record_analytics"):
    """How far the published item and edge counts are from the true ones, as numbers, distribution and ranking.

    Metrics of the edge counts have the same names after `edge_`; their precision is the mean over the contexts. An item
    as frequent as the true K-th one counts as right. A K above the number of items is left out. Binary data have no
    contexts, hence no edges.
    """

    ks: tuple[int, ...] = KS
    """Lengths K of the top lists."""
    floor: float = 0.01
    """Replaces counts of zero or less before the KL divergence."""

    kinds = ("records", "incidence")
    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric("mse", "mean squared error of the item counts", "lower"),
        Metric("edge_mse", "mean squared error of the edge counts", "lower"),
        Metric("kl", "KL divergence of the released item distribution from the true one", "lower"),
        Metric("edge_kl", "KL divergence of the released edge distribution from the true one", "lower"),
        Metric("kl_reverse", "KL divergence of the true item distribution from the released one", "lower"),
        Metric("edge_kl_reverse", "KL divergence of the true edge distribution from the released one", "lower"),
        Metric(
            "precision_at_*", "share of the released top K items that belong to the true top K", "higher", largest=1
        ),
        Metric(
            "edge_precision_at_*",
            "the same for the top K items of a context, averaged over the contexts",
            "higher",
            largest=1,
        ),
        Metric("optimal_l", "Equation 22's l for the item counts, where the release is made from a sample"),
        Metric("edge_optimal_l", "Equation 22's l for the edge counts, where the release is made from a sample"),
        Metric("reduction", "records that the published counts were taken from, as a share of all"),
        *SHARES,
    )

    def __post_init__(self) -> None:
        positive("floor", self.floor)
        object.__setattr__(self, "ks", tuple(self.ks) if isinstance(self.ks, tuple | list) else (self.ks,))
        for k in self.ks:
            positive("ks", k, whole=True)
        if not self.ks:
            raise UserError("ks=() is not valid: expected at least one length of a top list")

    def score(self, data: Records | Incidence, release: Counts, rng: np.random.Generator) -> dict[str, float]:
        scores = self._compare(data, release.counts, data.counts, "")
        records = data.item_columns().ones
        sample = release.sample or Sample(records=records)
        if release.edges is not None and isinstance(data, Records):
            scores |= self._compare(data, release.edges, data.edges, "edge_")
        if isinstance(data, Records) and sample.epsilon_1 is not None and sample.epsilon_2 is not None:
            scores["optimal_l"] = _equation_22(data, data.counts, sample.epsilon_1)
            scores["edge_optimal_l"] = _equation_22(data, data.edges, sample.epsilon_2)
        scores["reduction"] = sample.records / max(1, records)
        return scores | count_shares(data.counts, once(self.errors, data, release), release)

    def expected(self, data: Records | Incidence, release: Counts, rng: np.random.Generator) -> dict[str, float]:
        last = last_step_of(release)
        queries = {"mse": (last, data.counts)}
        if isinstance(data, Records):
            queries["edge_mse"] = (getattr(last, "edges", None), data.edges.reshape(-1))
        found = {
            name: (expected_errors(data, step, truth, key=name), truth.size) for name, (step, truth) in queries.items()
        }
        return {name: errors.squared / size for name, (errors, size) in found.items() if errors is not None}

    def errors(self, data: Records | Incidence, release: Counts) -> np.ndarray:
        return release.counts - data.counts

    def _compare(self, data: Data, released: np.ndarray, counts: np.ndarray, prefix: str) -> dict[str, float]:
        ks = [k for k in self.ks if k <= counts.shape[0]]
        true = data.memo((prefix, "distribution", self.floor), lambda: distribution(counts, self.floor))
        tops = data.memo((prefix, "tops", self.ks), lambda: top_thresholds(counts, ks))
        shown = distribution(released, self.floor)
        error = (released - counts).ravel()
        scores = {
            f"{prefix}mse": float(np.dot(error, error)) / error.size,
            f"{prefix}kl": kl_divergence(shown, true),
            f"{prefix}kl_reverse": kl_divergence(true, shown),
        }
        contexts = [(released, counts, tops)] if counts.ndim == 1 else zip(released.T, counts.T, tops.T, strict=True)
        precision = np.mean([precision_at(r, c, t, ks) for r, c, t in contexts], axis=0)
        return scores | {f"{prefix}precision_at_{k}": float(p) for k, p in zip(ks, precision, strict=True)}


def _equation_22(data: Records, counts: np.ndarray, epsilon: float) -> float:
    total = max(1, data.records)
    compute = lambda: optimal_l(data.users, counts / total, total / max(1, data.users), epsilon)  # noqa: E731
    return data.memo(("equation 22", counts.ndim, epsilon), compute)
