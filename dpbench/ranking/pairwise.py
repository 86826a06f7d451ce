"""One setting, several mechanisms: which are as good as the best, and how much worse the others are.

All pairs are compared at once (Bonferroni over the pairs, and over the settings of a board), so that statements about the best
hold although it was chosen from the same trials. Errors are compared as logarithms: ratios of errors matter, and logarithms
of heavy-tailed errors have short tails. Rare disasters hardly move a mean of logarithms, so a mechanism is certainly better only
if its mean is, too. Imported by `standings`; imports numpy and scipy only.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpbench.numerics.arrays import Floats

LEVEL = 0.05
"""Probability that any statement of a whole board is wrong."""
EQUAL = 1e-9
"""Numbers whose relative difference is at most this are equal: closed forms that are summed in another order agree in so many
digits."""
Values = Mapping[str, Mapping[int, Floats]]
"""Errors by mechanism and data seed, one number per trial."""


@dataclass(frozen=True)
class Measure:
    """A metric by which mechanisms are compared: an error by ratio to the lowest, a share by difference to the highest."""

    metric: str
    share: bool = False
    """A share between 0 and 1, the higher the better: compared by differences."""
    steps: int = 0
    """For a share: the number of items it counts. A share that is constant in a few trials may still change by one item."""
    counts: str = ""
    """For a share of different numbers of items: the label of a setting that holds their number, such as `K`."""

    def at(self, labels: Mapping[str, Hashable]) -> Measure:
        """The measure in a setting with these labels."""
        return replace(self, steps=int(str(labels[self.counts]))) if self.counts else self

    @property
    def margin(self) -> float:
        """Competitive means: certainly within this factor of the lowest error, or less than this below the highest share."""
        return 0.05 if self.share else 1.1

    def scores(self, values: Floats) -> Floats:
        """The values that are averaged and compared; lower is better."""
        if self.share:
            return -values
        # An error of zero has no logarithm. It counts as far below every other error.
        largest = float(values.max(initial=0.0))
        return np.log(np.maximum(values, 1e-12 * largest if largest > 0 else 1.0))

    def least(self, values: Floats) -> float:
        """What an error of zero counts as beside these errors."""
        return -np.inf if self.share else 1e-12 * float(values.max(initial=0.0))

    def shown(self, apart: Floats) -> Floats:
        """Distances between scores as readers see them: ratios of errors, or differences of shares."""
        with np.errstate(over="ignore"):  # two trials may allow any ratio
            return apart if self.share else np.exp(apart)

    def least_variance(self, trials: int) -> float:
        """A lower bound of the variance of one trial: a change not seen in n trials may have probability up to 3/n."""
        return 3.0 / trials / self.steps**2 if self.share and self.steps else 0.0

    @property
    def limit(self) -> float:
        """The margin as a distance between scores."""
        return self.margin if self.share else math.log(self.margin)


@dataclass(frozen=True)
class Samples:
    """The scores of each mechanism in one setting, by data seed; lower is better."""

    names: tuple[str, ...]
    scores: tuple[tuple[Floats, ...], ...]
    """By mechanism and data seed, one number per trial."""
    floors: tuple[float, ...] = ()
    """The least variance of one trial, by mechanism; empty: zero."""
    means: Samples | None = None
    """The same errors, compared by their means instead of their geometric means; None for shares, whose scores are means."""
    by_expectation: bool = False
    """Whether the errors of all mechanisms are expectations over the last noise of a release, not sampled ones."""

    @classmethod
    def of(cls, measure: Measure, values: Values, expected: Values | None = None) -> Samples:
        """From the stored numbers by mechanism and data seed. Draws of the data on which a mechanism was not run are left out.

        `expected`: the expectations of the same trials, of the mechanisms that have them. The mean of a mechanism is that of its
        expectations: it is the same number, known better. A geometric mean of expectations is another number than one of sampled
        errors. So geometric means use expectations only if all mechanisms have them, or errors that never vary.
        """
        known = {**{name: own for name, own in values.items() if _constant(own)}, **(expected or {})}
        everywhere = bool(expected) and known.keys() == values.keys()
        around = {name: known.get(name, own) for name, own in values.items()}
        values = around if everywhere else values
        common = set.intersection(*(set(by_seed) for by_seed in values.values()))
        seeds = sorted(common)
        flat = (
            np.concatenate([by_seed[seed] for by_seed in values.values() for seed in seeds]) if seeds else np.empty(0)
        )
        least = measure.least(flat)
        scores = tuple(
            tuple(measure.scores(np.maximum(by_seed[seed], least)) for seed in seeds) for by_seed in values.values()
        )
        floors = tuple(measure.least_variance(sum(x.size for x in own)) if own else 0.0 for own in scores)
        means = None
        if not measure.share:
            means = cls(tuple(values), tuple(tuple(around_mean(by[s], least) for s in seeds) for by in around.values()))
        return cls(tuple(values), scores, floors, means, everywhere)

    def half(self, parity: int) -> Samples:
        """Every second trial."""
        return Samples(self.names, tuple(tuple(x[parity::2] for x in own) for own in self.scores), self.floors)

    def only(self, at: Sequence[int]) -> Samples:
        """Those of some mechanisms, by position."""
        floors = tuple(self.floors[i] for i in at) if self.floors else ()
        means = None if self.means is None else self.means.only(at)
        names, scores = tuple(self.names[i] for i in at), tuple(self.scores[i] for i in at)
        return replace(self, names=names, scores=scores, floors=floors, means=means)

    def draw_means(self) -> Floats:
        """The mean score by mechanism and draw of the data."""
        return np.array([[x.mean() for x in own] for own in self.scores])

    def centres(self) -> Floats:
        """The mean score of each mechanism: every draw of the data has equal weight."""
        return self.draw_means().mean(axis=1)


def _constant(by_seed: Mapping[int, Floats]) -> bool:
    """Whether the errors on each draw of the data never vary, such as those of zeros."""
    return all(errors.size > 1 and np.ptp(errors) == 0 for errors in by_seed.values())


def around_mean(errors: Floats, least: float) -> Floats:
    """Numbers whose mean is the logarithm of the mean error, and whose spread is that of the errors relative to it."""
    mean = max(float(errors.mean()), least)
    return np.log(mean) + (errors - errors.mean()) / mean if mean > 0 else np.zeros(errors.size)


@dataclass(frozen=True)
class Contest:
    """The trials of one setting: the centre of each mechanism, and its uncertainty."""

    names: tuple[str, ...]
    centres: Floats
    variances: Floats
    """Variances of the centres, from the noise of the trials and, if there are several, the draws of the data."""
    freedom: Floats
    """Degrees of freedom of the variances."""
    estimated: Floats | None = None
    """The variances before those that are too small were raised (`Measure.least_variance`). None: none was raised."""
    means: Contest | None = None
    """The same trials, compared by their means."""

    def distances(self, tests: int, level: float = LEVEL) -> tuple[Floats, Floats]:
        """Lower and upper bounds of centre i minus centre j, which hold simultaneously with probability 1 - level.

        `tests`: number of settings that share the level.
        """
        from scipy import stats

        k = len(self.names)
        apart = self.centres[:, None] - self.centres[None, :]
        variance = self.variances[:, None] + self.variances[None, :]
        freedom = self._pair_freedom(self.variances)
        if self.estimated is not None:  # raising a variance must not make the other one look better known
            freedom = np.minimum(freedom, self._pair_freedom(self.estimated))
        critical = stats.t.isf(level / max(1, tests) / max(1, k * (k - 1)), freedom)
        with np.errstate(invalid="ignore"):
            wide = np.where(np.isfinite(variance), critical * np.sqrt(variance), np.inf)
        np.fill_diagonal(wide, 0.0)
        return apart - wide, apart + wide

    def _pair_freedom(self, variances: Floats) -> Floats:
        """The degrees of freedom of each pair's difference, by Welch and Satterthwaite."""
        variance = variances[:, None] + variances[None, :]
        share = np.square(variances) / self.freedom
        with np.errstate(divide="ignore", invalid="ignore"):
            freedom = np.square(variance) / (share[:, None] + share[None, :])
        return np.where(np.isfinite(freedom), np.maximum(freedom, 1.0), np.inf)

    def judged(self, tests: int, level: float = LEVEL, heavy: Collection[str] = ()) -> Judgement:
        """Each mechanism compared with the best one.

        i is certainly worse than j if it is by geometric mean and by mean, and j is not in `heavy`: the mechanisms with heavy
        tails, whose mean may be anything.
        """
        low, high = self.distances(tests, level)
        worse = low > EQUAL
        if self.means is not None:
            mean_low, mean_high = self.means.distances(tests, level)
            worse &= mean_low > EQUAL
            high = np.maximum(high, mean_high)
        uncertain = np.array([name in heavy for name in self.names])
        worse[:, uncertain] = False
        may_be_best = np.asarray(~worse.any(axis=1))
        others = np.where(may_be_best[None, :] & ~np.eye(len(self.names), dtype=bool), high, -np.inf)
        return Judgement(
            low=np.where(worse, low, 0.0).max(axis=1),
            high=np.where(uncertain, np.inf, np.maximum(0.0, others.max(axis=1, initial=-np.inf))),
            may_be_best=may_be_best,
            worse=worse,
        )


@dataclass(frozen=True)
class Judgement:
    """How far each mechanism is from the best one, as simultaneous bounds."""

    low: Floats
    high: Floats
    may_be_best: NDArray[np.bool_]
    worse: NDArray[np.bool_]
    """Row i, column j: whether i is certainly worse than j."""


def contest(samples: Samples) -> Contest:
    """The centres and their variances.

    If the data was drawn several times, mechanisms are compared on the same draws. Only effects that a draw has on one mechanism
    and not on the others then make a comparison uncertain. Their variance is estimated twice, from each mechanism alone (few
    degrees of freedom) and from all together; the larger one counts. It is never below the variance from the trials' noise.
    """
    scores = samples.scores
    draws = len(scores[0])
    floors = samples.floors or (0.0,) * len(scores)
    means = samples.draw_means()
    noise = np.array([_noise(own, floor) for own, floor in zip(scores, floors, strict=True)])
    estimated = np.array([_noise(own, 0.0) for own in scores])
    freedom = np.array([max(1, sum(x.size - 1 for x in own)) for own in scores], dtype=np.float64)
    if draws > 1 and len(scores) > 1:
        alone = means - np.median(means, axis=0)
        alone = np.square(alone - alone.mean(axis=1, keepdims=True)).sum(axis=1) / (draws - 1) / draws
        rest = means - means.mean(axis=1, keepdims=True) - means.mean(axis=0) + means.mean()
        degrees = (len(scores) - 1) * (draws - 1)
        together = float(np.square(rest).sum()) / degrees / draws
        between = np.maximum(alone, together)
        freedom = np.where(between > noise, float(degrees), freedom)
        noise, estimated = np.maximum(noise, between), np.maximum(estimated, between)
    by_mean = None if samples.means is None else contest(samples.means)
    return Contest(samples.names, means.mean(axis=1), noise, freedom, estimated, by_mean)


def _noise(own: Sequence[Floats], floor: float) -> float:
    """The variance of a mechanism's centre from the noise of its trials; infinite if there is only one trial."""
    if any(x.size < 2 for x in own):
        return math.inf
    return sum(max(_variance(x), floor) / x.size for x in own) / len(own) ** 2


def _variance(x: Floats) -> float:
    """The sample variance. That of equal numbers is exactly zero: the last digits of their mean must not decide anything."""
    return 0.0 if np.ptp(x) <= EQUAL * np.abs(x).max() else float(x.var(ddof=1))
