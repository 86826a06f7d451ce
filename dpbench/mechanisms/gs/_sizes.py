"""The error of every group size, for Figure 8 of gs: the real error beside the estimated ones.

`tuning_curve` gives the estimated error of every w in about d ln d steps, because the estimate is sorted. In the order of the
noisy sample the counts are not sorted, so their error takes d steps per w. Imported by `study` only.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpbench.mechanisms.gs._grouping import averages_of, group_ids
from dpbench.numerics.compiled import kernel
from dpbench.numerics.laplace import mean_abs

WORK = 5_000_000_000
"""Most distances computed for one curve: enough for every w up to 70000 columns."""
PER_DECADE = 12
"""Points of a stored curve for each power of ten."""


def sizes(d: int, work: int = WORK) -> NDArray[np.int64]:
    """The group sizes to evaluate: all, or, if d² is too much, all small ones and then constant ratios."""
    most = max(2, work // d)
    if d <= most:
        return np.arange(1, d + 1)
    dense = most // 2
    return np.unique(np.concatenate([np.arange(1, dense + 1), np.geomspace(dense, d, most - dense).astype(np.int64)]))


@kernel()
def real_curve(counts, sizes, scale, rng):  # type: ignore[no-untyped-def]
    """L1 between the counts, in the order of the sample, and a simulated release of them, for each group size."""
    d = counts.size
    curve = np.empty(sizes.size)
    for i in range(sizes.size):
        w = sizes[i]
        groups = d // w
        l1 = 0.0
        for g in range(groups):
            begin = g * w
            end = begin + w if g < groups - 1 else d
            total = 0.0
            for j in range(begin, end):
                total += counts[j]
            v = total / (end - begin) + scale / w * (rng.standard_exponential() - rng.standard_exponential())
            for j in range(begin, end):
                l1 += abs(counts[j] - v)
        curve[i] = l1
    return curve


def expected_l1(counts: np.ndarray, w: int, scale: float) -> float:
    """The expected L1 of a release with group size w, in closed form; counts in the order of the sample."""
    g_w = group_ids(counts.size, w)
    return float(mean_abs(averages_of(counts, g_w)[g_w] - counts, scale / w).sum())


def points(at: NDArray[np.int64], curve: np.ndarray) -> dict[int, float]:
    """A curve as averages over ranges of w with constant ratio, each named by its smallest w."""
    ranges = np.floor(np.log10(at) * PER_DECADE + 1e-9).astype(np.int64)
    first = np.flatnonzero(np.diff(ranges, prepend=-1))
    averages = np.add.reduceat(curve, first) / np.diff(first, append=at.size)
    return {int(at[start]): float(value) for start, value in zip(first, averages, strict=True)}
