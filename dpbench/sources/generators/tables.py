"""Generators of contingency tables: those of sparse's experiments, and tables shaped like its real datasets."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpbench.data import Contingency
from dpbench.errors import UserError, one_of, positive
from dpbench.numerics.places import cascade, distinct
from dpbench.sources.base import Source
from dpbench.sources.generators.shapes import whole_numbers


def nonzeros(cells: int, density: float) -> int:
    """n of a table of that density; at least one cell is not zero."""
    if not isinstance(density, int | float) or not 0 < density <= 1:
        raise UserError(f"density={density!r} is not valid: expected a number above 0, at most 1")
    return max(1, round(cells * density))


def layout(cells: int, attributes: int) -> tuple[int, ...]:
    """A shape with this many attributes and exactly this many cells, lengths as equal as possible, smaller ones first."""
    shape, rest = [], cells
    for left in range(attributes, 1, -1):
        length = round(rest ** (1 / left))
        while length > 1 and rest % length:
            length -= 1
        if length <= 1:
            expected = "expected a number with enough divisors"
            raise UserError(f"cells={cells} cannot be laid out in {attributes} attributes: {expected}")
        shape.append(length)
        rest //= length
    return (*shape, rest)


@dataclass(frozen=True, kw_only=True)
class GaussianTable(Source, name="gaussian"):
    """Non-zero counts from a normal distribution, rounded to the nearest positive whole number, at random places."""

    kinds: ClassVar[tuple[str, ...]] = ("contingency",)

    cells: int = 1_000_000
    """m."""
    density: float = 0.1
    """n/m."""
    filled: int | None = None
    """n itself, independent of m; `density` is then ignored."""
    mean: float = 100.0
    sigma: float = 20.0
    places: str = "uniform"
    """uniform, or skewed: concentrated in some regions of the domain."""
    bias: float = 0.95
    """How skewed: the share of a region's non-zeros that falls in one half of it, recursively. 0.5: not at all."""
    attributes: int = 1
    """Number of attributes, with lengths as equal as possible: 1000 by 1000 for two attributes and 10⁶ cells."""

    def __post_init__(self) -> None:
        positive("cells", self.cells, whole=True)
        positive("attributes", self.attributes, whole=True)
        layout(int(self.cells), int(self.attributes))
        positive("mean", self.mean)
        nonzeros(self.cells, self.density)
        if self.filled is not None:
            positive("filled", self.filled, whole=True)
            if self.filled > self.cells:
                raise UserError(f"filled={self.filled} is above the number of cells {self.cells}")
        one_of("places", self.places, ("uniform", "skewed"))
        if self.sigma < 0 or not 0.5 <= self.bias < 1:
            raise UserError(f"sigma={self.sigma}, bias={self.bias} is not valid: expected sigma >= 0, 0.5 <= bias < 1")

    def build(self, rng: np.random.Generator) -> Contingency:
        n = nonzeros(self.cells, self.density) if self.filled is None else int(self.filled)
        uniform = self.places == "uniform"
        cells = distinct(n, self.cells, rng) if uniform else cascade(n, self.cells, self.bias, rng)
        counts = np.maximum(1, np.rint(rng.normal(self.mean, self.sigma, n))).astype(np.int64)
        return Contingency(cells, counts, self.cells, layout(int(self.cells), int(self.attributes)))


@dataclass(frozen=True, kw_only=True)
class HeavyTable(Source):
    """Counts with a heavy tail: exact number of cells, mean and largest count, and approximate quartiles."""

    kinds: ClassVar[tuple[str, ...]] = ("contingency",)

    density: float = 0.01
    mean: float = 10.0
    median: float = 2.0
    upper: float = 6.0
    """Upper quartile; the lower one is 1."""
    largest: int = 1000

    def __post_init__(self) -> None:
        for name in ("mean", "median", "upper", "largest"):
            positive(name, getattr(self, name))
        nonzeros(100, self.density)

    def fill(
        self, shape: tuple[int, ...], draw: Callable[[int], tuple[np.ndarray, np.ndarray]], rng: np.random.Generator
    ) -> Contingency:
        """The table whose cells come from `draw`, each with an attraction: counts increase with it, up to noise."""
        n = nonzeros(math.prod(shape), self.density)
        cells, attraction = _different(n, draw, rng)
        quartiles = {0.25: 1.0, 0.5: self.median, 0.75: self.upper}
        total = round(self.mean * n)
        counts = whole_numbers("counts", n, total, least=1, most=self.largest, quantiles=quartiles, rng=rng)
        filled = np.empty(n, dtype=np.int64)
        filled[np.argsort(attraction + rng.normal(0, attraction.std(), n))] = np.sort(counts)
        return Contingency(cells, filled, math.prod(shape), shape)


def _different(
    size: int, draw: Callable[[int], tuple[np.ndarray, np.ndarray]], rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """`size` distinct cells from an endless stream, sorted, with the values that accompany them."""
    cells, extra = np.empty(0, dtype=np.int64), np.empty(0)
    for _ in range(200):
        fresh, more = draw(2 * (size - cells.size) + 100)
        cells, extra = np.concatenate([cells, fresh]), np.concatenate([extra, more])
        order = np.argsort(cells, kind="stable")
        order = order[np.diff(cells[order], prepend=-1) > 0]
        if order.size >= size:
            order = order[np.sort(rng.permutation(order.size)[:size])]
            return cells[order], extra[order]
        cells, extra = cells[order], extra[order]
    raise UserError(f"density: only {cells.size} of {size} cells were found; expected a lower density or less skew")


@dataclass(frozen=True, kw_only=True)
class Commuting(HeavyTable, name="commuting"):
    """Commuters by workplace and home: a cell is workplace x locations + home.

    Locations differ log-normally in attraction; distances from home to work (in locations, which are numbered along the
    map) have a density like 1/distance; pairs that are close and attractive have more commuters.
    """

    locations: int = 4001
    density: float = 0.054
    mean: float = 150.0
    median: float = 3.0
    upper: float = 16.0
    largest: int = 150_000

    def build(self, rng: np.random.Generator) -> Contingency:
        mass = rng.normal(0, 1, self.locations)
        running = np.cumsum(np.exp(mass))

        def draw(number: int) -> tuple[np.ndarray, np.ndarray]:
            work = np.searchsorted(running, rng.random(number) * running[-1])
            distance = np.floor(np.exp(rng.random(number) * math.log(self.locations))) - 1
            home = (work + np.where(rng.random(number) < 0.5, distance, -distance).astype(np.int64)) % self.locations
            return work * self.locations + home, mass[work] + mass[home] - np.log1p(distance)

        return self.fill((self.locations, self.locations), draw, rng)


@dataclass(frozen=True, kw_only=True)
class Cube(HeavyTable, name="cube"):
    """A table of several attributes, each with Zipf-distributed values; popular combinations have larger counts."""

    shape: str = "100x100x100"
    """Number of values of each attribute."""
    zipf: float = 1.0
    """Exponent of the popularity of values."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.sizes()

    def sizes(self) -> tuple[int, ...]:
        parts = str(self.shape).split("x")
        if not all(part.isdigit() and int(part) > 0 for part in parts):
            raise UserError(f"shape={self.shape!r} is not valid: expected whole numbers like 9x16x7")
        return tuple(int(part) for part in parts)

    def build(self, rng: np.random.Generator) -> Contingency:
        sizes = self.sizes()
        popularity = [np.arange(1, size + 1) ** -float(self.zipf) for size in sizes]
        running = [np.cumsum(p) for p in popularity]
        codes = [rng.permutation(size) for size in sizes]

        def draw(number: int) -> tuple[np.ndarray, np.ndarray]:
            ranks = [np.searchsorted(r, rng.random(number) * r[-1]) for r in running]
            cells = np.ravel_multi_index([code[rank] for code, rank in zip(codes, ranks, strict=True)], sizes)
            return cells, sum((np.log(p[rank]) for p, rank in zip(popularity, ranks, strict=True)), np.zeros(number))

        return self.fill(sizes, draw, rng)
