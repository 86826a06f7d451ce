"""NoiseFirst: noise on every cell, then neighbours with similar noisy counts are averaged."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from dpbench.data import Contingency, Summary
from dpbench.data.stages import Stage
from dpbench.data.summary import Dense
from dpbench.mechanisms.histograms._merging import best_buckets
from dpbench.mechanisms.histograms.hierarchy import Written
from dpbench.privacy import Noise


@dataclass(frozen=True, kw_only=True)
class NoiseFirst(Written, name="noise_first"):
    """x + Lap(1/ε) on every cell, merged into the buckets that make the estimated squared error least.

    Xu, Zhang, Xiao, Yang, Yu, Winslett: Differentially Private Histogram Publication, VLDB Journal 22(6), 2013 (ICDE 2012). Of a
    histogram with B buckets, whose squared distance from the n noisy counts is E, the squared error is estimated as
    E - 2 (n - 2B)/ε²; it is least where E + 4B/ε² is. Only noisy counts are looked at, so merging costs no budget.
    """

    paper = "Xu, Zhang, Xiao, Yang, Yu, Winslett: Differentially Private Histogram Publication, VLDB Journal 2013"
    place = (
        "Algorithm NoiseFirst, with its estimate of the error; the best number of buckets and the buckets in one pass"
    )
    fits = 2**15
    label, look = "NoiseFirst", 15

    def publish(self, data: Contingency, epsilon: float, noise: Noise) -> Dense:
        x = self.line(data)
        noisy = noise.laplace(x, scale=1 / epsilon, step="cells")
        starts = best_buckets(noisy, 4 / epsilon**2)
        lengths = np.diff(starts, append=data.size)
        chosen = {"buckets": starts.size, "entries": data.size}
        release = Dense(size=data.size, shape=data.shape, weights=_means(noisy, starts, lengths), chosen=chosen)
        return replace(release, stages=(Stage("grouping", partial(_merged, release, x, starts, lengths)),))


def _means(values: np.ndarray, starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Every cell with the mean of its bucket."""
    return np.repeat(np.add.reduceat(values, starts) / lengths, lengths)


def _merged(release: Dense, x: np.ndarray, starts: np.ndarray, lengths: np.ndarray) -> Summary:
    return replace(release, weights=_means(x, starts, lengths))
