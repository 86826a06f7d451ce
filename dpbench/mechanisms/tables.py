"""Contingency tables under noise: the table of cells or of a transform, and what a summary answers without noise.

What the families sparse and histograms share. Imports data, numerics, privacy and the base of mechanisms.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from dpbench.data import Contingency, Data
from dpbench.data.last_step import FairSigns
from dpbench.data.stages import Part, Stage
from dpbench.data.summary import PRODUCT, TRANSFORMS, Entries, Sketched, Summary
from dpbench.errors import one_of
from dpbench.mechanisms.base import Mechanism
from dpbench.numerics import dyadic, grid, haar, hashing
from dpbench.privacy import Noise

INDIVIDUAL = "add or remove one individual (one count of one cell)"

FITS = 2**27
"""Most places of a table that is stored in full: 1 GB of numbers, and as much again for its prefix sums."""

LISTED = 2**26
"""Most places of a list, of entries or of non-zero transform values: about 3 GB with what is needed to draw and sort them."""

NUMBERED = 2**63
"""Places are numbered by int64."""


@dataclass(frozen=True, eq=False)
class SparseTable:
    """The table that gets noise: sorted places of the non-zero entries of M, their integer values, m = `size`, and Δ."""

    places: np.ndarray
    values: np.ndarray
    size: int
    sensitivity: int

    @property
    def zeros(self) -> int:
        """m - n."""
        return self.size - self.places.size

    def noisy(self, alpha: float, noise: Noise) -> np.ndarray:
        """M'(i) of the non-zero entries."""
        return noise.geometric(self.values, alpha=alpha, step="nonzeros")

    def dense(self, alpha: float, noise: Noise) -> np.ndarray:
        """M', the whole noisy table."""
        full = np.zeros(self.size)
        full[self.places] = self.values
        return noise.geometric(full, alpha=alpha, step="table")


def table_of(data: Contingency, transform: str) -> SparseTable:
    if transform == "none":
        listed = data.cells, data.counts
    elif transform == PRODUCT:
        listed = grid.nodes(data.cells, data.counts, data.shape)
    else:
        make = dyadic.nodes if transform == "dyadic" else haar.coefficients
        listed = make(data.cells, data.counts, data.size)
    return SparseTable(*listed, _places(data, transform), sensitivity_of(data, transform))


def _places(data: Contingency, transform: str) -> int:
    """Number of places that get noise."""
    if transform == "none":
        return data.size
    if transform == PRODUCT:
        return math.prod(grid.sides(data.shape))
    return int((dyadic if transform == "dyadic" else haar).offsets(data.size)[-1])


def sensitivity_of(data: Contingency, transform: str) -> int:
    """One individual is in one cell; in one node per level, or per combination of levels; or moves one coefficient per level and
    the total."""
    return 1 if transform == "none" else grid.levels(_attributes(data, transform))


def _attributes(data: Contingency, transform: str) -> tuple[int, ...]:
    """The shape as a transform sees it: all except the product treat the cells as one line."""
    return data.shape if transform == PRODUCT else (data.size,)


@dataclass(frozen=True, kw_only=True)
class Tabled(Mechanism):
    """A mechanism on contingency tables, over the cells or over a transform of them."""

    transform: str = "none"
    """none, dyadic (sums over dyadic ranges of the line of cells), haar (wavelet coefficients of it), or dyadic_product (sums
    over products of dyadic ranges, one for each attribute); ranges and rectangles are answered accordingly."""

    kinds, neighbours = ("contingency",), INDIVIDUAL

    def __post_init__(self) -> None:
        one_of("transform", self.transform, TRANSFORMS)

    def unfit(self, data: Data) -> str:
        if reason := super().unfit(data):
            return reason
        if self.transform == "none":
            return ""
        assert isinstance(data, Contingency)
        if (places := self.domain(data)) >= NUMBERED:
            return f"its {self.transform} has {places:.3g} places, and less than 2^63 have a number: expected a smaller shape"
        if (most := grid.most_nodes(data.nonzeros, _attributes(data, self.transform))) > LISTED:
            hint = "expected fewer cells or attributes, or transform=none"
            return f"its {self.transform} may have {most:.3g} non-zero places, and at most {LISTED:.3g} fit: {hint}"
        return ""

    def table(self, data: Contingency) -> SparseTable:
        return data.memo(("table", self.transform), lambda: table_of(data, self.transform))

    def domain(self, data: Any) -> int:
        """m: the number of places, cells or those of the transform."""
        return _places(data, self.transform)


def too_many(expected: float, hint: str) -> str:
    """Why this many entries cannot be published; empty if they can."""
    if expected <= LISTED:
        return ""
    return f"it would publish about {expected:.3g} entries, and at most {LISTED:.3g} fit: {hint}"


# The stages of a release list what is published: nothing is as large as the domain.


def with_true_values(
    release: Entries, table: SparseTable, part: Part, *before: Stage[Summary], symmetric: bool = False
) -> Entries:
    """The release with its last stage: the published places with their true values, weighted like their noisy ones.

    symmetric: noise is symmetric, and whether a place is published depends on the size of its noisy value only.
    """
    last = FairSigns(partial(_true_zeros, release.cells, table)) if symmetric else None
    return replace(release, stages=(*before, Stage(part, partial(_listed, release, table))), last_step=last)


def passed_filter(release: Entries, table: SparseTable, places: np.ndarray) -> Stage[Summary]:
    """The stage of a filter that these places passed, before some of them were sampled."""
    return Stage("dropping", partial(_kept, release, table, places))


def with_collisions(release: Sketched, table: SparseTable) -> Sketched:
    """The release of a sketch with its stage: the same buckets without noise. Places in the same bucket get one answer."""
    return replace(release, stages=(Stage("grouping", partial(_sketched, release, table)),))


def _true_zeros(places: np.ndarray, table: SparseTable) -> np.ndarray:
    return ~dyadic.contains(table.places, places)


def _true_values(table: SparseTable, places: np.ndarray) -> np.ndarray:
    whole = Entries(size=table.size, cells=table.places, weights=table.values)
    return whole.at(places)


def _listed(release: Entries, table: SparseTable) -> Summary:
    true = _true_values(table, release.cells)
    if release.values is None:
        return replace(release, weights=true)
    # A sampled value v has the weight v/p. If v = 0, nothing was weighted.
    factor = np.divide(release.weights, release.values, out=np.ones(true.size), where=release.values != 0)
    return replace(release, weights=true * factor, values=true)


def _kept(release: Entries, table: SparseTable, places: np.ndarray) -> Summary:
    # Zeros that passed the filter have the true value zero, whether they are listed or not.
    return replace(release, cells=places, weights=_true_values(table, places), values=None)


def _sketched(release: Sketched, table: SparseTable) -> Summary:
    sums, width = np.empty(release.buckets.shape), int(release.buckets.shape[1])
    for row, seed in enumerate(release.seeds):
        bucket, sign = hashing.block_bucket_and_sign(table.places, release.blocks, width, seed)
        sums[row] = np.bincount(bucket, weights=sign * table.values, minlength=width)
    return replace(release, buckets=sums)
