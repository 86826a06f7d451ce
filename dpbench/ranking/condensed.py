"""The trials of a mechanism in one setting as a short text: all that comparisons need of them, by draw of the data.

A record and an entry of a board hold no trials. From these texts they are compared by the same statistics as trials are: sizes,
means, variances and means of halves are kept, single errors are not. Imported by `standings`, which writes them into the numbers
of a board, and `joint`, which compares mechanisms of several sources.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import astuple, dataclass

import numpy as np

from dpbench.numerics.arrays import Floats
from dpbench.ranking import tails
from dpbench.ranking.pairwise import Measure, Samples, around_mean

MOST_DRAWS, MOST_TRIALS = 100, 10_000_000
DIGITS = 12


@dataclass(frozen=True)
class Spread:
    """The scores of some trials: their mean and variance, the means of even and of odd trials, and the same for the comparison
    by means instead of geometric means."""

    mean: float
    variance: float
    even: float
    odd: float
    around: float
    around_variance: float

    @classmethod
    def of(cls, measure: Measure, errors: Floats, least: float) -> Spread:
        scores = measure.scores(np.maximum(errors, least))
        around = scores if measure.share else around_mean(errors, least)
        halves = scores[0::2], scores[1::2]
        even, odd = (float(half.mean()) if half.size else float(scores.mean()) for half in halves)
        return cls(float(scores.mean()), _variance(scores), even, odd, float(around.mean()), _variance(around))

    def scores(self, trials: int) -> Floats:
        """Numbers with this mean, this variance and these means of halves."""
        if self.variance == 0:
            return np.full(trials, self.mean)
        values, wave = np.empty(trials), np.empty(trials)
        values[0::2], values[1::2] = self.even, self.odd
        wave[0::2], wave[1::2] = _wave((trials + 1) // 2), _wave(trials // 2)
        return _spread(values, wave, self.mean, self.variance)

    def around_scores(self, trials: int) -> Floats:
        """Numbers with the mean and the variance of the comparison by means, which needs no halves."""
        return _spread(np.full(trials, self.around), _wave(trials), self.around, self.around_variance)


def _variance(values: Floats) -> float:
    return 0.0 if values.size < 2 or np.ptp(values) == 0 else float(values.var(ddof=1))


def _wave(size: int) -> Floats:
    """1, -1, 1, -1 and so on, with the mean 0."""
    wave = np.where(np.arange(size) % 2 == 0, 1.0, -1.0)
    wave[size - size % 2 :] = 0.0
    return wave


def _spread(values: Floats, wave: Floats, mean: float, variance: float) -> Floats:
    """The values moved apart along the wave until they have this variance."""
    rest = variance * (values.size - 1) - float(np.square(values - mean).sum())
    room = float(np.square(wave).sum())
    return values + wave * math.sqrt(max(0.0, rest) / room) if room else values


@dataclass(frozen=True)
class CondensedDraw:
    """The trials of one mechanism on one draw of the data."""

    trials: int
    largest: float
    """The share of the largest error in their sum, which shows heavy tails."""
    sampled: Spread
    expected: Spread | None = None
    """Of the expectations over the last noise, if all trials have them."""


Condensed = Mapping[int, CondensedDraw]
"""By data seed."""


def condense(
    measure: Measure, errors: Mapping[int, Floats], expected: Mapping[int, Floats] | None, least: float
) -> str:
    """One text per mechanism and setting. `least`: what an error of zero counts as."""
    parts = []
    for seed, own in sorted(errors.items()):
        total = float(own.sum())
        share = float(own.max()) / total if total > 0 else 0.0
        spreads = [Spread.of(measure, own, least)]
        spreads += [Spread.of(measure, expected[seed], least)] if expected else []
        texts = (",".join(f"{value:.{DIGITS}g}" for value in astuple(spread)) for spread in spreads)
        parts.append(":".join((str(seed), str(own.size), f"{share:.6g}", *texts)))
    return "|".join(parts)


def parse(text: str) -> dict[int, CondensedDraw]:
    """The draws that a text holds. ValueError: it is not one of ours."""
    draws = {}
    parts = text.split("|")
    if len(parts) > MOST_DRAWS:
        raise ValueError(f"{len(parts)} draws of the data are too many")
    for part in parts:
        seed, trials, largest, *spreads = part.split(":")
        own = [Spread(*_numbers(spread)) for spread in spreads]
        if len(own) not in (1, 2) or not 1 <= int(trials) <= MOST_TRIALS or not 0 <= float(largest) <= 1:
            raise ValueError(f"{part[:60]!r} holds no trials")
        draws[int(seed)] = CondensedDraw(int(trials), float(largest), *own)
    return draws


def _numbers(text: str) -> list[float]:
    numbers = [float(word) for word in text.split(",")]
    if len(numbers) != 6 or not all(map(math.isfinite, numbers)) or min(numbers[1], numbers[5]) < 0:
        raise ValueError(f"{text[:60]!r} is no spread of scores")
    return numbers


def samples_of(measure: Measure, mechanisms: Mapping[str, Condensed]) -> Samples:
    """The scores of several mechanisms in one setting, on the draws that all have, as `Samples.of` makes them from trials."""
    seeds = sorted(set.intersection(*(set(own) for own in mechanisms.values())))
    chosen = {name: [own[seed] for seed in seeds] for name, own in mechanisms.items()}
    known = {
        name: all(d.expected or d.sampled.variance == 0 < d.trials - 1 for d in own) for name, own in chosen.items()
    }
    any_expected = any(draw.expected for own in chosen.values() for draw in own)
    everywhere = any_expected and all(known.values())

    def spread(draw: CondensedDraw, by_expectation: bool) -> Spread:
        return draw.expected if by_expectation and draw.expected is not None else draw.sampled

    names = tuple(chosen)
    scores = tuple(tuple(spread(d, everywhere).scores(d.trials) for d in own) for own in chosen.values())
    floors = tuple(measure.least_variance(sum(d.trials for d in own)) if own else 0.0 for own in chosen.values())
    means = None
    if not measure.share:
        around = tuple(
            tuple(spread(d, known[name]).around_scores(d.trials) for d in own) for name, own in chosen.items()
        )
        means = Samples(names, around)
    return Samples(names, scores, floors, means, everywhere)


def heavy(settings: Mapping[str, list[Condensed]]) -> frozenset[str]:
    """The mechanisms with heavy tails, from all their settings, as `tails.heavy` finds them in trials."""
    draws = {name: [draw for own in several for draw in own.values()] for name, several in settings.items()}
    tests = max(1, sum(map(len, draws.values())))
    return frozenset(
        name
        for name, own in draws.items()
        if any(tails.share_probability(draw.trials, draw.largest) < tails.LEVEL / tests for draw in own)
    )
