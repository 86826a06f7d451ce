"""Comparisons with the best: what they say of equal mechanisms, of different ones and of few trials, by simulation and by hand.

False-alarm rates are stated with each test; all seeds are fixed.
"""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from dpbench.ranking.pairwise import Contest, Measure, Samples, contest
from dpbench.ranking.standings import Standing, contests, regrets

LAWS = {
    "normal": lambda rng, shape: 0.05 * rng.standard_normal(shape),
    "lognormal": lambda rng, shape: 1.5 * rng.standard_normal(shape),
    "pareto": lambda rng, shape: np.log1p(rng.pareto(1.5, shape)),
    "exponential": lambda rng, shape: np.log(rng.exponential(1, shape)),
}
"""Logarithms of errors with short and with heavy tails; a Pareto error of 1.5 has no variance."""


def samples(rng, law, mechanisms, draws, trials, *, mu=0.0, interaction=0.0):
    """Scores of mechanisms that differ by `mu`; each draw of the data moves all alike, and each by `interaction` apart."""
    x = LAWS[law](rng, (mechanisms, draws, trials)) + 0.1 * rng.standard_normal((1, draws, 1))
    x += interaction * rng.standard_normal((mechanisms, draws, 1)) + np.broadcast_to(mu, mechanisms)[:, None, None]
    return Samples(tuple(map(str, range(mechanisms))), tuple(tuple(own) for own in x))


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("draws", "trials", "interaction"), [(1, 6, 0.0), (3, 30, 0.02)])
def test_equal_mechanisms_are_excluded_at_most_at_the_level(law, draws, trials, interaction):
    """Of 12 equal mechanisms somebody is excluded in at most 5 % of 150 settings: 17 of them or fewer (P = 99.9 %)."""
    rng = np.random.default_rng(5)
    cases = [samples(rng, law, 12, draws, trials, interaction=interaction) for _ in range(150)]
    excluded = sum(not contest(one).judged(1).may_be_best.all() for one in cases)
    assert excluded <= 17


def test_comparing_with_the_lowest_mean_alone_would_exclude_too_often():
    """That the test above can fail: without the correction for pairs, somebody is excluded in more than 30 % of the settings."""
    rng = np.random.default_rng(6)
    found = 0
    for _ in range(100):
        one = contest(samples(rng, "normal", 12, 1, 6))
        found += not one.judged(1, level=0.05 * 12 * 11 / 2).may_be_best.all()
    assert found > 30


def test_a_mechanism_that_is_worse_by_a_tenth_is_found():
    rng = np.random.default_rng(7)
    mu = np.array([0.0, math.log(1.1), math.log(2)])
    for _ in range(20):
        judged = contest(samples(rng, "normal", 3, 1, 30, mu=mu)).judged(24)
        assert judged.may_be_best.tolist() == [True, False, False]
        assert judged.worse[2].tolist() == [True, True, False]
        low, high = np.exp(judged.low[2]), np.exp(judged.high[2])
        assert low < 2 < high < 2.3
        assert judged.high[0] == 0


def test_by_hand():
    """Two centres 1 apart with variances 0.01 each and no end of freedom: 1 ± z √0.02, z for 2.5 % on either side."""
    low, high = Contest(("a", "b"), np.array([0.0, 1.0]), np.array([0.01] * 2), np.array([1e9] * 2)).distances(1)
    wide = 1.959964 * math.sqrt(0.02)
    assert (low[1, 0], high[1, 0]) == (pytest.approx(1 - wide, abs=1e-6), pytest.approx(1 + wide, abs=1e-6))


def test_the_level_is_shared_by_all_settings_of_a_board():
    one = Contest(("a", "b", "c"), np.array([0.0, 1.0, 1.2]), np.array([0.01] * 3), np.array([9.0] * 3))
    for shared, alone in zip(one.distances(10), one.distances(1, level=0.005), strict=True):
        np.testing.assert_allclose(shared, alone, rtol=1e-12)
    rng = np.random.default_rng(11)
    rows = [
        {"dataset": f"d{at}", "epsilon": 1.0, "who": who, "metric.mae": error * rng.uniform(0.9, 1.1)}
        for at in range(4)
        for who, error in (("a", 1.0), ("b", 1.3))
        for _ in range(6)
    ]
    for standing in contests(pd.DataFrame(rows), Measure("mae"), corrected=2):
        np.testing.assert_allclose(standing.judgement.high, standing.contest.judged(8).high, rtol=1e-12)
        assert not np.allclose(standing.judgement.high, standing.contest.judged(4).high)


def test_noise_is_not_rewarded():
    """A mechanism with errors all over the place cannot be excluded, and is not competitive either."""
    rng = np.random.default_rng(8)
    steady, wild = np.full(6, 0.0) + 0.001 * rng.standard_normal(6), 3 * rng.standard_normal(6) + 1
    judged = contest(Samples(("steady", "wild"), ((steady,), (wild,)))).judged(1)
    assert judged.may_be_best.tolist() == [True, True]
    assert (judged.high >= math.log(1.1)).all()


def test_one_trial_decides_nothing():
    judged = contest(Samples(("a", "b"), ((np.zeros(1),), (np.ones(1),)))).judged(1)
    assert judged.may_be_best.all()
    assert np.isinf(judged.high).all()


def test_shares_that_never_change_are_not_known_exactly():
    """Precision 1 in six trials and 0.9 in six others: one item of ten may still change, so nothing is sure."""
    measure = Measure("precision", share=True, steps=10)
    values = {"a": {0: np.full(6, 1.0)}, "b": {0: np.full(6, 0.99)}, "c": {0: np.full(6, 0.1)}}
    judged = contest(Samples.of(measure, values)).judged(1)
    assert judged.may_be_best.tolist() == [True, True, False]


def test_one_item_of_ten_weighs_more_than_one_of_a_hundred():
    """Precision 1 and 0.9 in all of six trials: at K = 100 that is ten items apart, at K = 10 only one, which may be chance."""
    rows = [
        {"dataset": "d", "epsilon": 1.0, "K": k, "who": who, "metric.precision": value, "data_seed": 0}
        for k in (10, 100)
        for who, value in (("a", 1.0), ("b", 0.9))
        for _ in range(6)
    ]
    measure = Measure("precision", share=True, counts="K")
    judged = contests(pd.DataFrame(rows), measure, by=("dataset", "epsilon", "K"))
    assert {one.setting[2]: one.judgement.may_be_best.tolist() for one in judged} == {
        10: [True, True],
        100: [True, False],
    }


def test_a_raised_variance_does_not_make_the_other_one_better_known():
    """The more a constant share is said to vary, the less is certain about its difference to another one."""
    varied = np.array([0.8, 0.9, 0.7, 0.8, 0.9, 0.8])
    wide = []
    for steps in (1000, 100, 30, 10):
        values = {"constant": {0: np.ones(6)}, "varied": {0: varied}}
        low, high = contest(Samples.of(Measure("precision", share=True, steps=steps), values)).distances(24)
        wide.append(high[1, 0] - low[1, 0])
    assert wide == sorted(wide)


def test_last_digits_of_equal_scores_decide_nothing():
    """A score that is the same in all trials may have a mean that differs from it in the last digit."""
    share = Measure("precision", share=True, steps=10)
    last_digits = np.full(6, 0.3) + np.array([0, 0, 0, 0, 0, np.spacing(0.3)])
    found = [
        contest(Samples.of(share, {"best": {0: np.ones(6)}, "same": {0: same}})).distances(1)
        for same in (np.full(6, 0.3), last_digits)
    ]
    np.testing.assert_allclose(found[0], found[1], rtol=1e-9)


def test_an_error_of_zero_is_the_best():
    values = {"exact": {0: np.zeros(4)}, "other": {0: np.array([1.0, 1.1, 0.9, 1.0])}}
    judged = contest(Samples.of(Measure("mae"), values)).judged(1)
    assert judged.may_be_best.tolist() == [True, False]


def test_data_that_not_everybody_was_tried_on_are_left_out():
    values = {"a": {0: np.ones(3), 1: np.ones(3)}, "b": {1: np.full(3, 2.0)}}
    one = Samples.of(Measure("mae"), values)
    assert [len(own) for own in one.scores] == [1, 1]


@pytest.mark.parametrize("law", ["normal", "lognormal"])
@pytest.mark.parametrize(("draws", "trials", "interaction"), [(1, 6, 0.0), (3, 10, 0.02)])
@pytest.mark.parametrize("spread", [0.0, 0.5])
def test_regret_intervals_cover(law, draws, trials, interaction, spread):
    """Of 6 mechanisms in 6 settings, over 15 boards: at least 90 % of the intervals hold the true regret (stated: 95 %)."""
    rng = np.random.default_rng(9)
    held = []
    for _ in range(15):
        mu = spread * (rng.standard_normal((6, 6)) + np.arange(6))
        judged = []
        for at, own in enumerate(mu):
            one = samples(rng, law, 6, draws, trials, mu=own, interaction=interaction)
            fought = contest(one)
            judged.append(Standing((at, 1.0), one, fought, fought.judged(6)))
        true = np.exp((mu - mu.min(axis=1, keepdims=True)).mean(axis=0))
        table = regrets(judged, Measure("mae")).set_index("who").loc[list("012345")]
        held += [*((table["regret_low"] <= true + 1e-9) & (true <= table["regret_high"] + 1e-9))]
    assert np.mean(held) >= 0.9


def test_no_pair_is_significant_both_ways_in_five_reseedings():
    """12 mechanisms of which some are equal and some differ by 1 % to 50 %, 8 settings, five times with other noise and data."""
    mu = np.array([0, 0, 0, 0.01, 0.01, 0.03, 0.03, 0.1, 0.1, 0.2, 0.4, 0.4])
    worse = np.zeros((12, 12), dtype=bool)
    for seed in range(5):
        rng = np.random.default_rng([10, seed])
        for _ in range(8):
            worse |= contest(samples(rng, "normal", 12, 3, 10, mu=mu, interaction=0.01)).judged(8).worse
    assert not (worse & worse.T).any()
    assert worse[11, :9].all()


def test_expectations_lower_the_variance_of_means_and_decide_only_among_all():
    """Four trials with the same expectation: its mean has no variance. A geometric mean of expectations is larger than one of
    sampled errors, so a rival that has only sampled errors is compared by these."""
    sampled = {"lpa": {0: np.array([1.0, 3.0, 1.5, 2.5])}, "fpa": {0: np.array([2.0, 6.0, 3.0, 5.0])}}
    lpa = {"lpa": {0: np.full(4, 2.0)}}
    one = Samples.of(Measure("mae"), sampled, lpa)
    assert not one.by_expectation
    assert contest(one).centres.tolist() == contest(Samples.of(Measure("mae"), sampled)).centres.tolist()
    assert one.means is not None
    assert one.means.scores[0][0] == pytest.approx(np.full(4, math.log(2)))
    assert one.means.scores[1][0].std() > 0.1
    both = Samples.of(Measure("mae"), sampled, {**lpa, "fpa": {0: np.full(4, 4.0)}})
    assert both.by_expectation
    assert contest(both).centres == pytest.approx([math.log(2), math.log(4)])
    assert contest(both).judged(1).worse.tolist() == [[False, False], [True, False]]


def test_an_error_that_never_varies_is_its_own_expectation():
    values = {"lpa": {0: np.array([1.0, 3.0])}, "zero": {0: np.full(2, 7.0)}}
    one = Samples.of(Measure("mae"), values, {"lpa": {0: np.full(2, 2.0)}})
    assert one.by_expectation
    assert contest(one).centres == pytest.approx([math.log(2), math.log(7)])
    assert not Samples.of(Measure("mae"), values).by_expectation


def test_trials_with_expectations_are_compared_by_them():
    rows = [
        {"dataset": "d", "epsilon": 1.0, "who": who, "metric.mae": x, "expected.mae": expected}
        for who, expected in (("a", 2.0), ("b", 2.2))
        for x in (1.0, 3.0)
    ]
    (judged,) = contests(pd.DataFrame(rows), Measure("mae"))
    assert judged.samples.by_expectation
    assert np.exp(judged.contest.centres) == pytest.approx([2.0, 2.2])
    rows[0]["expected.mae"] = math.nan
    (judged,) = contests(pd.DataFrame(rows), Measure("mae"))
    assert not judged.samples.by_expectation
