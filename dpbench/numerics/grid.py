"""Products of dyadic ranges: the binary trees of several attributes. A rectangle needs only few nodes (sparse).

A node is one node of each attribute's tree (`dyadic`) and covers a rectangle. Its place is that of a cell in a domain whose
attributes have the trees' nodes as values, the last one varying fastest. One individual is in one node per combination of
levels, so the sensitivity is the product of (⌈log₂ m_i⌉ + 1) over the attributes. With one attribute these are dyadic ranges.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpbench.numerics import boxes, dyadic
from dpbench.numerics.dyadic import At

BLOCK = 2**21
"""Nodes looked up at a time."""

COMBINATIONS = 2**20
"""Most combinations of levels whose nodes are counted one by one."""


def sides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Number of nodes of each attribute's tree; their product is the number of places."""
    return tuple(int(dyadic.offsets(length)[-1]) for length in shape)


def levels(shape: tuple[int, ...]) -> int:
    """Combinations of levels: how many nodes each cell is in."""
    return math.prod((length - 1).bit_length() + 1 for length in shape)


def most_nodes(nonzeros: int, shape: tuple[int, ...]) -> int:
    """An upper bound of the number of nodes above `nonzeros` non-zero cells."""
    crude = min(nonzeros * levels(shape), math.prod(sides(shape)))
    if levels(shape) > COMBINATIONS:
        return crude
    widths = np.ones(1)
    for length in shape:
        widths = np.outer(widths, np.diff(dyadic.offsets(length))).ravel()
    return min(crude, int(np.minimum(widths, nonzeros).sum()))


def nodes(
    cells: NDArray[np.int64], counts: NDArray[np.int64], shape: tuple[int, ...]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Sorted places and sums of all nodes above a non-zero cell, one attribute after the other."""
    places, sums = cells, counts
    for attribute, length in enumerate(shape):
        starts = dyadic.offsets(length)
        stride = math.prod(shape[attribute + 1 :])  # the attributes after this one are still cells
        rest, low = np.divmod(places, stride)
        high, index = np.divmod(rest, length)
        # With this attribute varying fastest, siblings are adjacent on every level.
        order = np.lexsort((index, low, high))
        high, low, index, total = high[order], low[order], index[order], sums[order]
        parts, held = [], []
        for start in starts[:-1]:
            parts.append((high * starts[-1] + start + index) * stride + low)
            held.append(total)
            high, low, index, total = _halved(high, low, index, total)
        places, sums = np.concatenate(parts), np.concatenate(held)
    order = np.argsort(places)
    return places[order], sums[order]


def _halved(
    high: NDArray[np.int64], low: NDArray[np.int64], index: NDArray[np.int64], total: NDArray[np.int64]
) -> tuple[NDArray[np.int64], ...]:
    """The next level up of one attribute: sums of siblings."""
    parent = index >> 1
    new = np.ones(parent.size, dtype=bool)
    new[1:] = (np.diff(parent) != 0) | (np.diff(low) != 0) | (np.diff(high) != 0)
    first = np.flatnonzero(new)
    return high[first], low[first], parent[first], np.add.reduceat(total, first) if first.size else total


def rectangle_sum(at: At, shape: tuple[int, ...], lo: NDArray[np.int64], hi: NDArray[np.int64]) -> NDArray[np.float64]:
    """The sum over each rectangle, as that of the products of at most two nodes per level and attribute."""
    covers = [dyadic.cover(lo[:, i], hi[:, i], length) for i, length in enumerate(shape)]
    # How many products each rectangle is made of, and how many come before it.
    sizes = np.prod([np.bincount(which, minlength=lo.shape[0]) for which, _ in covers], axis=0, dtype=np.int64)
    ends = np.cumsum(sizes)
    total = np.zeros(lo.shape[0])
    first = 0
    while first < total.size:
        last = max(first + 1, int(np.searchsorted(ends, ends[first] - sizes[first] + BLOCK, side="right")))
        which, place = np.arange(first, last), np.zeros(last - first, dtype=np.int64)
        for (owner, node), width in zip(covers, sides(shape), strict=True):
            begin, end = np.searchsorted(owner, which), np.searchsorted(owner, which, side="right")
            joined = np.repeat(np.arange(which.size), end - begin)
            nth = np.arange(joined.size) - np.repeat(np.cumsum(end - begin) - (end - begin), end - begin)
            place = place[joined] * width + node[begin[joined] + nth]
            which = which[joined]
        total[first:last] = np.bincount(which - first, weights=at(place), minlength=last - first)
        first = last
    return total


def range_sum(at: At, shape: tuple[int, ...], lo: NDArray[np.int64], hi: NDArray[np.int64]) -> NDArray[np.float64]:
    """The sum over each range of the line, which is a few rectangles."""
    return sum((rectangle_sum(at, shape, *part) for part in boxes.of_ranges(lo, hi, shape)), np.zeros(lo.size))
