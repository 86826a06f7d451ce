"""Catalogues: a generator shaped like MovieLens' genres, and epicrec's running example."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpbench.data import Catalogue
from dpbench.data.catalogue import offsets
from dpbench.errors import UserError, positive
from dpbench.sources.base import Source


@dataclass(frozen=True, kw_only=True)
class CatalogueGenerator(Source, name="catalogue"):
    """Items in a few categories each, and users with heavy-tailed histories.

    The defaults are calibrated to MovieLens 1M. An item has 1 + Poisson(0.65) categories, at most `widest` (and one item
    has exactly that many). Some categories share items more than others (documentaries stand alone), which determines the
    calibrated noise: mean z = 4.5 at ε = 1. History sizes are log-normal between the two limits.
    """

    kinds = ("catalogue",)

    items: int = 3883
    categories: int = 18
    widest: int = 6
    """Most categories of one item."""
    extra: float = 0.65
    """Mean number of categories of an item beyond its first."""
    category_zipf: float = 1.1
    """Exponent of the categories' popularity."""
    company: float = 2.1
    """How much categories differ in sharing items: range of the log-weight of a category as an item's further category."""
    users: int = 6040
    smallest: int = 20
    largest: int = 2314
    median: float = 96.0
    """Median history size."""
    spread: float = 1.05
    """Standard deviation of the logarithm of the history size."""
    item_zipf: float = 0.8
    """Exponent of the items' popularity."""

    def __post_init__(self) -> None:
        for name in ("items", "categories", "widest"):
            positive(name, getattr(self, name), whole=True)
        if self.widest > self.categories:
            raise UserError(f"widest={self.widest} is not valid: there are only {self.categories} categories")
        if not 0 <= self.smallest <= self.largest <= self.items:
            sizes = f"smallest={self.smallest}, largest={self.largest}"
            raise UserError(f"{sizes} is not valid: expected 0 <= smallest <= largest <= {self.items} items")

    def build(self, rng: np.random.Generator) -> Catalogue:
        widths, members = self.draw_items(rng)
        sizes, histories = self.draw_histories(rng)
        return Catalogue(offsets(widths), members, self.categories, offsets(sizes), histories)

    def draw_items(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Number of categories of each item, and the categories, ascending within an item."""
        popularity = -self.category_zipf * np.log(np.arange(1, self.categories + 1))
        # Golden-ratio steps spread these weights evenly over popular and rare categories, the same for every seed.
        company = self.company * (2 * (np.arange(self.categories) * 0.6180339887 % 1.0) - 1)
        shape = (self.items, self.categories)
        # The w largest of log-weight + Gumbel are a weighted draw of w without replacement.
        first = np.argmax(popularity + rng.gumbel(size=shape), axis=1)
        keys = popularity + company + rng.gumbel(size=shape)
        keys[np.arange(self.items), first] = np.inf
        widths = np.minimum(1 + rng.poisson(self.extra, self.items), self.widest)
        widths[rng.integers(self.items)] = self.widest
        # The widest items go, by a weighted draw, to first categories that share items often.
        lottery = np.argsort(-np.exp(0.5 * company[first]) * rng.exponential(size=self.items))
        widths[lottery] = np.sort(widths)[::-1]
        chosen = np.where(np.arange(self.categories) < widths[:, None], np.argsort(-keys, axis=1), self.categories)
        chosen.sort(axis=1)
        return widths, chosen[chosen < self.categories].astype(np.int32)

    def draw_histories(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Number of items of each user, and the items, ascending within a user."""
        sizes = np.exp(rng.normal(np.log(self.median), self.spread, self.users))
        sizes = np.clip(np.rint(sizes), self.smallest, self.largest).astype(np.int64)
        popularity = -self.item_zipf * np.log(1 + rng.permutation(self.items))
        parts = [np.empty(0, dtype=np.int64)]
        for size in sizes:
            keys = popularity + rng.gumbel(size=self.items)
            parts.append(np.sort(np.argpartition(-keys, min(size, self.items - 1))[:size]))
        return sizes, np.concatenate(parts).astype(np.int32)


@dataclass(frozen=True, kw_only=True)
class RunningExample(Source, name="running_example"):
    """The five items of epicrec's Figure 4. Three of them determine the noise; the other two are our guess."""

    kinds = ("catalogue",)

    def build(self, rng: np.random.Generator) -> Catalogue:
        matrix = [[1, 1, 1, 0, 0], [1, 0, 1, 1, 0], [1, 0, 0, 0, 1], [1, 1, 0, 0, 0], [0, 0, 1, 0, 0]]
        return Catalogue.from_matrix(matrix, [[0, 2]])
