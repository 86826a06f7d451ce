"""How far a vector of released counts is from the true one: as a distribution, and as a ranking."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def distribution(counts: np.ndarray, floor: float) -> np.ndarray:
    """Counts as a distribution, those of zero or less set to `floor` first (analytics, Section 6.3)."""
    positive = np.where(counts > 0, counts, floor)
    return positive / positive.sum()


def kl_divergence(p: np.ndarray, q: np.ndarray) -> float:
    """D(p‖q) = Σ p ln(p/q) of two distributions without zeros."""
    return float(np.sum(p * np.log(p / q)))


def top_thresholds(counts: np.ndarray, ks: Sequence[int]) -> np.ndarray:
    """The K-th largest count for each K: a column that reaches it belongs to the top K, ties for the last place included."""
    falling = -np.sort(-counts, axis=0, kind="stable")
    return falling[np.asarray(ks, dtype=np.int64) - 1]


def precision_at(released: np.ndarray, counts: np.ndarray, thresholds: np.ndarray, ks: Sequence[int]) -> np.ndarray:
    """For each K, the share of the K highest released columns that belong to the true top K.

    Equal released values have no order, so this is the mean over all orders of them: groups that share a value, as GS
    publishes them, must not profit from the order in which columns happen to be numbered.
    """
    order = np.argsort(-released, kind="stable")
    falling, true = -released[order], counts[order]
    result = np.empty(len(ks))
    for i, k in enumerate(ks):
        begin, end = np.searchsorted(falling, falling[k - 1], "left"), np.searchsorted(falling, falling[k - 1], "right")
        right = true[:end] >= thresholds[i]
        result[i] = (right[:begin].sum() + (k - begin) * right[begin:].mean()) / k
    return result


def ranking_precision(top: np.ndarray, counts: np.ndarray, thresholds: np.ndarray, ks: Sequence[int]) -> np.ndarray:
    """The same for a released ranking `top` of columns, best first: for each K, the share of its first K columns. Missing
    places of a short ranking count as wrong."""
    right = counts[top[:, None]] >= thresholds
    return np.array([right[:k, i].sum() / k for i, k in enumerate(ks)])
