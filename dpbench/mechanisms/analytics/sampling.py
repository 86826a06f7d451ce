"""SRA and HPA: at most l records of each user, picked at random or by popularity (analytics, Section 4).

A user holds at most l records of the sample, repeats included, so l is the L1 sensitivity of its item counts and of its
edge counts (Lemmas 3 and 5). Sampling user by user costs no privacy (Lemma 6).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dpbench.data import Counts, Incidence, Records
from dpbench.errors import UserError, positive
from dpbench.mechanisms.analytics import _samples as samples
from dpbench.mechanisms.base import Mechanism
from dpbench.numerics.sample_error import sample_mse


def _share(what: str, value: float, *, below: float = 1.0) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < below:
        raise UserError(f"{what}={value!r} is not valid: expected a number between 0 and {below:g}")


@dataclass(frozen=True, kw_only=True)
class SRA(Mechanism, name="sra"):
    """Simple Random Algorithm: counts of up to l records a user, chosen at random (analytics, Algorithm 1).

    Binary data has no edges to publish; its items then get the whole budget.
    """

    l: int = 10  # noqa: E741
    """Most records of a user in the sample D_R."""
    item_share: float = 0.5
    """ε1/ε, the part of the budget for the item counts; the edge counts get the rest."""

    paper, place = "analytics", "Section 4.1, Algorithm 1"
    kinds = ("records", "incidence")

    def __post_init__(self) -> None:
        positive("l", self.l, whole=True)
        _share("item_share", self.item_share)

    def publish(self, data: Records | Incidence, epsilon: float, rng: np.random.Generator) -> Counts:
        epsilon_1 = self.item_share * epsilon
        sample = samples.random_sample(data.indptr, int(self.l), rng)  # D_R
        return _publish_sample(data, sample, self.l, epsilon_1, epsilon - epsilon_1, rng)

    def expected_mse(self, data: Records, epsilon: float) -> float:
        """Expected mean squared error of the item counts: exact, for the users' true sizes and repeats."""
        return sample_mse(data.item_columns(), self.l, self.l / (self.item_share * epsilon))

    def expected_edge_mse(self, data: Records, epsilon: float) -> float:
        """The same of the edge counts."""
        return sample_mse(data.edge_columns(), self.l, self.l / ((1 - self.item_share) * epsilon))


@dataclass(frozen=True, kw_only=True)
class HPAPopularity(Mechanism, name="hpa_popularity"):
    """The first step of HPA alone: item counts of d random records a user (analytics, Algorithm 2, lines 1 to 7).

    It publishes item counts only and spends only its own part of ε, as inside HPA.
    """

    d: int | None = None
    """Records of a user in the sample D_E. None: the smallest user's number, as the paper does."""
    popularity_share: float = 0.1
    """ε0/ε, the part of the budget for the popularity estimate."""

    paper, place = "analytics", "Section 4.2, Algorithm 2, lines 1 to 7"
    kinds = ("records", "incidence")

    def __post_init__(self) -> None:
        if self.d is not None:
            positive("d", self.d, whole=True)
        _share("popularity_share", self.popularity_share)

    def publish(self, data: Records | Incidence, epsilon: float, rng: np.random.Generator) -> Counts:
        noisy, info = self._estimate(data, epsilon, rng)
        return Counts(counts=noisy, info=info)

    def _estimate(self, data: Any, epsilon: float, rng: np.random.Generator) -> tuple[np.ndarray, dict[str, float]]:
        """The noisy item counts of the sample D_E, and what was chosen for them."""
        d = max(1, _smallest(data)) if self.d is None else int(self.d)
        sample = samples.random_sample(data.indptr, d, rng)  # D_E
        items, m = _items(data)
        q1 = samples.item_counts(items, sample, m)
        scale = d / (self.popularity_share * epsilon)
        return q1 + rng.laplace(0.0, scale, m), {"d": d, "sample": sample.size, "scale": scale}

    def not_private(self) -> str:
        return "" if self.d is not None else "d is the smallest observed user, which looks at the data: declare `d`"


@dataclass(frozen=True, kw_only=True)
class HPA(HPAPopularity, name="hpa"):
    """Hand-Picked Algorithm: counts of each user's l records with the most popular items (analytics, Algorithm 2).

    Popularity is itself estimated privately; records with the same score have the same chance. Binary data has no
    edges to publish; its items then get their budget too.
    """

    l: int = 10  # noqa: E741
    """Most records of a user in the sample D_G."""
    item_share: float = 0.45
    """ε1/ε, the part of the budget for the item counts; the edge counts get what is left."""

    place = "Section 4.2, Algorithm 2"

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("l", self.l, whole=True)
        _share("item_share", self.item_share, below=1 - self.popularity_share)

    def publish(self, data: Records | Incidence, epsilon: float, rng: np.random.Generator) -> Counts:
        epsilon_0, epsilon_1 = self.popularity_share * epsilon, self.item_share * epsilon
        noisy, estimate = self._estimate(data, epsilon, rng)
        # p̃ is this, normalised (Equation 11); the greedy pick only needs the order.
        popularity = np.maximum(noisy, 0.0)
        sample = samples.greedy_sample(data.indptr, _items(data)[0], popularity, int(self.l), rng)  # D_G
        release = _publish_sample(data, sample, self.l, epsilon_1, epsilon - epsilon_0 - epsilon_1, rng)
        return Counts(counts=release.counts, edges=release.edges, info={**release.info, "d": estimate["d"]})


def _publish_sample(
    data: Any,
    sample: np.ndarray,
    most: int,
    epsilon_1: float,
    epsilon_2: float,
    rng: np.random.Generator,
) -> Counts:
    """q̃1 and q̃2 of a sample with at most l = `most` records a user: Lap(l/ε1) on items, Lap(l/ε2) on edges."""
    if data.kind == "incidence":
        scale = most / (epsilon_1 + epsilon_2)
        q1 = samples.item_counts(data.indices, sample, data.columns)
        return Counts(counts=q1 + rng.laplace(0.0, scale, q1.shape), info={"sample": sample.size, "scale": scale})
    q2 = samples.edge_counts(data.items, data.contexts, sample, data.n_items, data.n_contexts)
    q1 = q2.sum(axis=1)
    return Counts(
        counts=q1 + rng.laplace(0.0, most / epsilon_1, q1.shape),
        edges=q2 + rng.laplace(0.0, most / epsilon_2, q2.shape),
        # How the sample spreads over the contexts is not published: it is for Figures 10 and 11 only.
        info={
            "sample": sample.size,
            "sample_contexts": q2.sum(axis=0),
            "scale": most / epsilon_1,
            "epsilon_1": epsilon_1,
            "epsilon_2": epsilon_2,
        },
    )


def _items(data: Any) -> tuple[np.ndarray, int]:
    return (data.indices, data.columns) if data.kind == "incidence" else (data.items, data.n_items)


def _smallest(data: Any) -> int:
    sizes = data.row_sizes if data.kind == "incidence" else data.user_sizes
    return int(sizes.min()) if sizes.size else 0
