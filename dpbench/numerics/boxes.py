"""Rectangles in a domain of several attributes, which is flattened to a line, the last attribute varying fastest.

A rectangle is given by the first and the end coordinate of every attribute, lo <= x < hi. Data and summaries turn a
rectangle into ranges of the line, or a range of the line into rectangles. No array is as large as the domain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbench.errors import UserError

BLOCK = 2**20
"""Ranges of the line processed at a time."""

MOST = 2**28
"""Most ranges that rectangles may be cut into: a few minutes of work."""

Box = tuple[NDArray[np.int64], NDArray[np.int64]]
"""lo and hi of some rectangles: one row per rectangle, one column per attribute."""

RangeSums = Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[Any]]
"""The sum over each range lo <= cell < hi of the line."""


def checked(lo: ArrayLike, hi: ArrayLike, shape: tuple[int, ...]) -> Box:
    """Rectangles as two arrays of integer coordinates. Raises unless they lie inside the shape."""
    low, high = np.broadcast_arrays(np.asarray(lo, dtype=np.int64), np.asarray(hi, dtype=np.int64))
    if low.ndim == 0 or low.shape[-1] != len(shape):
        given = low.shape[-1] if low.ndim else 0
        raise UserError(f"a rectangle has {given} coordinates: expected {len(shape)}, as many as the shape {shape}")
    if np.any(low < 0) or np.any(high > np.array(shape)) or np.any(low > high):
        raise UserError(f"a rectangle must have 0 <= lo <= hi <= {shape} in every attribute")
    return low.reshape(-1, len(shape)), high.reshape(-1, len(shape))


def sums(ranges: RangeSums, lo: NDArray[np.int64], hi: NDArray[np.int64], shape: tuple[int, ...]) -> NDArray[Any]:
    """The sum over each rectangle, from the sums over ranges of the line: one range per row of the rectangle."""
    rows = np.prod((hi - lo)[:, :-1], axis=1, dtype=np.float64)
    if rows.sum() > MOST:
        hint = "ask for fewer or smaller ones, or publish with transform='dyadic_product'"
        raise UserError(f"these rectangles have {rows.sum():.3g} rows, and at most {MOST:.3g} can be summed: {hint}")
    total = np.zeros(lo.shape[0])
    for which, starts, ends in _rows(lo, hi, rows.astype(np.int64), shape):
        total += np.bincount(which, weights=ranges(starts, ends), minlength=total.size)
    return total


def _rows(
    lo: NDArray[np.int64], hi: NDArray[np.int64], rows: NDArray[np.int64], shape: tuple[int, ...]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]]:
    """The rectangles' rows as ranges of the line, block by block, each with the number of its rectangle."""
    ends = np.cumsum(rows)
    for first in range(0, int(ends[-1]) if ends.size else 0, BLOCK):
        row = np.arange(first, min(first + BLOCK, int(ends[-1])))
        which = np.searchsorted(ends, row, side="right")
        rest = row - (ends - rows)[which]  # the number of the row in its rectangle
        start = np.zeros(row.size, dtype=np.int64)
        step = 1
        for attribute in range(len(shape) - 1, -1, -1):
            at = lo[which, attribute]
            if attribute < len(shape) - 1:
                rest, offset = np.divmod(rest, (hi - lo)[which, attribute])
                at = at + offset
            start += at * step
            step *= shape[attribute]
        yield which, start, start + (hi - lo)[which, -1]


def of_ranges(lo: NDArray[np.int64], hi: NDArray[np.int64], shape: tuple[int, ...]) -> Iterator[Box]:
    """Rectangles that together make up the ranges lo <= cell < hi of the line: at most 2 d - 1 per range, some empty.

    From the last attribute to the first: first the partial rows at either end, then the whole rows.
    """
    for attribute in range(len(shape) - 1, 0, -1):
        length = shape[attribute]
        up, down = -(-lo // length), hi // length  # the whole rows between
        inside = up > down  # both ends lie in one row
        yield _part(lo, np.where(inside, hi, up * length), attribute, shape)
        yield _part(np.where(inside, hi, down * length), hi, attribute, shape)
        lo, hi = np.where(inside, 0, up), np.where(inside, 0, down)
    yield _part(lo, hi, 0, shape)


def _part(lo: NDArray[np.int64], hi: NDArray[np.int64], attribute: int, shape: tuple[int, ...]) -> Box:
    """A piece of one row of `attribute`: the attributes before it are fixed, those after it are whole."""
    first, end = (np.zeros((lo.size, len(shape)), dtype=np.int64) for _ in range(2))
    end[:, attribute + 1 :] = shape[attribute + 1 :]
    rest, length = lo, shape[attribute]
    first[:, attribute] = lo % length if attribute else lo
    end[:, attribute] = first[:, attribute] + (hi - lo)
    for before in range(attribute - 1, -1, -1):
        rest = rest // shape[before + 1]
        first[:, before] = rest % shape[before] if before else rest
        end[:, before] = first[:, before] + 1
    return first, end
