"""`Summary`: what is published of a `Contingency`, and how range and subset sums are answered from it.

A published value belongs to a place: a cell, or a node or coefficient of a transform of the cells. A range is answered
from prefix sums of cells, from at most two dyadic nodes per level, or from two paths of wavelet coefficients. A rectangle
over several attributes is answered as one range per row, or from products of dyadic ranges.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbench.data.base import read_only
from dpbench.data.release import PRIVATE, Release
from dpbench.data.stages import Stage
from dpbench.errors import UserError
from dpbench.numerics import boxes, dyadic, grid, haar, hashing, unary

LINE = {"dyadic": dyadic.range_sum, "haar": haar.range_sum}
"""Transforms of the flattened cells, and how they answer ranges."""
PRODUCT = "dyadic_product"
"""Transforms applied to each attribute separately."""
TRANSFORMS = ("none", *LINE, PRODUCT)

WRITABLE = 2**25
"""A sketch of a domain up to this size may be expanded in full when the queries together cover more cells than that."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Summary(Release):
    """Base of all summaries over a domain of `size` cells."""

    size: int
    transform: str = "none"
    shape: tuple[int, ...] = ()
    """Number of values of each attribute; (size,) where none is given."""
    stages: tuple[Stage[Summary], ...] | None = field(default=None, repr=False, metadata=PRIVATE)
    """Not published: the summaries before noise, step by step. () if the only step is noise; None if unknown, and then the
    error of a query cannot be split."""

    def __post_init__(self) -> None:
        shape = tuple(int(length) for length in self.shape) or (int(self.size),)
        if math.prod(shape) != self.size:
            raise UserError(f"shape={shape} has {math.prod(shape)} cells, but size={self.size}")
        object.__setattr__(self, "shape", shape)

    def at(self, places: NDArray[np.int64]) -> NDArray[np.float64]:
        """The published value of each place, zero where nothing is published."""
        raise NotImplementedError

    def between(self, lo: NDArray[np.int64], hi: NDArray[np.int64]) -> NDArray[np.float64]:
        """The sum of the values of places lo to hi - 1."""
        raise NotImplementedError

    def sum(self, lo: ArrayLike, hi: ArrayLike) -> NDArray[np.float64]:
        """Estimated count of each range lo <= cell < hi; scalars give a scalar, arrays an array."""
        low, high = np.broadcast_arrays(np.asarray(lo, dtype=np.int64), np.asarray(hi, dtype=np.int64))
        if np.any(low < 0) or np.any(high > self.size) or np.any(low > high):
            raise UserError(f"a range must have 0 <= lo <= hi <= {self.size}")
        return self._ranges(low.ravel(), high.ravel()).reshape(low.shape)[()]

    def rectangles(self, lo: ArrayLike, hi: ArrayLike) -> NDArray[np.float64]:
        """Estimated count of each rectangle lo <= x < hi; the last axis of both holds one coordinate per attribute."""
        low, high = boxes.checked(lo, hi, self.shape)
        if self.transform == PRODUCT:
            answer = grid.rectangle_sum(self.at, self.shape, low, high)
        else:
            answer = boxes.sums(self._ranges, low, high, self.shape)
        return answer.reshape(np.broadcast_shapes(np.shape(lo), np.shape(hi))[:-1])[()]

    def _ranges(self, lo: NDArray[np.int64], hi: NDArray[np.int64]) -> NDArray[np.float64]:
        if self.transform == "none":
            return self.between(lo, hi)
        if self.transform == PRODUCT:
            return grid.range_sum(self.at, self.shape, lo, hi)
        return LINE[self.transform](self.at, self.size, lo, hi)

    def subset(self, cells: ArrayLike) -> float:
        """Estimated count of a set of cells; runs of adjacent cells are answered as one range."""
        asked = np.sort(np.asarray(cells, dtype=np.int64).ravel())
        if not asked.size:
            return 0.0
        breaks = np.flatnonzero(np.diff(asked) > 1)
        starts, ends = asked[np.append(0, breaks + 1)], asked[np.append(breaks, -1)] + 1
        return float(self.sum(starts, ends).sum())


@dataclass(frozen=True, kw_only=True, eq=False)
class Entries(Summary):
    """A list of chosen places: sorted `cells` and their `weights`, adjusted so that sums are unbiased where possible.

    `values` are the noisy values before adjustment (None: the weights themselves). `absent` is the value assumed for
    every place that is not listed.
    """

    cells: NDArray[np.int64]
    weights: NDArray[np.float64]
    values: NDArray[np.float64] | None = None
    absent: float = 0.0

    numbers = ("cells", "weights", "values")

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "cells", read_only(self.cells, dtype=np.int64))
        object.__setattr__(self, "weights", read_only(self.weights, dtype=np.float64))
        if self.values is not None:
            object.__setattr__(self, "values", read_only(self.values, dtype=np.float64))

    @property
    def plain(self) -> Self:
        """The same summary with the noisy values as weights: biased, but better for very small queries."""
        return self if self.values is None else replace(self, weights=self.values, values=None)

    @cached_property
    def running(self) -> NDArray[np.float64]:
        """Sum of all weights before each entry, and the total at the end."""
        return read_only(np.concatenate([[0.0], np.cumsum(self.weights)]))

    def at(self, places: NDArray[np.int64]) -> NDArray[np.float64]:
        """The estimates of single places."""
        if not self.cells.size:
            return np.full(places.shape, self.absent)
        entry = np.minimum(np.searchsorted(self.cells, places), self.cells.size - 1)
        return np.where(self.cells[entry] == places, self.weights[entry], self.absent)

    def between(self, lo: NDArray[np.int64], hi: NDArray[np.int64]) -> NDArray[np.float64]:
        """The sums of the estimates from `lo` to before `hi`."""
        begin, end = np.searchsorted(self.cells, lo), np.searchsorted(self.cells, hi)
        listed = self.running[end] - self.running[begin]
        return listed + self.absent * ((hi - lo) - (end - begin)) if self.absent else listed


@dataclass(frozen=True, kw_only=True, eq=False)
class Dense(Summary):
    """One value for every place."""

    weights: NDArray[np.float64]

    numbers = ("weights",)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "weights", read_only(self.weights, dtype=np.float64))

    @cached_property
    def cells(self) -> NDArray[np.int64]:
        """All places."""
        return read_only(np.arange(self.weights.size))

    @cached_property
    def running(self) -> NDArray[np.float64]:
        """Sum of all weights before each place, and the total at the end."""
        total = np.zeros(self.weights.size + 1)
        np.cumsum(self.weights, out=total[1:])
        return read_only(total)

    @property
    def plain(self) -> Self:
        """Itself: nothing was adjusted."""
        return self

    def at(self, places: NDArray[np.int64]) -> NDArray[np.float64]:
        """The estimates of single places."""
        return self.weights[places]

    def between(self, lo: NDArray[np.int64], hi: NDArray[np.int64]) -> NDArray[np.float64]:
        """The sums of the estimates from `lo` to before `hi`."""
        return self.running[hi] - self.running[lo]


@dataclass(frozen=True, kw_only=True, eq=False)
class Estimated(Summary):
    """A hashed table from which the value of any of `places` places is estimated. A subclass defines `at`."""

    places: int

    @property
    def plain(self) -> Self:
        """Itself: nothing was adjusted."""
        return self

    @cached_property
    def cells(self) -> NDArray[np.int64]:
        """All places."""
        self._small_enough()
        return read_only(np.arange(self.places))

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        """The estimate of every place."""
        return read_only(self.at(self.cells))

    def between(self, lo: NDArray[np.int64], hi: NDArray[np.int64]) -> NDArray[np.float64]:
        """The sums of the estimates from `lo` to before `hi`."""
        lengths = hi - lo
        ends = np.cumsum(lengths)
        if not ends.size or ends[-1] < min(self.places, WRITABLE):
            starts = ends - lengths
            asked = np.arange(lengths.sum()) + np.repeat(lo - starts, lengths)
            running = np.concatenate([[0.0], np.cumsum(self.at(asked))])
            return running[ends] - running[starts]
        running = np.concatenate([[0.0], np.cumsum(self.weights)])
        return running[hi] - running[lo]

    def _small_enough(self) -> None:
        if self.places > WRITABLE:
            hint = "publish with transform='dyadic' for ranges"
            raise UserError(f"a sketch of {self.places} places cannot be summed place by place: {hint}")


@dataclass(frozen=True, kw_only=True, eq=False)
class Sketched(Estimated):
    """A noisy count sketch: `buckets`, one row per hash function, and the functions' `seeds`.

    The estimate of a place is the mean (or median) over rows of its bucket times its sign. `blocks` holds the first place
    of each block, if given; then a row has equal parts, one per block, and a place is hashed into the part of its block.
    """

    buckets: NDArray[np.float64]
    seeds: tuple[int, ...]
    combine: str = "mean"
    blocks: tuple[int, ...] = (0,)

    numbers = ("buckets", "seeds")

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "buckets", read_only(self.buckets, dtype=np.float64))

    def at(self, places: NDArray[np.int64]) -> NDArray[np.float64]:
        """The estimates of single places."""
        estimates = np.empty((len(self.seeds), places.size))
        for row, seed in enumerate(self.seeds):
            bucket, sign = hashing.block_bucket_and_sign(places, self.blocks, self.buckets.shape[1], seed)
            estimates[row] = self.buckets[row, bucket] * sign
        return estimates.mean(axis=0) if self.combine == "mean" else np.median(estimates, axis=0)


@dataclass(frozen=True, kw_only=True, eq=False)
class Projected(Estimated):
    """A noisy unary table: level b holds the `bits` from `starts[b]` to `starts[b+1] - 1`; `seed` hashes a place to one bit
    per level. A place is estimated by the number of its bits that are set from the first level on, times `unit`.
    """

    bits: NDArray[np.uint8]
    starts: NDArray[np.int64]
    seed: int
    unit: float

    numbers = ("bits", "starts", "seed", "unit")

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "bits", read_only(self.bits, dtype=np.uint8))
        object.__setattr__(self, "starts", read_only(self.starts, dtype=np.int64))

    def at(self, places: NDArray[np.int64]) -> NDArray[np.float64]:
        """The estimates of single places."""
        return self.unit * unary.estimate(self.bits, self.starts, np.asarray(places, dtype=np.int64), self.seed)
