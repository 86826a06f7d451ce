"""SRA and HPA: at most l records of each user, picked at random or by popularity (analytics, Section 4).

A user has at most l records in the sample, repeats included, so l is the L1 sensitivity of its item counts and of its
edge counts (Lemmas 3 and 5). Sampling user by user costs no privacy (Lemma 6).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from dpbench.data import ColumnData, Counts, Incidence, Records, Sample
from dpbench.data.last_step import after, laplace_law
from dpbench.data.stages import Stage, known
from dpbench.errors import UserError, positive
from dpbench.mechanisms.analytics import _samples as samples
from dpbench.mechanisms.base import Choices, Mechanism
from dpbench.numerics.sample_error import sample_mse
from dpbench.privacy import Budget, Noise


def _share(what: str, value: float, *, below: float = 1.0) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < below:
        raise UserError(f"{what}={value!r} is not valid: expected a number between 0 and {below:g}")


@dataclass(frozen=True, kw_only=True)
class SRA(Mechanism, name="sra"):
    """Simple Random Algorithm: counts of up to l records per user, chosen at random (analytics, Algorithm 1).

    Binary data has no edges to publish; its items then get the whole budget.
    """

    l: int = 10  # noqa: E741
    """Most records per user in the sample D_R."""
    item_share: float = 0.5
    """ε1/ε, the part of the budget for the item counts; the edge counts get the rest."""
    per_query: bool = False
    """A reading of the paper's experiments: items and edges get the whole ε each, so that together they cost 2 ε."""

    paper, place = "analytics", "Section 4.1, Algorithm 1"
    kinds = ("records", "incidence")
    label, look = "SRA", 6
    audited = ({"l": 1}, {"l": 3}, {"l": 2, "item_share": 0.3}, {"l": 2, "per_query": True})

    def __post_init__(self) -> None:
        positive("l", self.l, whole=True)
        _share("item_share", self.item_share)

    def publish(self, data: Records | Incidence, epsilon: float, noise: Noise) -> Counts:
        budgets = _budgets(Budget(epsilon), self.item_share, self.per_query)
        sample = samples.random_sample(data.indptr, int(self.l), noise.stream("sample"))  # D_R
        return _publish_sample(data, sample, self.l, budgets, noise)

    def not_private(self) -> str:
        return OVERSPENT if self.per_query else ""

    def expected_mse(self, data: Records, epsilon: float) -> float:
        """Expected mean squared error of the item counts: exact, for the users' true sizes and repeats."""
        share = 1.0 if self.per_query else self.item_share
        return sample_mse(data.item_columns(), self.l, self.l / (share * epsilon))

    def expected_edge_mse(self, data: Records, epsilon: float) -> float:
        """The same for the edge counts."""
        share = 1.0 if self.per_query else 1 - self.item_share
        return sample_mse(data.edge_columns(), self.l, self.l / (share * epsilon))


@dataclass(frozen=True, kw_only=True)
class HPAPopularity(Mechanism, name="hpa_popularity"):
    """The first step of HPA alone: item counts of d random records per user (analytics, Algorithm 2, lines 1 to 7).

    It publishes item counts only and spends only its own part of ε, as inside HPA.
    """

    d: int | None = None
    """Records per user in the sample D_E. None: as many as the smallest user has, as in the paper."""
    popularity_share: float = 0.1
    """ε0/ε, the part of the budget for the popularity estimate."""
    popularity_noise: float | None = None
    """A reading of the paper's experiments: this noise scale instead of d/ε0, as if a user had one record in the sample."""

    paper, place = "analytics", "Section 4.2, Algorithm 2, lines 1 to 7"
    kinds = ("records", "incidence")
    label = "HPA's popularity"
    audited: ClassVar[Choices] = ({"d": 1}, {"d": 3, "popularity_share": 0.9}, {}, {"d": 2, "popularity_noise": 0.1})

    def __post_init__(self) -> None:
        if self.d is not None:
            positive("d", self.d, whole=True)
        _share("popularity_share", self.popularity_share)
        if self.popularity_noise is not None:
            positive("popularity_noise", self.popularity_noise)

    def publish(self, data: Records | Incidence, epsilon: float, noise: Noise) -> Counts:
        d, epsilon_0 = self.records_taken(data), Budget(epsilon).take(self.popularity_share)
        counts, q1, sample_size = self.popularity(data, d, epsilon_0, noise)
        scale, stages = self.popularity_scale(d, epsilon_0), _stages(data.item_columns(), d, q1)
        return Counts(
            counts=counts,
            chosen={"scale": scale, **self._given_d(d)},
            diagnostics={"sample": sample_size, **self._observed_d(d)},
            sample=Sample(records=sample_size),
            stages=stages,
            last_step=after(laplace_law(scale), stages[-1]),
        )

    def popularity(self, data: Any, d: int, epsilon_0: float, noise: Noise) -> tuple[np.ndarray, np.ndarray, int]:
        """The noisy item counts of the sample D_E, the true ones, and the number of records in it."""
        items = data.item_columns()
        sample = samples.random_sample(items.indptr, d, noise.stream("popularity"))  # D_E
        q1 = samples.item_counts(items.indices, sample, items.columns)
        return noise.laplace(q1, scale=self.popularity_scale(d, epsilon_0), step="popularity"), q1, sample.size

    def popularity_scale(self, d: int, epsilon_0: float) -> float:
        """d/ε0, as Lemma 4 requires, unless another scale is given."""
        return d / epsilon_0 if self.popularity_noise is None else float(self.popularity_noise)

    def records_taken(self, data: Any) -> int:
        """d: as given, or the smallest user's number of records (at least 1)."""
        if self.d is not None:
            return int(self.d)
        sizes = data.item_columns().row_sizes
        return max(1, int(sizes.min())) if sizes.size else 1

    def _given_d(self, d: int) -> dict[str, float]:
        return {} if self.d is None else {"d": d}

    def _observed_d(self, d: int) -> dict[str, float]:
        """Records a d taken from the data as a diagnostic: it is exact, unlike a declared d."""
        return {"d": d} if self.d is None else {}

    def not_private(self) -> str:
        observed = "d is the smallest observed user, which looks at the data: declare `d`" if self.d is None else ""
        given = "popularity_noise is not what d and ε0 ask for" if self.popularity_noise is not None else ""
        return "; ".join(filter(None, [observed, given]))


@dataclass(frozen=True, kw_only=True)
class HPA(HPAPopularity, name="hpa"):
    """Hand-Picked Algorithm: counts of each user's l records with the most popular items (analytics, Algorithm 2).

    Popularity is itself estimated privately; records with the same score have the same chance. Binary data has no
    edges to publish; its items then get their budget too.
    """

    l: int = 10  # noqa: E741
    """Most records per user in the sample D_G."""
    item_share: float = 0.45
    """ε1/ε, the part of the budget for the item counts; the edge counts get what is left."""
    per_query: bool = False
    """A reading of the paper's experiments: items and edges each get all the budget that popularity leaves, not half of it."""

    place = "Section 4.2, Algorithm 2"
    label, look = "HPA", 7
    audited = (
        {"d": 1, "l": 2},
        {"d": 2, "l": 1, "popularity_share": 0.5, "item_share": 0.2},
        {"l": 2},
        {"d": 1, "l": 2, "per_query": True},
        {"d": 2, "l": 1, "popularity_noise": 0.1},
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("l", self.l, whole=True)
        _share("item_share", self.item_share, below=1 - self.popularity_share)

    def publish(self, data: Records | Incidence, epsilon: float, noise: Noise) -> Counts:
        budget, d = Budget(epsilon), self.records_taken(data)
        epsilon_0 = budget.take(self.popularity_share)
        budgets = _budgets(budget, self.item_share, self.per_query)
        noisy, _, _ = self.popularity(data, d, epsilon_0, noise)
        # p̃ is the normalised form (Equation 11); the greedy choice only needs the order.
        popularity = np.maximum(noisy, 0.0)
        indices = data.item_columns().indices
        sample = samples.greedy_sample(data.indptr, indices, popularity, int(self.l), noise.stream("ties"))  # D_G
        release = _publish_sample(data, sample, self.l, budgets, noise)
        return replace(
            release,
            chosen={**release.chosen, **self._given_d(d)},
            diagnostics={**release.diagnostics, **self._observed_d(d)},
        )

    def not_private(self) -> str:
        return "; ".join(filter(None, [super().not_private(), OVERSPENT if self.per_query else ""]))


OVERSPENT = "items and edges have the whole ε each, which costs twice as much: leave out `per_query`"


@dataclass(frozen=True)
class _Budgets:
    """The budgets of the two queries."""

    epsilon_1: float
    epsilon_2: float
    alone: float
    """Budget of the items if there are no edges."""


def _budgets(budget: Budget, item_share: float, per_query: bool) -> _Budgets:
    """ε1 for the items and ε2, the rest, for the edges; or the whole budget for each of them."""
    if per_query:
        rest = budget.rest()
        return _Budgets(rest, rest, rest)
    epsilon_1, epsilon_2 = budget.take(item_share), budget.rest()
    return _Budgets(epsilon_1, epsilon_2, epsilon_1 + epsilon_2)


def _publish_sample(
    data: Records | Incidence, sample: np.ndarray, most: int, budgets: _Budgets, noise: Noise
) -> Counts:
    """q̃1 and q̃2 of a sample with at most l = `most` records per user: Lap(l/ε1) on items, Lap(l/ε2) on edges."""
    items, edges = data.item_columns(), data.edge_columns()
    if edges is None:
        scale = most / budgets.alone
        q1 = samples.item_counts(items.indices, sample, items.columns)
        stages = _stages(items, most, q1)
        return Counts(
            counts=noise.laplace(q1, scale=scale, step="items"),
            chosen={"scale": scale},
            diagnostics={"sample": sample.size},
            sample=Sample(records=sample.size),
            stages=stages,
            last_step=after(laplace_law(scale), stages[-1]),
        )
    epsilon_1, epsilon_2 = budgets.epsilon_1, budgets.epsilon_2
    records = edges.records
    q2 = samples.edge_counts(records.items, records.contexts, sample, records.n_items, records.n_contexts)
    q1 = q2.sum(axis=1)
    stages = _stages(items, most, q1)
    of_edges = after(laplace_law(most / epsilon_2), known("sampling", q2))
    return Counts(
        counts=noise.laplace(q1, scale=most / epsilon_1, step="items"),
        edges=noise.laplace(q2, scale=most / epsilon_2, step="edges"),
        chosen={"scale": most / epsilon_1},
        diagnostics={"sample": sample.size},
        # The sample's distribution over the contexts is needed for Figures 10 and 11 only.
        sample=Sample(records=sample.size, contexts=q2.sum(axis=0), epsilon_1=epsilon_1, epsilon_2=epsilon_2),
        stages=stages,
        last_step=after(laplace_law(most / epsilon_1), stages[-1], edges=of_edges),
    )


def _stages(items: ColumnData, most: int, q1: np.ndarray) -> tuple[Stage[np.ndarray], ...]:
    """Bounding: the expected cost of limiting users to l randomly chosen records. Sampling: what the actual choice adds to
    it; for HPA, which chooses by popularity, this part is not only random."""
    return (Stage("bounding", partial(samples.expected_counts, items, int(most))), known("sampling", q1))
