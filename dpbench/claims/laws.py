"""What trials say about the mean of a metric: lower and upper confidence limits at every level.

Three cases: a number without noise is known; a metric with few possible values (a precision) has an exact interval, which
for hits and misses is Clopper and Pearson's; every other mean has Student's interval, widened by Hall's for skewed errors.
Imported by the cells.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

DRAWS = 9_999
"""Number of points that represent a mean when means are combined: enough for tails of 1 / DRAWS."""
FEWEST = 20
"""A mean of fewer noisy trials decides nothing, unless its range is known: a bad trial in twenty may not have occurred yet."""
FEWEST_EXPECTED = 8
"""The same for expected values: their last noise, which makes the tail, is averaged out."""


def fewest(groups: int) -> int:
    """How many trials several intervals need to hold together: each one reaches further into the tail, which few trials do not
    show."""
    return math.ceil(FEWEST * (1 + math.log10(max(1, groups))))


RARE, FACTOR = 0.05, 30.0
"""A disaster that trials must be able to show: so many of them are so many times worse."""


def enough(error: float) -> int:
    """The trials among which a rare disaster is missing with at most this probability: 59 for 5 %."""
    return math.ceil(math.log(error) / math.log1p(-RARE))


def unseen(law: ConfidenceDistribution) -> ConfidenceDistribution:
    """The limits of a mean of errors if a rare disaster may not have occurred yet: it may be larger by what one would add."""
    rise = 1 + RARE * (FACTOR - 1)

    def quantile(levels: np.ndarray) -> np.ndarray:
        ends = law.quantile(levels)
        return np.where(levels < 0.5, ends, rise * ends)

    return replace(law, quantile=quantile, widened=True)


SKEWNESS = 1.5
"""The skewness of a sample is too small by about this factor if the distribution has a long tail."""


@dataclass(frozen=True)
class ConfidenceDistribution:
    """Where a mean may lie: maps the level of a confidence limit to the limit."""

    mean: float
    quantile: Callable[[np.ndarray], np.ndarray]
    """An increasing function. Its lower half bounds the mean from below, its upper half from above."""
    certain: bool = False
    exact: bool = False
    """Whether the limits hold for every distribution within a known range, whatever the number of trials."""
    widened: bool = False
    """Whether the trials are too few to show a rare disaster, which the limits allow for."""

    def points(self, draws: int = DRAWS) -> np.ndarray:
        """Equally likely values, ascending."""
        return self.quantile((np.arange(draws) + 0.5) / draws)


def known(value: float) -> ConfidenceDistribution:
    """A number without noise."""
    return ConfidenceDistribution(value, lambda levels: np.full(len(levels), value), certain=True)


def unbounded(value: float) -> ConfidenceDistribution:
    """The same value in all trials, of a number that could have had any other value."""
    return ConfidenceDistribution(value, lambda levels: np.where(levels < 0.5, -np.inf, np.inf), exact=True)


def of_mean(
    values: np.ndarray, least: float | None = None, largest: float | None = None, *, averaged: bool = False
) -> ConfidenceDistribution:
    """Confidence limits of a mean of independent values, between `least` and `largest` where these are known.

    `averaged`: each value is itself a mean over trials, and therefore less skewed.

    Hall's transformation of t (1992) removes the skewness of the values, as estimated from the sample. Few values do not show
    the tail of their distribution: the skewness may be larger or smaller by `slack`, and below 10 values the interval is wider
    by `reach`. Both are set so that 95 % intervals cover for a squared Laplace variable, the longest tail of a mechanism's
    error (tests/claims/test_coverage.py).
    """
    n, mean = len(values), float(values.mean())
    off = values - mean
    slack = 0.5 if averaged else min(1.0, 7 / n)
    reach = 1.0 if averaged else max(1.0, 10 / n)
    skewness = float((off**3).mean() / (off**2).mean() ** 1.5) if off.any() else 0.0
    error = math.sqrt(float((off**2).sum()) / (n - 1) / n)

    def quantile(levels: np.ndarray) -> np.ndarray:
        t = np.multiply(-reach, _student(n, levels.tobytes()))  # of the estimate minus the true mean
        candidates = [t] + [_hall(t, SKEWNESS * skewness + sign * slack, n) for sign in (-1, 1)]
        widest = np.where(levels < 0.5, np.max(candidates, axis=0), np.min(candidates, axis=0))
        return np.clip(
            mean - error * widest, -np.inf if least is None else least, np.inf if largest is None else largest
        )

    return ConfidenceDistribution(mean, quantile)


@functools.lru_cache(maxsize=256)
def _student(n: int, levels: bytes) -> NDArray[np.float64]:
    """Student's quantiles, cached because the same levels occur often."""
    from scipy.special import stdtrit

    return np.asarray(stdtrit(n - 1, np.frombuffer(levels)), dtype=np.float64)


def _hall(t: np.ndarray, skewness: float, n: int) -> np.ndarray:
    """The studentised mean whose transform is t: T + γ T²/(3 √n) + γ² T³/(27 n) + γ/(6 √n) = t, solved for T."""
    if abs(skewness) < 1e-6:
        return t
    root = math.sqrt(n)
    return 3 * root / skewness * (np.cbrt(1 + skewness * (t - skewness / (6 * root)) / root) - 1)


def of_steps(values: np.ndarray, largest: float) -> ConfidenceDistribution:
    """Confidence limits of the mean of a metric between 0 and `largest`, for any distribution (Gaffke 2005).

    Between the sorted values, and between them and the two ends, an unknown share of the probability may lie: the spacings of
    uniform order statistics. If all values are equal, this gives the rule of three; for hits and misses it gives the interval
    of Clopper and Pearson.
    """

    def quantile(levels: np.ndarray) -> np.ndarray:
        low, high = _spacings(tuple(values / largest))
        at = np.minimum((levels * DRAWS).astype(int), DRAWS - 1)
        return largest * np.where(levels < 0.5, low[at], high[at])

    return ConfidenceDistribution(float(values.mean()), quantile, exact=True)


@functools.lru_cache(maxsize=64)
def _spacings(values: tuple[float, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Draws of the lowest and of the highest mean of values between 0 and 1, ascending."""
    rng = np.random.default_rng(20_130)  # fixed seed: the spacings depend only on the values
    points, counts = np.unique(values, return_counts=True)
    # U at the first and at the last of each run of equal values, from the gaps between them.
    gaps = np.ravel([np.ones(len(points)), counts - 1], order="F")
    shares = rng.standard_gamma(np.append(gaps, 1.0), (DRAWS, len(gaps) + 1))
    order = np.cumsum(shares, axis=1)[:, :-1] / shares.sum(axis=1, keepdims=True)
    first, last = order[:, 0::2], order[:, 1::2]
    high = 1 - last @ np.diff(np.append(points, 1.0))
    low = (1 - first) @ np.diff(np.insert(points, 0, 0.0))
    return np.sort(low), np.sort(high)


def of_tail(values: np.ndarray, printed: float) -> ConfidenceDistribution:
    """Confidence limits of the probability that one trial is at least as extreme as a printed one, on the side where it lies:
    twice the smaller tail, at most 1."""
    sides = [(values >= printed).astype(float), (values <= printed).astype(float)]
    smaller = of_steps(min(sides, key=lambda side: side.mean()), 1.0)

    def quantile(levels: np.ndarray) -> np.ndarray:
        return np.minimum(1.0, 2 * smaller.quantile(levels))

    return ConfidenceDistribution(min(1.0, 2 * smaller.mean), quantile, exact=True)


def coarse(values: np.ndarray) -> bool:
    """Whether values are so discrete that Student's interval is wrong: their deviation is below one step."""
    points = np.unique(values)
    return len(points) == 1 or float(values.std(ddof=1)) < float(np.diff(points).min())


def hull(first: ConfidenceDistribution, other: ConfidenceDistribution) -> ConfidenceDistribution:
    """The wider of both limits."""

    def quantile(levels: np.ndarray) -> np.ndarray:
        ends = first.quantile(levels), other.quantile(levels)
        return np.where(levels < 0.5, np.minimum(*ends), np.maximum(*ends))

    return ConfidenceDistribution(first.mean, quantile)
