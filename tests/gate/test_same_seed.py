"""The comparison of utility numbers with the same seed: what it sees, and what it must not see."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dpbench.gate import same_seed
from dpbench.gate.baselines import CellNumbers, ExperimentNumbers
from dpbench.gate.comparison import compare
from dpbench.gate.entries import BETTER, CHANGED, GONE, NEW, SAME, WORSE, ColumnResult, UtilityComparison
from dpbench.numerics.welch import welch

from support.utility_numbers import declared, moved, one_trial, suite


def judged(new: dict[str, ExperimentNumbers]) -> UtilityComparison:
    return compare(suite(0), new, declared, same_seed=True)


def test_the_same_numbers_are_the_same() -> None:
    found = judged(suite(0))
    assert (found.moved, found.compared) == (set(), 20 * 3 * 6)


def test_last_digits_are_tolerated_and_no_more() -> None:
    assert judged(moved(lambda v: [x * (1 + 3e-10) for x in v])).moved == set()
    found = judged(moved(lambda v: [x * (1 + 1e-6) for x in v]))
    assert found.moved == {CHANGED}
    assert found.count(CHANGED) == 20
    one = judged(moved(lambda v: [v[0] * (1 + 1e-7), *v[1:]], cells=1))
    assert one.count(CHANGED) == 1, "one trial of one cell is seen"


@pytest.mark.parametrize(
    ("factor", "status"), [(2.0, WORSE), (0.5, BETTER), (1.1, WORSE), (0.9, BETTER), (1.01, CHANGED)]
)
def test_direction_and_effect(factor: float, status: str) -> None:
    found = judged(moved(lambda v: [x * factor for x in v]))
    (group,) = found.groups
    assert (group.metric, group.status, group.cells) == ("mae", status, 20)
    precise = judged(moved(lambda v: [min(1.0, x / factor) for x in v], "precision"))
    assert precise.groups[0].status == status, "precision is better when higher"


def test_a_metric_without_direction_changes() -> None:
    assert judged(moved(lambda v: [x + 100 for x in v], "signed")).moved == {CHANGED}


def test_one_bad_cell_is_enough() -> None:
    found = judged(moved(lambda v: [3 * x for x in v], cells=1))
    assert found.count(WORSE) == 1
    assert found.groups[0].status == WORSE


@pytest.mark.parametrize("same_seed", [True, False])
def test_numbers_without_noise_are_decided_by_the_effect_alone(same_seed: bool) -> None:
    old = one_trial(noise=2.0, rows=100)

    def status(noise: float, rows: float) -> dict[str, str]:
        found = compare(old, one_trial(noise=noise, rows=rows), declared, same_seed=same_seed)
        assert found.compared == 2
        assert {e.metric: e.status for e in found.groups} == {
            e.metric: e.status for e in found.entries if e.status != SAME
        }
        return {entry.metric: entry.status for entry in found.entries}

    assert status(2.0, 100) == {"noise": SAME, "rows": SAME}
    assert status(2.2, 100) == {"noise": WORSE, "rows": SAME}
    assert status(1.8, 101) == {"noise": BETTER, "rows": CHANGED}
    assert status(2.02, 100) == {"noise": CHANGED, "rows": SAME}, "too small a move to be worse"


def test_more_trials_of_a_number_without_noise() -> None:
    old, new = one_trial(noise=2.0), one_trial(noise=2.0)["x/table"]
    more = {"x/table": replace(new, cells={"k": replace(new.cells["k"], values={"noise": [2.0, 2.0, 2.0]})})}
    assert compare(old, more, declared, same_seed=False).moved == set()
    less = {"x/table": replace(new, cells={"k": replace(new.cells["k"], values={"noise": [2.0, 2.0, 3.0]})})}
    assert compare(old, less, declared, same_seed=False).moved == {WORSE}


def test_one_noisy_trial_decides_nothing() -> None:
    old, new = one_trial(mae=1.0, signed=3.0), one_trial(mae=9.0, signed=4.0)
    assert compare(old, new, declared, same_seed=True).moved == {CHANGED}
    fresh = compare(old, new, declared, same_seed=False)
    assert (fresh.moved, fresh.compared) == (set(), 0), "what was not tested does not count as compared"


@pytest.mark.parametrize("same_seed", [True, False])
@pytest.mark.parametrize("odd", [float("nan"), float("inf")])
def test_an_error_that_is_no_number_any_more_is_worse(same_seed: bool, odd: float) -> None:
    new = moved(lambda v: [odd, *v[1:]], cells=1)
    found = compare(suite(0), new, declared, same_seed=same_seed)
    assert found.count(WORSE) == 1
    assert found.groups[0].status == WORSE
    assert compare(new, new, declared, same_seed=same_seed).moved == set()
    assert compare(suite(0), moved(lambda v: [odd, *v[1:]], "signed", cells=1), declared, same_seed=True).moved == {
        CHANGED
    }


def test_tasks_of_one_name_do_not_mix() -> None:
    def two(mae: float) -> dict[str, ExperimentNumbers]:
        rng = np.random.default_rng(1)
        cells = {}
        for task in ("t", "u"):
            labels = {"dataset": "d", "mechanism": "m", "epsilon": 1, "task": task}
            values = list((mae if task == "t" else 1.0) * rng.uniform(0.9, 1.1, 8))
            cells[task] = CellNumbers(labels, "t", {"mae": values})
        return {"x/fig": ExperimentNumbers("x/fig", cells)}

    (group,) = compare(two(1), two(3), declared, same_seed=True).groups
    assert (group.labels["task"], group.status) == ("t", WORSE)


def test_new_gone_and_failed() -> None:
    old, new = suite(0), suite(0)
    cells = dict(new["x/fig"].cells)
    cells["other"] = cells.pop("k0")
    part = {"x/fig": replace(new["x/fig"], cells=cells)}
    found = compare(old, part, declared, same_seed=True)
    assert (found.count(NEW), found.count(GONE)) == (1, 1)
    failed = {"x/fig": replace(new["x/fig"], failures={"k3": "6 trials failed: ValueError"})}
    (entry,) = [e for e in compare(old, failed, declared, same_seed=True).entries if e.status == GONE]
    assert entry.note == "6 trials failed: ValueError"
    fewer = moved(lambda v: v[:4])
    assert compare(old, fewer, declared, same_seed=True).count(GONE) == 20
    nothing = compare(old, {}, declared, same_seed=True)
    assert (nothing.compared, nothing.count(GONE)) == (0, 20)


def test_metric_that_disappears_is_gone() -> None:
    body = suite(0)["x/fig"]
    less = {k: replace(c, values={"mae": c.values["mae"]}) for k, c in body.cells.items()}
    found = compare(suite(0), {"x/fig": replace(body, cells=less)}, declared, same_seed=True)
    assert found.count(GONE) == 40


def test_last_digits_are_no_spread() -> None:
    """A precision of 1/10 in all six trials, once with a rounding error in it: that is no more certain than without."""
    x, y = np.array([0.1, 0.1 + 1e-17, 0.1 - 2e-17, 0.1, 0.1, 0.09999999999999999]), np.zeros(6)
    assert welch(x, y) == pytest.approx(2 / 924)
    assert welch(x, x + 1e-16) == 1.0


def test_welch_and_holm_against_scipy() -> None:
    from scipy import stats

    rng = np.random.default_rng(5)
    x, y = rng.normal(0, 1, 6), rng.normal(1, 3, 9)
    assert welch(x, y) == pytest.approx(stats.ttest_ind(x, y, equal_var=False).pvalue)
    pairs = rng.normal(0.4, 1, 12)
    assert same_seed.symmetric_test(pairs) == pytest.approx(stats.ttest_1samp(pairs, 0).pvalue)
    entries = [ColumnResult("", "", "", {}, SAME, p=p) for p in (0.01, 0.04, 0.03, 0.005)]
    assert sorted(e.p for e in same_seed.holm(entries, 0.05)) == [0.005, 0.01]
