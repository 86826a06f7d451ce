"""The shapes that pairs of rows take: the other rows, and the new row.

A row is a list of columns, or of items; a shape knows no data kind. Imported by the pairs only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

NeighbourRows = tuple[list[list[int]], list[int]]
"""The rows of the smaller dataset, and the new row."""
DrawRow = Callable[[int], list[int]]
"""A row of a given size."""

MANY = "the new row lifts one of many equal counts and one that is low"
HUNDREDS = "hundreds of rows"
CROWD = 40
"""The count of a column that many rows have."""
MOST_CELLS = 200_000
"""Ones of all large rows together: with a bound of thousands there are fewer rows than a shape asks for."""

ROW_SHAPES: dict[str, Callable[[np.random.Generator, DrawRow, int, int], NeighbourRows]] = {}


def _shape(name: str) -> Callable[[Any], Any]:
    def register(function: Any) -> Any:
        ROW_SHAPES[name] = function
        return function

    return register


def _large(draw: DrawRow, count: int, most: int) -> list[list[int]]:
    """So many rows of one size, or as many as fit."""
    return [draw(most) for _ in range(min(count, max(1, MOST_CELLS // most)))]


def _some(rng: np.random.Generator, draw: DrawRow, least: int, most: int) -> list[list[int]]:
    """Zero to eight rows."""
    return [draw(int(size)) for size in rng.integers(least, max(least, most) + 1, rng.integers(0, 9))]


@_shape("any new row")
def _any(rng: np.random.Generator, draw: DrawRow, d: int, most: int) -> NeighbourRows:
    return _some(rng, draw, 0, most), draw(int(rng.integers(0, most + 1)))


@_shape("the new row is the largest")
def _largest(rng: np.random.Generator, draw: DrawRow, d: int, most: int) -> NeighbourRows:
    return _some(rng, draw, 0, most // 2), draw(most)


@_shape("the new row is the first")
def _first(rng: np.random.Generator, draw: DrawRow, d: int, most: int) -> NeighbourRows:
    return [], draw(int(rng.integers(1, most + 1)))


@_shape("all other rows are empty")
def _alone(rng: np.random.Generator, draw: DrawRow, d: int, most: int) -> NeighbourRows:
    return [[] for _ in range(rng.integers(1, 4))], draw(most)


@_shape("the new row is empty")
def _empty(rng: np.random.Generator, draw: DrawRow, d: int, most: int) -> NeighbourRows:
    return _some(rng, draw, 1, most), []


@_shape("all counts are equal before")
def _ties(rng: np.random.Generator, draw: DrawRow, d: int, most: int) -> NeighbourRows:
    return [[column] for column in range(d)] * int(rng.integers(1, 4)), draw(int(rng.integers(1, most + 1)))


@_shape("all counts are equal and large before")
def _large_ties(rng: np.random.Generator, draw: DrawRow, d: int, most: int) -> NeighbourRows:
    return [[column] for column in range(d)] * CROWD, draw(most)


@_shape("the new row changes which count is the largest")
def _argmax(rng: np.random.Generator, draw: DrawRow, d: int, most: int) -> NeighbourRows:
    times = int(rng.integers(1, 5))
    return [[0]] * times + [[d - 1]] * (times - int(rng.integers(0, 2))), [d - 1]


@_shape("the new row changes the range of the counts")
def _range(rng: np.random.Generator, draw: DrawRow, d: int, most: int) -> NeighbourRows:
    # Either the largest count rises, or the only zero disappears.
    if rng.random() < 0.5:
        return [[0]] * int(rng.integers(1, 9)), [0]
    return [[column] for column in range(1, d)] * int(rng.integers(1, 4)), [0]


@_shape("the new row has a new column")
def _new_column(rng: np.random.Generator, draw: DrawRow, d: int, most: int) -> NeighbourRows:
    rows = [[column for column in row if column != d - 1] for row in _some(rng, draw, 1, most)]
    rest = [column for column in draw(most) if column != d - 1]
    return rows, [*rest[: most - 1], d - 1]


@_shape("the new row repeats another")
def _repeats(rng: np.random.Generator, draw: DrawRow, d: int, most: int) -> NeighbourRows:
    row = draw(most)
    return [*_some(rng, draw, 1, most), row], row


@_shape(MANY)
def _one_of_many(rng: np.random.Generator, draw: DrawRow, d: int, most: int) -> NeighbourRows:
    return [[column] for column in range(d - 1)] * (CROWD // 2), [0, d - 1][: min(d, most)]


@_shape(HUNDREDS)
def _hundreds(rng: np.random.Generator, draw: DrawRow, d: int, most: int) -> NeighbourRows:
    # What acts only from a number of rows on shows here.
    return [draw(int(size)) for size in rng.integers(0, min(most, 4) + 1, rng.integers(100, 400))], draw(most)


@_shape("the new row is the smallest")
def _smallest(rng: np.random.Generator, draw: DrawRow, d: int, most: int) -> NeighbourRows:
    return _some(rng, draw, min(2, most), most), draw(1)


@_shape("one more of the same")
def _one_more(rng: np.random.Generator, draw: DrawRow, d: int, most: int) -> NeighbourRows:
    # A choice that compares a count with the noise changes somewhere along these pairs.
    return [[0]] * int(rng.integers(1, 16)), [0]


@_shape("one column has nearly all")
def _crowd(rng: np.random.Generator, draw: DrawRow, d: int, most: int) -> NeighbourRows:
    new = draw(int(rng.integers(1, most + 1)))
    # If the new row is counted, at the edge of whole numbers of 8 bits; with long rows, where a choice of their limit turns.
    rows = (2**7 - 1, 2**8 - 1)[len(new) % 2] if 0 in new and most < CROWD else CROWD
    return [[0]] * rows, new


@_shape("the new row tips a tie within all other rows")
def _tie_within(rng: np.random.Generator, draw: DrawRow, d: int, most: int) -> NeighbourRows:
    # If rows are cut depending on other rows, all of them change together.
    row = list(range(min(d, most)))
    return [row] * int(rng.integers(1, 6)), [int(rng.integers(len(row)))]


@_shape("as many large rows as columns, and one more")
def _as_many(rng: np.random.Generator, draw: DrawRow, d: int, most: int) -> NeighbourRows:
    # A trade-off between cut rows and noise on all columns switches here, or at twice as many rows.
    return _large(draw, d, most), draw(most)


@_shape("twice as many large rows as columns, and one more")
def _twice_as_many(rng: np.random.Generator, draw: DrawRow, d: int, most: int) -> NeighbourRows:
    return _large(draw, 2 * d, most), draw(most)


@_shape("the new row is the first of its size")
def _first_of_its_size(rng: np.random.Generator, draw: DrawRow, d: int, most: int) -> NeighbourRows:
    # All others have the same size: a limit between the two sizes cuts only the new row.
    size = int(rng.integers(1, most + 1))
    return [draw(1) for _ in range(rng.integers(1, 9))], draw(size)


def _three_sizes(draw: DrawRow, count: int, most: int) -> NeighbourRows:
    """So many rows of the largest size, as many half as large and as many of two, but for one: the new row is large.

    A choice among sizes aims at a number of larger rows. Near it, one more row makes the smallest size less likely and many
    others likelier. That costs the factor 2 in the exponent of a choice that is not monotone.
    """
    sizes = (min(2, most), (most + 1) // 2, most)
    return [row for size in sizes for row in _large(draw, count, size)][:-1], draw(most)


@_shape("nearly as many large rows as columns, as many half as large, and as many of two")
def _as_many_as_columns(rng: np.random.Generator, draw: DrawRow, d: int, most: int) -> NeighbourRows:
    return _three_sizes(draw, d, most)  # near what Laplace noise aims at


@_shape("nearly half as many large rows as columns, as many half as large, and as many of two")
def _half_as_many(rng: np.random.Generator, draw: DrawRow, d: int, most: int) -> NeighbourRows:
    return _three_sizes(draw, max(1, d // 2), most)  # near what Gaussian noise aims at
