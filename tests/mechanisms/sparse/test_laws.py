"""The laws of sparse's shortcuts and of the synthesizer: their probabilities, against enumeration and against draws.

Chi-square at a false-alarm rate of 1e-4 each, six of them, with fixed seeds.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from scipy import stats

from dpbench.mechanisms.sparse._laws import PassingZeros, PriorityZeros, SampledZeros, ZeroPlaces
from dpbench.mechanisms.sparse._synthesis import Posterior
from dpbench.mechanisms.tables import SparseTable

ALARM = 1e-4
TABLE = SparseTable(np.array([1, 3]), np.array([4, 2]), 5, 1)
ZEROS = (0, 2, 4)
ALPHA = 0.5


def outcomes(most: int):
    """Every way in which the three zeros can be in a summary with values up to `most`."""
    values = [None, *(v for v in range(-most, most + 1) if v != 0)]
    for each in itertools.product(values, repeat=len(ZEROS)):
        kept = [(place, v) for place, v in zip(ZEROS, each, strict=True) if v is not None]
        yield np.array([p for p, _ in kept], dtype=np.int64), np.array([v for _, v in kept], dtype=np.int64)


def key(outcome: tuple[np.ndarray, np.ndarray]) -> tuple:
    return tuple(zip(outcome[0].tolist(), outcome[1].tolist(), strict=True))


@pytest.mark.parametrize(
    "law",
    [PassingZeros(TABLE, ALPHA, 2, True), PassingZeros(TABLE, ALPHA, 1.5, False), SampledZeros(TABLE, ALPHA, 2.5)],
    ids=["two-sided", "one-sided", "threshold"],
)
def test_zeros_have_the_probability_that_they_are_drawn_with(law) -> None:
    chances = {key(o): math.exp(law.log_probability(o)) for o in outcomes(7)}
    assert math.fsum(chances.values()) == pytest.approx(1, abs=0.05)  # values above 7 are left out
    rng, trials = np.random.default_rng(1), 40_000
    drawn = Counter(key(law.draw(rng)) for _ in range(trials))
    often = [k for k, p in chances.items() if p * trials >= 8]
    observed = [drawn[k] for k in often]
    expected = [chances[k] * trials for k in often]
    rest = trials - sum(observed), trials - sum(expected)
    assert stats.chisquare([*observed, rest[0]], [*expected, rest[1]]).pvalue > ALARM


def test_what_is_no_outcome_has_no_probability() -> None:
    law = PassingZeros(TABLE, ALPHA, 2, True)
    for places, values in (([1], [5]), ([7], [5]), ([2, 0], [5, 5]), ([0], [1])):
        assert law.log_probability((np.array(places), np.array(values))) == -math.inf
    assert SampledZeros(TABLE, ALPHA, 2.5).log_probability((np.array([0]), np.array([0]))) == -math.inf


def test_places_of_zeros_are_uniform() -> None:
    law = ZeroPlaces(TABLE, 2)
    assert math.exp(law.log_probability(np.array([0, 4]))) == pytest.approx(1 / 3)
    assert law.log_probability(np.array([0, 1])) == law.log_probability(np.array([0])) == -math.inf
    rng = np.random.default_rng(2)
    drawn = Counter(tuple(law.draw(rng).tolist()) for _ in range(6000))
    assert stats.chisquare([drawn[pair] for pair in itertools.combinations(ZEROS, 2)]).pvalue > ALARM


def test_priorities_say_why_they_have_no_probability() -> None:
    law = PriorityZeros(TABLE, ALPHA, 1, np.array([4]), np.array([5.0]), 3)
    with pytest.raises(NotImplementedError, match="continuous"):
        law.log_probability(law.draw(np.random.default_rng(0)))


def test_the_posterior_knows_the_probability_of_every_table() -> None:
    """Two groups of three cells with three and two people: all 60 tables, exactly one in all, drawn as often as said."""
    law = Posterior(np.array([0, 2, 4]), np.array([2, 1, 2]), 3, 0.4)

    def tables(people: int):
        return [t for t in itertools.product(range(people + 1), repeat=3) if sum(t) == people]

    def outcome(table: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
        full = np.array(table)
        return np.flatnonzero(full), full[full > 0]

    whole = [(*a, *b) for a in tables(3) for b in tables(2)]
    chances = np.array([math.exp(law.log_probability(outcome(t))) for t in whole])
    assert len(whole) == 60
    assert chances.sum() == pytest.approx(1, rel=1e-12)
    rng, trials = np.random.default_rng(3), 30_000
    drawn = Counter(key(law.draw(rng)) for _ in range(trials))
    observed = np.array([drawn[key(outcome(t))] for t in whole])
    assert observed.sum() == trials
    assert chances.min() * trials > 5
    assert stats.chisquare(observed, chances * trials).pvalue > ALARM
    assert law.log_probability(outcome((1, 1, 0, 2, 0, 0))) == -math.inf  # two people instead of three


def test_a_table_in_another_group_has_no_probability() -> None:
    law = Posterior(np.array([0]), np.array([1]), 3, 0.4)
    assert law.log_probability((np.array([4]), np.array([1]))) == -math.inf
