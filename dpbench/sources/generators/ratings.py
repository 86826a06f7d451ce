"""The generator of ratings shaped like MovieLens: users of six demographic groups rate each item at most once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpbench.data import Incidence, Records
from dpbench.errors import UserError, one_of, positive
from dpbench.sources.base import Source
from dpbench.sources.contexts import GROUPS
from dpbench.sources.generators._margins import matrix, realisable
from dpbench.sources.generators._taste import Taste
from dpbench.sources.generators.records import fill_unseen, user_sizes
from dpbench.sources.generators.shapes import QUARTILES, whole_numbers

GROUP_SHARES = (0.157, 0.255, 0.305, 0.062, 0.093, 0.128)
"""Shares of the groups among the users of MovieLens 1M."""

ITEM_QUARTILES = (0.122, 0.458, 1.297)
"""Quartiles of the number of ratings of a movie in MovieLens 1M, as multiples of the mean."""


@dataclass(frozen=True, kw_only=True)
class Ratings(Source, name="ratings"):
    """Ratings without repeats, by users of six demographic groups who like different movies.

    Users, items, records, largest and smallest user are exact, and every item occurs. Titles are made up.
    """

    users: int
    items: int
    records: int
    largest: int
    smallest: int
    median: float
    """Median number of ratings of a user."""
    favourite: float = 0.57
    """Approximate share of users who rated the most popular movie."""
    taste: float = 0.35
    """How much the groups' popularity differs: standard deviation of its logarithm."""
    size_taste: float = 0.3
    """How differently users with many ratings and users with few choose (`_taste.py`). Calibrated on half of MovieLens 1M."""
    kind: str = "records"
    """`incidence`: which user rated which item, without contexts."""

    kinds = ("records", "incidence")

    def __post_init__(self) -> None:
        one_of("kind", self.kind, self.kinds)
        for name in ("users", "items", "records", "largest", "smallest"):
            positive(name, getattr(self, name), whole=True)
        if self.largest > self.items:
            raise UserError(f"largest={self.largest} is not valid: there are only {self.items} items to rate")

    def build(self, rng: np.random.Generator) -> Records | Incidence:
        ends = {"smallest": self.smallest, "largest": self.largest}
        sizes = user_sizes("ratings", self.users, self.records, median=self.median, rng=rng, **ends)
        group = np.sort(rng.choice(len(GROUPS), self.users, p=GROUP_SHARES))
        mean, most = self.records / self.items, round(self.favourite * self.users)
        quartiles = {share: q * mean for share, q in zip(QUARTILES, ITEM_QUARTILES, strict=True)}
        counts = whole_numbers("ratings", self.items, self.records, least=1, most=most, quantiles=quartiles, rng=rng)
        counts = rng.permutation(counts)
        size_taste = Taste.drawn(self.size_taste, self.items, rng)
        parts = []
        for j in range(len(GROUPS)):
            own = sizes[group == j]
            liked = counts * np.exp(self.taste * rng.standard_normal(self.items))
            if own.size:
                parts.append(matrix(own, column_sums(own, liked, rng), rng, size_taste)[1])
        items = np.concatenate(parts)
        fill_unseen(items, self.items, rng)
        items = items[np.lexsort((items, np.repeat(np.arange(self.users), sizes)))]
        indptr = np.concatenate([[0], np.cumsum(sizes)])
        data = Records(
            indptr,
            items,
            np.repeat(group, sizes).astype(np.uint8),
            self.items,
            len(GROUPS),
            repeats=False,
            item_labels=tuple(f"Made-up movie {i + 1}" for i in range(self.items)),
            context_labels=GROUPS,
        )
        return data.incidence() if self.kind == "incidence" else data


def capped_shares(weight: np.ndarray, total: int, most: int) -> np.ndarray:
    """`total` divided in proportion to the weights, but at most `most` each: the excess goes to the others."""
    from scipy.optimize import brentq

    even = weight * (total / weight.sum())
    factor = brentq(lambda f: np.minimum(f * even, most).sum() - total, 0.5, 1e12)
    return np.minimum(factor * even, most)


def column_sums(row_sums: np.ndarray, weight: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Integer column sums, about proportional to `weight`, that a binary matrix with these row sums can have."""
    total = int(row_sums.sum())
    while True:
        wanted = capped_shares(weight, total, row_sums.size)
        order = rng.permutation(weight.size)
        running = np.floor(np.cumsum(wanted[order]) + 0.5).astype(np.int64)
        running[-1] = total
        sums = np.empty(weight.size, dtype=np.int64)
        sums[order] = np.diff(running, prepend=0)
        if realisable(row_sums, sums):
            return sums
        weight = weight**0.9
