"""The shapes that pairs of rows take: what the others are like, and the row that makes the difference.

A row is a list of columns, or of items; a shape knows no data kind. Imported by the pairs only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Rows = tuple[list[list[int]], list[int]]
"""The rows of the smaller data, and the new one."""
Draw = Callable[[int], list[int]]
"""A row of a given size."""

MANY = "the new row lifts one of many equal counts and one that is low"
CROWD = 40
"""The count of a column that many rows have."""

ROW_SHAPES: dict[str, Callable[[np.random.Generator, Draw, int, int], Rows]] = {}
GROWING: set[str] = set()
"""The shapes that have more rows the more columns there are."""


def _shape(name: str, *, growing: bool = False) -> Callable[[Any], Any]:
    def register(function: Any) -> Any:
        ROW_SHAPES[name] = function
        if growing:
            GROWING.add(name)
        return function

    return register


def _some(rng: np.random.Generator, draw: Draw, least: int, most: int) -> list[list[int]]:
    """None to eight rows."""
    return [draw(int(size)) for size in rng.integers(least, max(least, most) + 1, rng.integers(0, 9))]


@_shape("any new row")
def _any(rng: np.random.Generator, draw: Draw, d: int, most: int) -> Rows:
    return _some(rng, draw, 0, most), draw(int(rng.integers(0, most + 1)))


@_shape("the new row is the largest")
def _largest(rng: np.random.Generator, draw: Draw, d: int, most: int) -> Rows:
    return _some(rng, draw, 0, most // 2), draw(most)


@_shape("the new row is the first")
def _first(rng: np.random.Generator, draw: Draw, d: int, most: int) -> Rows:
    return [], draw(int(rng.integers(1, most + 1)))


@_shape("all other rows are empty")
def _alone(rng: np.random.Generator, draw: Draw, d: int, most: int) -> Rows:
    return [[] for _ in range(rng.integers(1, 4))], draw(most)


@_shape("the new row is empty")
def _empty(rng: np.random.Generator, draw: Draw, d: int, most: int) -> Rows:
    return _some(rng, draw, 1, most), []


@_shape("all counts are equal before", growing=True)
def _ties(rng: np.random.Generator, draw: Draw, d: int, most: int) -> Rows:
    return [[column] for column in range(d)] * int(rng.integers(1, 4)), draw(int(rng.integers(1, most + 1)))


@_shape("all counts are equal and large before", growing=True)
def _large_ties(rng: np.random.Generator, draw: Draw, d: int, most: int) -> Rows:
    return [[column] for column in range(d)] * CROWD, draw(most)


@_shape("the new row changes which count is the largest")
def _argmax(rng: np.random.Generator, draw: Draw, d: int, most: int) -> Rows:
    times = int(rng.integers(1, 5))
    return [[0]] * times + [[d - 1]] * (times - int(rng.integers(0, 2))), [d - 1]


@_shape("the new row changes the range of the counts")
def _range(rng: np.random.Generator, draw: Draw, d: int, most: int) -> Rows:
    # Either the largest count rises, or the only zero goes.
    if rng.random() < 0.5:
        return [[0]] * int(rng.integers(1, 9)), [0]
    return [[column] for column in range(1, d)] * int(rng.integers(1, 4)), [0]


@_shape("the new row has a new column")
def _new_column(rng: np.random.Generator, draw: Draw, d: int, most: int) -> Rows:
    rows = [[column for column in row if column != d - 1] for row in _some(rng, draw, 1, most)]
    rest = [column for column in draw(most) if column != d - 1]
    return rows, [*rest[: most - 1], d - 1]


@_shape("the new row repeats another")
def _repeats(rng: np.random.Generator, draw: Draw, d: int, most: int) -> Rows:
    row = draw(most)
    return [*_some(rng, draw, 1, most), row], row


@_shape(MANY, growing=True)
def _one_of_many(rng: np.random.Generator, draw: Draw, d: int, most: int) -> Rows:
    return [[column] for column in range(d - 1)] * (CROWD // 2), [0, d - 1][: min(d, most)]


@_shape("the new row is the smallest")
def _smallest(rng: np.random.Generator, draw: Draw, d: int, most: int) -> Rows:
    return _some(rng, draw, min(2, most), most), draw(1)


@_shape("one more of the same")
def _one_more(rng: np.random.Generator, draw: Draw, d: int, most: int) -> Rows:
    # Whatever is chosen by comparing a count with the noise changes somewhere along these.
    return [[0]] * int(rng.integers(1, 16)), [0]


@_shape("one column has nearly all")
def _crowd(rng: np.random.Generator, draw: Draw, d: int, most: int) -> Rows:
    return [[0]] * CROWD, draw(int(rng.integers(1, most + 1)))


@_shape("the new row tips a tie within all other rows")
def _tie_within(rng: np.random.Generator, draw: Draw, d: int, most: int) -> Rows:
    # Where rows are cut by what others hold, all of them change together.
    row = list(range(min(d, most)))
    return [row] * int(rng.integers(1, 6)), [int(rng.integers(len(row)))]


@_shape("as many large rows as columns, and one more", growing=True)
def _as_many(rng: np.random.Generator, draw: Draw, d: int, most: int) -> Rows:
    # What weighs rows that are cut against noise on all columns changes its mind here, or at twice as many.
    return [draw(most) for _ in range(d)], draw(most)


@_shape("twice as many large rows as columns, and one more", growing=True)
def _twice_as_many(rng: np.random.Generator, draw: Draw, d: int, most: int) -> Rows:
    return [draw(most) for _ in range(2 * d)], draw(most)


@_shape("the new row is the first of its size")
def _first_of_its_size(rng: np.random.Generator, draw: Draw, d: int, most: int) -> Rows:
    # Others are all of one size: a limit between the two sizes cuts the new row alone.
    size = int(rng.integers(1, most + 1))
    return [draw(1) for _ in range(rng.integers(1, 9))], draw(size)
