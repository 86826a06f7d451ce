"""DAWA with a private first stage: a data-aware partition, then a hierarchy over its buckets."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from dpbench.data import Contingency, Summary
from dpbench.data.stages import Stage
from dpbench.data.summary import Dense
from dpbench.errors import UserError, positive
from dpbench.mechanisms.histograms import _partition as partition
from dpbench.mechanisms.histograms import _tree as tree
from dpbench.mechanisms.histograms.hierarchy import Written
from dpbench.privacy import Budget, Noise


@dataclass(frozen=True, kw_only=True)
class DAWA(Written, name="dawa"):
    """The data- and workload-aware mechanism: buckets of similar counts, found with ε₁, whose totals are published with ε₂.

    Li, Hay, Miklau, Wang: A Data- and Workload-Aware Algorithm for Range Queries under Differential Privacy, PVLDB 7(5),
    2014. Noise is added to the cost of every bucket, single cells too, as privacy requires; the second stage is the hierarchy of
    hb over the buckets' totals, good for all ranges, while the paper adapts one to a given set of them.
    """

    share: float = 0.25
    """ε₁/ε, the part of the budget for the partition."""

    paper = "Li, Hay, Miklau, Wang: A Data- and Workload-Aware Algorithm for Range Queries under DP, PVLDB 2014"
    place = "private partition, then totals of its buckets"
    reconstructed = "noise on all buckets (the public code has none on single cells); hb's tree in place of GreedyH"

    fits = 2**20
    label, look = "DAWA", 12
    audited = ({}, {"share": 0.5})

    def __post_init__(self) -> None:
        positive("share", self.share)
        if self.share >= 1:
            raise UserError(f"share={self.share!r} is not valid: expected a number between 0 and 1, both excluded")

    def publish(self, data: Contingency, epsilon: float, noise: Noise) -> Dense:
        budget = Budget(epsilon)
        epsilon_1, epsilon_2 = budget.take(self.share), budget.rest()
        x = self.line(data)
        # Stage 1: the buckets B that make Σ_b (Σ_{i in b} |x_i - mean_b| + 1/ε₂) least, by noisy costs.
        deviations = data.memo("deviations", lambda: partition.bucket_deviations(x))
        starts = noise.draw(partition.Partition(deviations, epsilon_1, 1 / epsilon_2), step="partition")
        # Stage 2: the buckets' totals, each spread evenly over its cells.
        totals, b, h = tree.noisy_leaves(np.add.reduceat(x, starts), epsilon_2, noise)
        lengths = np.diff(starts, append=data.size)
        chosen = {"buckets": starts.size, "b": b, "h": h, "entries": data.size}
        release = Dense(size=data.size, shape=data.shape, weights=np.repeat(totals / lengths, lengths), chosen=chosen)
        return replace(release, stages=(Stage("grouping", partial(_spread, release, x, starts, lengths)),))


def _spread(release: Dense, x: np.ndarray, starts: np.ndarray, lengths: np.ndarray) -> Summary:
    """Every cell with the true mean of its bucket."""
    return replace(release, weights=np.repeat(np.add.reduceat(x, starts) / lengths, lengths))
