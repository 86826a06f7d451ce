"""Generators of records with a day of the week, calibrated to Table 4 and Figures 5, 6 and 11 of analytics."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpbench.data import Incidence, Records
from dpbench.errors import UserError, one_of, positive
from dpbench.sources.base import Source
from dpbench.sources.contexts import DAYS
from dpbench.sources.generators._visits import visits, week_days
from dpbench.sources.generators.shapes import QUARTILES, whole_numbers

TURNING = 10.0
"""Users with about this many records are halfway between occasional and regular ones."""


def user_sizes(
    what: str, users: int, records: int, *, smallest: int, largest: int, median: float, rng: np.random.Generator
) -> np.ndarray:
    """|T_k| in random order: exact sum, largest and smallest; log-normal around the median, with the right mean."""
    from scipy.special import ndtri

    spread = math.sqrt(2 * math.log(max(records / users / median, 1.01)))
    quartiles = {q: float(median * math.exp(spread * ndtri(q))) for q in QUARTILES}
    sizes = whole_numbers(what, users, records, least=smallest, most=largest, quantiles=quartiles, rng=rng)
    if sizes[0] != smallest:
        sizes[-2] += sizes[0] - smallest
        sizes[0] = smallest
    return rng.permutation(sizes)


def popular_share(counts: np.ndarray) -> np.ndarray:
    """How popular an item is, from 0 to 1; one half for the last item of the most frequent 1 %."""
    last = np.sort(counts)[-max(1, counts.size // 100)]
    return counts / (counts + max(1.0, float(last)))


@dataclass(frozen=True, kw_only=True)
class Week:
    """Days of the week of records: the probability of Friday to Sunday, higher for occasional users (Figure 11)."""

    base: float = 0.36
    occasional: float = 0.14
    """Increase for a user with hardly any records."""
    pull: float = 0.08
    """Increase for the most popular items."""

    def days(self, indptr: np.ndarray, items: np.ndarray, counts: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        share = popular_share(counts)
        return week_days(indptr, items, share, self.base, self.occasional, self.pull, TURNING, rng)


def on_days(data: Incidence, rng: np.random.Generator) -> Records:
    """Binary data as records without repeats, each with a day of the week."""
    days = Week().days(data.indptr, data.indices, data.counts, rng)
    return Records(data.indptr, data.indices, days, data.columns, len(DAYS), repeats=False, context_labels=DAYS)


@dataclass(frozen=True, kw_only=True)
class CheckIns(Source, name="check_ins"):
    """Check-ins with repeats: place popularity by a power law, users who return to places they know, days of the week.

    Users, items, records, largest and smallest user are exact; every item occurs.
    """

    users: int
    items: int
    records: int
    largest: int
    smallest: int = 1
    median: float
    """Median number of records of a user."""
    skew: float
    """Exponent s of the popularity of the k-th place, (k + shift)^-s."""
    shift: float = 0.0
    explore: float = 0.6
    """Probability of a new place for a user who knows one; it decreases as places^-fade."""
    fade: float = 0.2
    taste: float = 0.0
    """How differently users with many records and users with few choose: the standard deviation, over places, of the change of
    a place's log-popularity when the user's number of records is multiplied by e."""
    kind: str = "records"
    """`incidence`: which user visited which place, without repeats and days."""

    kinds = ("records", "incidence")

    def __post_init__(self) -> None:
        one_of("kind", self.kind, self.kinds)
        for name in ("users", "items", "records", "largest", "smallest"):
            positive(name, getattr(self, name), whole=True)
        for name in ("median", "skew", "explore"):
            positive(name, getattr(self, name))
        if self.items > self.records:
            raise UserError(f"items={self.items} is not valid: {self.records} records cannot cover that many")

    def build(self, rng: np.random.Generator) -> Records | Incidence:
        sizes = user_sizes(
            "check_ins",
            self.users,
            self.records,
            smallest=self.smallest,
            largest=self.largest,
            median=self.median,
            rng=rng,
        )
        indptr = np.concatenate([[0], np.cumsum(sizes)])
        names = rng.permutation(self.items).astype(np.int32)  # otherwise the most popular places would come first
        items = names[visits(indptr, *self._popularity(sizes, rng), self.explore, self.fade, rng)]
        counts = fill_unseen(items, self.items, rng)
        days = Week().days(indptr, items, counts, rng)
        data = Records(indptr, items, days, self.items, len(DAYS), context_labels=DAYS)
        return data.incidence() if self.kind == "incidence" else data

    def _popularity(self, sizes: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Cumulative popularity of the places by class of users, and the class of each user: by the logarithm of the size.

        The popularity over all records stays as `skew` says: a class prefers some places as much as others avoid them.
        """
        bands = np.round(np.log(np.maximum(sizes, 1))).astype(np.int64)
        records = np.bincount(bands, weights=sizes)
        bands -= (low := int(np.flatnonzero(records)[0]))
        records = records[low:] / sizes.sum()
        levels = np.arange(records.size) - (np.arange(records.size) * records).sum()
        weight = (np.arange(1, self.items + 1) + self.shift) ** -self.skew
        liking = np.exp(self.taste * np.outer(levels, rng.standard_normal(self.items)))
        popularity = weight * liking / (records @ liking)
        return np.stack([_cumulated(row) for row in popularity]), bands


@dataclass(frozen=True, kw_only=True)
class Gowalla(CheckIns, name="gowalla"):
    """Shaped like Gowalla in Austin: Table 4, and the share of repeats in SNAP's Gowalla, 4 in 10 records."""

    median: float = 12
    skew: float = 0.75
    shift: float = 2
    explore: float = 0.7
    fade: float = 0.1
    taste: float = 0.3


@dataclass(frozen=True, kw_only=True)
class Foursquare(CheckIns, name="foursquare"):
    """Shaped like Foursquare: Table 4, more than half of the users below l = 10 (Section 6.4), the precision of Figure 5
    and the best l of Figure 6."""

    median: float = 9
    skew: float = 0.69
    shift: float = 0
    explore: float = 0.5
    taste: float = 0.25


def _cumulated(weight: np.ndarray) -> np.ndarray:
    total = np.cumsum(weight) / weight.sum()
    total[-1] = 1.0
    return total


def fill_unseen(items: np.ndarray, n_items: int, rng: np.random.Generator) -> np.ndarray:
    """Give every unseen item one record of an item that has others; changes `items`. Returns the counts."""
    counts = np.bincount(items, minlength=n_items)
    for item in np.flatnonzero(counts == 0):
        at = int(rng.integers(items.size))
        while counts[items[at]] < 2:
            at = int(rng.integers(items.size))
        counts[items[at]] -= 1
        items[at] = item
        counts[item] = 1
    return counts
