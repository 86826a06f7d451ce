"""Dyadic ranges: the binary tree of sums over a domain, padded to a power of two; a range needs only few nodes.

Level 0 are the cells, level h = ⌈log₂ m⌉ is the root. Node i of level l covers the cells [i 2^l, (i+1) 2^l) and is
at place `offsets[l] + i`, so the leaves are places 0 to m - 1. Nodes that cover only padding are zero and have no place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np

At = Callable[[np.ndarray], np.ndarray]
"""Published value of each place."""


def offsets(size: int) -> np.ndarray:
    """First place of every level, and after the last one the number of places."""
    height = (size - 1).bit_length()
    widths = [-(-size >> level) for level in range(height + 1)]
    return np.concatenate([[0], np.cumsum(widths, dtype=np.int64)])


def nodes(cells: np.ndarray, counts: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Places and sums of all nodes above a non-zero cell: at most n log₂(m/n) + 2n of them."""
    starts = offsets(size)
    places, sums = [cells], [counts]
    index, total = cells, counts
    for start in starts[1:-1]:
        index, total = halve(index, total)
        places.append(start + index)
        sums.append(total)
    return np.concatenate(places), np.concatenate(sums)


def range_sum(at: At, size: int, lo: np.ndarray, hi: np.ndarray) -> np.ndarray:
    """The sum over each [lo, hi), as that of at most two nodes per level."""
    total = np.zeros(lo.size)
    for which, places in _chosen(lo, hi, size):
        total[which] += at(places)
    return total


def cover(lo: np.ndarray, hi: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """The nodes that make up each [lo, hi): the numbers of the ranges, ascending, and the places of their nodes."""
    parts = list(_chosen(lo, hi, size))
    which, places = (np.concatenate([part[i] for part in parts]) for i in range(2))
    order = np.argsort(which, kind="stable")
    return which[order], places[order]


def _chosen(lo: np.ndarray, hi: np.ndarray, size: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Level by level, and at either end: which ranges use a node there, and its place."""
    hi = to_padded_end(hi, size)
    for start, end in pairwise(offsets(size)):
        open_ = lo < hi
        for odd, node in ((lo & 1, lo), (hi & 1, hi - 1)):
            chosen = np.flatnonzero(odd & open_ & (start + node < end))
            yield chosen, start + node[chosen]
        lo, hi = (lo + 1) >> 1, hi >> 1


def to_padded_end(x: np.ndarray, size: int) -> np.ndarray:
    """Move an end at the end of the domain to the end of the tree: the padding is zero, and fewer nodes make up the range."""
    return np.where(x == size, 1 << (size - 1).bit_length(), x)


def consistent(places: np.ndarray, size: int) -> np.ndarray:
    """Which of the sorted places have all their ancestors among them (sparse, consistency checks for dyadic ranges)."""
    starts = offsets(size)
    bounds = np.searchsorted(places, starts)
    keep = np.zeros(places.size, dtype=bool)
    keep[bounds[-2] : bounds[-1]] = True
    parents = places[bounds[-2] : bounds[-1]] - starts[-2]
    for level in range(starts.size - 3, -1, -1):
        index = places[bounds[level] : bounds[level + 1]] - starts[level]
        # A parent that lacks an ancestor was dropped itself, so checking the parent is enough.
        kept = contains(parents, index >> 1)
        keep[bounds[level] : bounds[level + 1]] = kept
        parents = index[kept]
    return keep


def contains(known: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """Which of `asked` are in the sorted `known`."""
    if not known.size:
        return np.zeros(asked.shape, dtype=bool)
    return known[np.minimum(np.searchsorted(known, asked), known.size - 1)] == asked


def halve(index: np.ndarray, total: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The next level up: sums of siblings."""
    parent = index >> 1
    first = np.flatnonzero(np.diff(parent, prepend=-1))
    return parent[first], np.add.reduceat(total, first) if first.size else total
