"""Groups of columns with similar counts, and their noisy averages (gs, Figures 2 and 4)."""

from __future__ import annotations

import numpy as np


def group_ids(d: int, w: int) -> np.ndarray:
    """g_w as a vector: the group of each position in sorted order. ⌊d/w⌋ groups of w; the last holds w + (d mod w)."""
    return np.minimum(np.arange(d) // w, d // w - 1)


def group_sums(counts: np.ndarray, order: np.ndarray, w: int) -> tuple[np.ndarray, np.ndarray]:
    """The sum of the counts of each group, and the sizes of the groups, which are runs of w along `order`."""
    starts = np.arange(counts.size // w) * w
    sizes = np.diff(starts, append=counts.size)
    return np.add.reduceat(counts.take(order), starts), sizes


def spread(averages: np.ndarray, sizes: np.ndarray, order: np.ndarray) -> np.ndarray:
    """The average of its group for every column."""
    published = np.empty(order.size)
    published[order] = np.repeat(averages, sizes)
    return published


def averages_of(values: np.ndarray, grouping: np.ndarray) -> np.ndarray:
    """The average of each group; `grouping` holds the group index of each value."""
    return np.bincount(grouping, weights=values) / np.bincount(grouping)
