"""Tests whether two samples have the same distribution. Exact for any distribution: discrete, heavy-tailed, few trials.

If they do, every split of the pooled trials into old and new is equally likely. A cell of twelve trials has 924 splits, too
few to decide anything; the cells of one mechanism together have enough. The sum of the scores of the new trials over all
cells is compared with its distribution over the splits by Chernoff's bound, whose moment generating function is exact.
Therefore a p-value is never too small. Imported by `new_seed`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from dpbench.numerics.arrays import Floats
from dpbench.numerics.welch import ROUNDING

FAR = 0.05
"""Spread of logarithms above which a cell gets less weight: it says little about shifts of a few percent."""
_STEPS = np.geomspace(0.02, 500.0, 36)
LAMBDAS: Floats = np.concatenate([_STEPS, -_STEPS])
"""Arguments at which moment generating functions are computed; the bound is the minimum over them."""


@dataclass(frozen=True)
class PooledScores:
    """One column of one cell, ready to be tested: one score per pooled trial, and the sum over the `drawn` trials."""

    scores: Floats
    drawn: int
    total: float
    """Sum of the scores of the smaller of the two samples."""
    sign: float
    """1 if that is the new sample, otherwise -1."""


def location(x: Floats, y: Floats) -> PooledScores:
    """Scores that detect a shift. Positive values are replaced by their logarithms, because scales of noise change by factors."""
    pooled = np.concatenate([x, y])
    positive = bool((pooled > 0).all())
    values = np.log(pooled) if positive else pooled
    spread = values.std()
    weight = min(1.0, FAR / spread) if positive and spread > 0 else 1.0
    return _sample(values, x.size, y.size, 0.0 if _constant(pooled) else weight)


def dispersion(x: Floats, y: Floats) -> PooledScores:
    """Scores that detect a change of the spread over trials: distances from the pooled median."""
    pooled = np.concatenate([x, y])
    return _sample(np.abs(pooled - np.median(pooled)), x.size, y.size, 0.0 if _constant(pooled) else 1.0)


def _constant(pooled: Floats) -> bool:
    """Whether only the last digits differ, which depend on rounding and libraries and say nothing."""
    return bool(np.ptp(pooled) <= ROUNDING * np.abs(pooled).max())


def _sample(values: Floats, old: int, new: int, weight: float) -> PooledScores:
    centred = values - values.mean()
    spread = centred.std()
    scores = weight * centred / spread if weight and spread else np.zeros(values.size)
    fewer_new = new <= old
    part = scores[old:] if fewer_new else scores[:old]
    return PooledScores(scores, part.size, float(part.sum()), 1.0 if fewer_new else -1.0)


def log_moments(samples: list[PooledScores]) -> Floats:
    """The logarithm of the moment generating function of each sample's sum at LAMBDAS, over all equally likely splits."""
    moments = np.zeros((len(samples), LAMBDAS.size))
    shapes: dict[tuple[int, int], list[int]] = {}
    for i, sample in enumerate(samples):
        shapes.setdefault((sample.scores.size, sample.drawn), []).append(i)
    for (size, drawn), places in shapes.items():
        for start in range(0, len(places), 2000):  # keeps the table below at about ten megabytes
            part = places[start : start + 2000]
            moments[part] = _log_moments(np.stack([samples[i].sign * samples[i].scores for i in part]), size, drawn)
    return moments


def _log_moments(scores: Floats, size: int, drawn: int) -> Floats:
    # The mean of exp(λ Σ a) over all subsets of `drawn` scores: an elementary symmetric polynomial in exp(λ a). The mean of
    # the largest ones is subtracted first, so that the largest product is 1.
    powers = scores[:, :, None] * LAMBDAS
    largest = np.sort(powers, axis=1)[:, size - drawn :].mean(axis=1)
    sums = np.zeros((drawn + 1, scores.shape[0], LAMBDAS.size))
    sums[0] = 1.0
    with np.errstate(all="ignore"):
        for i in range(size):
            sums[1:] = sums[1:] + sums[:-1] * np.exp(powers[:, i] - largest)
        logs = np.log(sums[drawn]) + drawn * largest
    # If the numbers are too large for doubles, this argument gives no bound.
    logs[~np.isfinite(logs)] = np.inf
    return logs - (gammaln(size + 1) - gammaln(drawn + 1) - gammaln(size - drawn + 1))


def p_value(samples: list[PooledScores], moments: Floats) -> float:
    """Two-sided joint p-value of several cells, an upper bound. `moments`: their rows of `log_moments`."""
    total = sum(sample.sign * sample.total for sample in samples)
    bound = moments.sum(axis=0) - LAMBDAS * total
    half = LAMBDAS.size // 2
    return min(1.0, 2.0 * float(np.exp(min(bound[:half].min(), bound[half:].min()))))


def shared_noise(trials: Floats) -> float:
    """p-value of the hypothesis that the trials of several cells (one row per cell) are independent of each other.

    For independent cells, the sum over cells of standardised residuals is nearly normal in each trial. If cells share their
    noise, all of them rise and fall together.
    """
    from scipy.stats import chi2

    centred = trials - trials.mean(axis=1, keepdims=True)
    spread = centred.std(axis=1, keepdims=True)
    lively = (spread > ROUNDING * np.abs(trials).max(axis=1, keepdims=True)).ravel()
    cells, count = int(lively.sum()), trials.shape[1]
    if cells < 2 or count < 3:
        return 1.0
    sums = (centred[lively] / spread[lively]).sum(axis=0)
    return float(chi2.sf(np.dot(sums, sums) / cells * (count - 1) / count, count - 1))
