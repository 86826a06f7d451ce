"""RecordComparison with the record: equal numbers where everything is the same, a corrected test elsewhere."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from dpbench.model.record import Record
from dpbench.reproduce.comparison import Pair, compare, difference_p

RECORD = Record("gs/fig9", "", "paper", 20, 0, (0,), 3, "same", "code", {}, ())


def numbers(rng: np.random.Generator, cells: int = 40, trials: int = 20, scale: float = 1.0) -> pd.DataFrame:
    draws = rng.laplace(100, 10, (cells, trials)) * scale
    return pd.DataFrame(
        {
            "dataset": [f"d{i}" for i in range(cells)],
            "mechanism": "lpa",
            "epsilon": 0.1,
            "trials": trials,
            "mae": draws.mean(axis=1),
            "mae_se": draws.std(axis=1, ddof=1) / trials**0.5,
            "best": draws[:, 0],
        }
    )


def test_the_same_numbers_are_equal():
    found = compare([Pair(RECORD, numbers(np.random.default_rng(1)), RECORD, numbers(np.random.default_rng(1)))])
    assert not found.differences
    assert found.exact == 40 * 4
    assert found.tested == 0


def test_ranks_written_as_words_are_compared_with_those_read_as_numbers():
    """A record is a CSV file: it returns the ranks "1", "2" and "3" as numbers."""
    table = pd.DataFrame({"rank": ["1", "2", "3"], "hits": [2.0, 1.0, 0.0]})
    found = compare([Pair(RECORD, table, RECORD, table.assign(rank=[1, 2, 3]))])
    assert (found.problems, found.differences, found.exact) == ([], [], 6)


def test_an_infinite_number_does_not_hide_the_others():
    one, other = (numbers(np.random.default_rng(1)) for _ in range(2))
    for table in (one, other):
        table.loc[[0, 1], "best"] = [np.inf, np.nan]
    assert compare([Pair(RECORD, one, RECORD, other)]).differences == []
    other.loc[7, "best"] *= 2
    one.loc[0, "best"] = 5.0
    found = compare([Pair(RECORD, one, RECORD, other)]).differences
    assert [(d.column, d.where.split(",")[0]) for d in found] == [("best", "d0"), ("best", "d7")]


def test_released_words_name_no_row():
    """Another seed releases other movies. With the same seed, another movie is a difference."""
    table = pd.DataFrame({"rank": [1, 2], "released.sra": ["a", "b"], "hits": [2.0, 2.0], "hits_se": [0.5, 0.5]})
    moved = table.assign(**{"released.sra": ["c", "d"]})
    found = compare([Pair(dataclasses.replace(RECORD, seed=1, identity="other"), moved, RECORD, table)])
    assert (found.problems, found.differences, found.tested) == ([], [], 2)
    (told,) = compare([Pair(RECORD, moved, RECORD, table)]).problems
    assert "2 of 2 recorded rows are not among its numbers" in told


def test_more_trials_of_the_same_settings_are_tested():
    """The first ten rows have twice the trials: they are other numbers, of the same distribution."""
    one, other = (numbers(np.random.default_rng(seed)) for seed in (1, 2))
    one.loc[10:, :] = other.loc[10:, :]
    one.loc[:9, "trials"] = 40
    found = compare([Pair(RECORD, one, RECORD, other)])
    assert (found.exact, found.tested, found.untested, found.differences) == (30 * 4, 10, 10, [])


def test_one_number_that_moved_by_a_millionth_is_named():
    one, other = (numbers(np.random.default_rng(1)) for _ in range(2))
    other.loc[7, "best"] *= 1 + 1e-6
    (found,) = compare([Pair(RECORD, one, RECORD, other)]).differences
    assert (found.column, found.where.split(",")[0]) == ("best", "d7")


def test_the_twelfth_digit_is_no_difference():
    one, other = (numbers(np.random.default_rng(1)) for _ in range(2))
    other["mae"] *= 1 + 1e-11
    assert not compare([Pair(RECORD, one, RECORD, other)]).differences


def test_other_seeds_are_tested_together():
    """40 cells, 100 comparisons of equal laws: an alarm in at most 1 % of them, so more than 5 has a chance below 1e-3."""
    other = dataclasses.replace(RECORD, identity="other")
    alarms = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        found = compare([Pair(other, numbers(rng), RECORD, numbers(rng))])
        assert found.tested == 40
        assert found.untested == 40
        alarms += bool(found.differences)
    assert alarms <= 5


def test_a_shift_of_a_tenth_is_found():
    other = dataclasses.replace(RECORD, identity="other")
    rng = np.random.default_rng(5)
    assert compare([Pair(other, numbers(rng, scale=1.2), RECORD, numbers(rng))]).differences


def test_rows_and_columns_that_are_gone_are_told():
    whole = numbers(np.random.default_rng(1))
    found = compare([Pair(RECORD, whole.iloc[1:].drop(columns="best"), RECORD, whole)])
    assert any("1 of 40 recorded rows" in problem for problem in found.problems)
    assert any("best" in problem for problem in found.problems)


def test_other_scales_are_not_compared():
    other = dataclasses.replace(RECORD, scale="smoke")
    whole = numbers(np.random.default_rng(1))
    found = compare([Pair(other, whole, RECORD, whole)])
    assert (found.exact, found.tested, found.untested) == (0, 0, 0)
    assert "scale smoke" in found.problems[0]


def test_the_order_of_rows_does_not_count():
    whole = numbers(np.random.default_rng(1))
    assert not compare([Pair(RECORD, whole.iloc[::-1], RECORD, whole)]).differences


def test_p_is_that_of_welch():
    rng = np.random.default_rng(2)
    x, y = rng.normal(0, 1, 12), rng.normal(0.5, 3, 30)
    expected = stats.ttest_ind(x, y, equal_var=False).pvalue
    assert difference_p(x.mean(), stats.sem(x), 12, y.mean(), stats.sem(y), 30) == pytest.approx(expected)


def test_without_any_spread_it_is_the_permutation_test():
    assert difference_p(0.9, 0.0, 5, 1.0, 0.0, 5) == pytest.approx(2 / 252)
    assert difference_p(0.9, 0.0, 5, 0.9, 0.0, 5) == 1.0
    assert np.isnan(difference_p(0.9, 0.0, 1, 1.0, 0.0, 5))


def test_a_rare_event_that_did_not_occur_is_no_difference():
    """Three hits in 400 trials and none in 20, where 0.15 are expected. But 200 of 400 and none of 1,000 are a difference."""
    hits = np.r_[np.ones(3), np.zeros(397)]
    error = hits.std(ddof=1) / 400**0.5
    none = np.zeros(20)
    p = difference_p(hits.mean(), error, 400, 0.0, 0.0, 20)
    assert p == pytest.approx(stats.ttest_ind(hits, none).pvalue)
    assert p > 0.5
    assert difference_p(0.5, 0.025, 400, 0.0, 0.0, 1000) < 1e-9
