"""Groups of columns with similar counts, and their noisy averages (gs, Figures 2 and 4)."""

from __future__ import annotations

import numpy as np

from dpbench.privacy import Noise


def group_ids(d: int, w: int) -> np.ndarray:
    """g_w as a vector: the group of each position in sorted order. ⌊d/w⌋ groups of w; the last holds w + (d mod w)."""
    return np.minimum(np.arange(d) // w, d // w - 1)


def smooth(counts: np.ndarray, order: np.ndarray, w: int, scale: float, noise: Noise) -> np.ndarray:
    """Module M_g: every count replaced by its group's average plus Lap(scale); groups are runs of w along `order`.

    Noise is added to the sums, which are integers, scaled by the size of the group: the same distribution.
    """
    starts = np.arange(counts.size // w) * w
    sizes = np.diff(starts, append=counts.size)
    sums = np.add.reduceat(counts[order], starts)
    noisy = noise.laplace(sums, scale=scale * sizes, step="averages") / sizes
    published = np.empty(counts.size)
    published[order] = np.repeat(noisy, sizes)
    return published


def smoothed_truth(counts: np.ndarray, order: np.ndarray, w: int) -> np.ndarray:
    """Every count replaced by its group's average, without noise."""
    starts = np.arange(counts.size // w) * w
    sizes = np.diff(starts, append=counts.size)
    averages = np.empty(counts.size)
    averages[order] = np.repeat(np.add.reduceat(counts[order], starts) / sizes, sizes)
    return averages


def averages_of(values: np.ndarray, grouping: np.ndarray) -> np.ndarray:
    """The average of each group; `grouping` holds the group index of each value."""
    return np.bincount(grouping, weights=values) / np.bincount(grouping)
