"""Haar wavelets over a domain padded to a power of two, unnormalised: integers in, integers out.

The coefficient of a node is the sum of its left half minus that of its right half; the last place holds the total. One
individual moves one coefficient per level and the total by one each, so the sensitivity is ⌈log₂ m⌉ + 1 with equal noise
everywhere. This equals the weighting of Xiao et al.: divided by the node's width, a coefficient and its noise become their
average and its noise, which is inversely proportional to the width.
"""

from __future__ import annotations

import numpy as np

from dpbench.numerics import dyadic
from dpbench.numerics.dyadic import At


def offsets(size: int) -> np.ndarray:
    """First place of levels 1 to h, then that of the total, then the number of places."""
    starts = dyadic.offsets(size)[1:] - size
    return np.append(starts, starts[-1] + 1)


def coefficients(cells: np.ndarray, counts: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Places and values of all non-zero coefficients."""
    starts = offsets(size)
    places, values = [], []
    index, total = cells, counts
    for start in starts[:-2]:
        signed = np.where(index & 1, -total, total)
        parent, difference = dyadic.halve(index, signed)
        index, total = dyadic.halve(index, total)
        places.append((start + parent)[difference != 0])
        values.append(difference[difference != 0])
    if total.size:
        places.append(starts[-2:-1])
        values.append(total)
    empty = np.empty(0, dtype=np.int64)
    return np.concatenate([empty, *places]), np.concatenate([empty, *values])


def range_sum(at: At, size: int, lo: np.ndarray, hi: np.ndarray) -> np.ndarray:
    """The sum over each [lo, hi): that below `hi` minus that below `lo`."""
    return _below(at, size, hi) - _below(at, size, lo)


def _below(at: At, size: int, x: np.ndarray) -> np.ndarray:
    """The sum over [0, x): a node of width L and coefficient c gives c/L to its left cells, -c/L to its right ones."""
    starts = offsets(size)
    height = starts.size - 2
    x = dyadic.to_padded_end(x, size)
    total = at(np.broadcast_to(starts[-2], x.shape)) * (x / 2.0**height)
    for level, start in enumerate(starts[:-2], 1):
        width = 1 << level
        inside = x & (width - 1)
        chosen = np.flatnonzero(inside)  # at a node's edge its two halves cancel
        inside = inside[chosen]
        share = np.minimum(inside, width - inside) / width
        total[chosen] += at(start + (x[chosen] >> level)) * share
    return total
