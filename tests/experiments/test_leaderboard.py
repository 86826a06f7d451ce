"""The task of the leaderboard by hand-computed examples, and the test of means that `check` uses."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import dpbench
from dpbench import Counts, Incidence
from dpbench.data import TopK
from dpbench.numerics.welch import welch
from dpbench.storage.frame import summarise
from dpbench.tasks import TASKS

from support.runs import as_stored


def trials(table):
    """{(dataset, epsilon, mechanism): errors} as a frame of trials."""
    rows = [
        {"dataset": d, "epsilon": e, "mechanism": m, "task": "leaderboard", "trial": i, "mae": x, "mse": x * x}
        for (d, e, m), errors in table.items()
        for i, x in enumerate(errors)
    ]
    return as_stored(pd.DataFrame(rows))


def test_welch_is_scipys():
    rng = np.random.default_rng(1)
    for _ in range(20):
        a, b = rng.normal(0, 1, rng.integers(2, 9)), rng.normal(rng.uniform(0, 3), 4, rng.integers(2, 9))
        assert welch(a, b) == pytest.approx(stats.ttest_ind(a, b, equal_var=False).pvalue, rel=1e-9)


def test_welch_by_hand():
    """Means 2 and 5, variances 1 and 1, three each: t = 3/√(2/3) = 3.674 with 4 degrees of freedom, p = 0.0213."""
    assert welch([1, 2, 3], [4, 5, 6]) == pytest.approx(2 * stats.t.sf(3 / math.sqrt(2 / 3), 4))
    assert welch([1, 2, 3], [4, 5, 6]) == pytest.approx(0.02131, abs=1e-5)


def test_welch_without_spread_or_repetition():
    assert welch([2, 2], [2, 2]) == 1
    assert welch([2, 2], [3, 3]) == pytest.approx(2 / 6)
    assert welch([2] * 6, [3] * 6) == pytest.approx(2 / 924)
    assert welch([1], [5, 6]) == 1


DATA = Incidence.from_rows([[0, 1], [0, 1], [0], [2]], columns=200)  # counts 3, 2, 1, 0, 0, ...


def score(release):
    return TASKS.make("leaderboard").score(DATA, release, np.random.default_rng(0))


def test_exact_counts_are_perfect():
    scores = score(Counts(counts=DATA.counts))
    assert [scores[m] for m in ("mae", "mre", "mse", "kl", "signed")] == [0, 0, 0, 0, 0]
    assert scores["precision_at_10"] == scores["precision_at_100"] == 1


def test_scores_by_hand():
    """Column 0 off by 10: MAE 10/200. All but the first ten columns tie at the K-th true count, so all are right."""
    counts = DATA.counts.astype(float)
    counts[0] += 10
    scores = score(Counts(counts=counts))
    assert scores["mae"] == pytest.approx(0.05)
    assert scores["mse"] == pytest.approx(0.5)
    total = 16 + 0.01 * 197
    true = 6 + 0.01 * 197
    expected = 13 / total * math.log((13 / total) / (3 / true)) + (3 + 1.97) / total * math.log(true / total)
    assert scores["kl"] == pytest.approx(expected)


def test_lists_have_a_precision_and_nothing_else():
    data = Incidence.from_rows([range(k) for k in range(1, 51)], columns=60)  # counts 50, 49, ... 1, then 0
    task = TASKS.make("leaderboard")
    release = TopK(top=np.array([*range(7), 57, 58, 59]), columns=60)
    assert task.score(data, release, np.random.default_rng(0)) == {"precision_at_10": 0.7}
    assert task.errors(data, release) is None
    with pytest.raises(TypeError, match="only says which columns are the largest: use the task leaderboard"):
        TASKS.make("column_counts").score(data, release, np.random.default_rng(0))
    assert task.errors(data, Counts(counts=data.counts)).tolist() == [0] * 60


def test_a_list_that_ends_early_is_wrong_in_the_missing_places():
    data = Incidence.from_rows([range(k) for k in range(1, 51)], columns=60)
    short = TopK(top=np.arange(7), columns=60, chosen={"k": 10})
    assert TASKS.make("leaderboard").score(data, short, np.random.default_rng(0)) == {"precision_at_10": 0.7}


def test_a_list_shorter_than_every_k_has_no_precision():
    data = Incidence.from_rows([[0, 1], [1, 2], [1, 3]], columns=8)
    release = dpbench.mechanism("joint_topk", k=5).release(data, 1.0, np.random.default_rng(0))
    assert TASKS.make("leaderboard").score(data, release, np.random.default_rng(0)) == {}


def test_direction_of_each_metric():
    task = TASKS.get("leaderboard")
    assert [task.metric(m).direction for m in ("mae", "kl", "precision_at_10", "signed")] == [-1, -1, 1, 0]


def test_percentile_and_bias_are_those_of_the_trials():
    frame = trials({("d", 1.0, "a"): list(range(1, 21))}).assign(
        **{"metric.pair_bias2": [None, 4.0] * 10, "metric.pair_variance": [None, 100.0] * 10}
    )
    row = summarise(frame, ["dataset"]).iloc[0]
    assert row["mae_p95"] == pytest.approx(19.05)
    assert (row["variance"], row["bias2"], row["bias"]) == (100, 4, 2)
