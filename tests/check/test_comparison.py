"""The comparison of utility numbers: what it sees, and what it must not see."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dpbench.check import baselines as utility
from dpbench.check import comparison as regress
from dpbench.check.baselines import CellNumbers, Numbers
from dpbench.check.comparison import BETTER, CHANGED, GONE, NEW, SAME, WORSE, Comparison, compare
from dpbench.cli.check import message, natures
from dpbench.errors import UserError
from dpbench.numerics.welch import welch
from dpbench.tasks.base import TASKS, Metric

from support.paths import ROOT


def nature(task: str, metric: str) -> Metric:
    direction = {"mae": -1, "mse": -1, "noise": -1, "precision": 1}.get(metric, 0)
    better = {-1: "lower", 1: "higher", 0: "neither"}[direction]
    return Metric(metric, "", better, noiseless=metric in ("noise", "rows"))


def suite(seed: int, cells: int = 20, trials: int = 6, factor: float = 1.0, noise: float = 0.1) -> dict[str, Numbers]:
    rng = np.random.default_rng(seed)
    found = {}
    for i in range(cells):
        mae = factor * rng.gamma(1 / noise**2, noise**2, trials)
        values = {
            "mae": list(mae),
            "precision": list(rng.binomial(10, 0.7, trials) / 10),
            "signed": list(rng.normal(0, 1, trials)),
        }
        found[f"k{i}"] = CellNumbers({"dataset": f"d{i}", "mechanism": "lpa", "epsilon": 1, "task": "t"}, "t", values)
    return {"x/fig": Numbers("x/fig", found)}


def moved(change: Callable[[list[float]], list[float]], metric: str = "mae", cells: int = 20) -> dict[str, Numbers]:
    """The suite of seed 0 with one metric changed in its first cells."""
    body = suite(0)["x/fig"]
    changed = dict(body.cells)
    for key in list(changed)[:cells]:
        values = dict(changed[key].values)
        changed[key] = replace(changed[key], values=values | {metric: change(values[metric])})
    return {"x/fig": replace(body, cells=changed)}


def same_seed(new: dict[str, Numbers]) -> Comparison:
    return compare(suite(0), new, nature, same_seed=True)


def test_the_same_numbers_are_the_same() -> None:
    found = same_seed(suite(0))
    assert (found.moved, found.compared) == (set(), 20 * 3 * 6)


def test_last_digits_are_tolerated_and_no_more() -> None:
    assert same_seed(moved(lambda v: [x * (1 + 3e-10) for x in v])).moved == set()
    found = same_seed(moved(lambda v: [x * (1 + 1e-6) for x in v]))
    assert found.moved == {CHANGED}
    assert found.count(CHANGED) == 20
    one = same_seed(moved(lambda v: [v[0] * (1 + 1e-7), *v[1:]], cells=1))
    assert one.count(CHANGED) == 1, "one trial of one cell is seen"


@pytest.mark.parametrize(
    ("factor", "status"), [(2.0, WORSE), (0.5, BETTER), (1.1, WORSE), (0.9, BETTER), (1.01, CHANGED)]
)
def test_direction_and_effect(factor: float, status: str) -> None:
    found = same_seed(moved(lambda v: [x * factor for x in v]))
    (group,) = found.groups
    assert (group.metric, group.status, group.cells) == ("mae", status, 20)
    precise = same_seed(moved(lambda v: [min(1.0, x / factor) for x in v], "precision"))
    assert precise.groups[0].status == status, "precision is better when higher"


def test_a_metric_without_direction_never_fails() -> None:
    assert same_seed(moved(lambda v: [x + 100 for x in v], "signed")).moved == {CHANGED}


def test_one_bad_cell_is_enough() -> None:
    found = same_seed(moved(lambda v: [3 * x for x in v], cells=1))
    assert found.count(WORSE) == 1
    assert found.groups[0].status == WORSE


def one_trial(**values: float) -> dict[str, Numbers]:
    labels = {"dataset": "d", "mechanism": "m", "epsilon": 1, "task": "t"}
    return {"x/table": Numbers("x/table", {"k": CellNumbers(labels, "t", {n: [v] for n, v in values.items()})})}


@pytest.mark.parametrize("same_seed", [True, False])
def test_numbers_without_noise_are_decided_by_the_effect_alone(same_seed: bool) -> None:
    old = one_trial(noise=2.0, rows=100)

    def status(noise: float, rows: float) -> dict[str, str]:
        found = compare(old, one_trial(noise=noise, rows=rows), nature, same_seed=same_seed)
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
    assert compare(old, more, nature, same_seed=False).moved == set()
    less = {"x/table": replace(new, cells={"k": replace(new.cells["k"], values={"noise": [2.0, 2.0, 3.0]})})}
    assert compare(old, less, nature, same_seed=False).moved == {WORSE}


def test_one_noisy_trial_decides_nothing() -> None:
    old, new = one_trial(mae=1.0, signed=3.0), one_trial(mae=9.0, signed=4.0)
    assert compare(old, new, nature, same_seed=True).moved == {CHANGED}
    fresh = compare(old, new, nature, same_seed=False)
    assert (fresh.moved, fresh.compared) == (set(), 0), "what was not tested does not count as compared"


@pytest.mark.parametrize("same_seed", [True, False])
@pytest.mark.parametrize("odd", [float("nan"), float("inf")])
def test_an_error_that_is_no_number_any_more_is_worse(same_seed: bool, odd: float) -> None:
    new = moved(lambda v: [odd, *v[1:]], cells=1)
    found = compare(suite(0), new, nature, same_seed=same_seed)
    assert found.count(WORSE) == 1
    assert found.groups[0].status == WORSE
    assert compare(new, new, nature, same_seed=same_seed).moved == set()
    assert compare(suite(0), moved(lambda v: [odd, *v[1:]], "signed", cells=1), nature, same_seed=True).moved == {
        CHANGED
    }


def test_tasks_of_one_name_do_not_mix() -> None:
    def two(mae: float) -> dict[str, Numbers]:
        rng = np.random.default_rng(1)
        cells = {}
        for task in ("t", "u"):
            labels = {"dataset": "d", "mechanism": "m", "epsilon": 1, "task": task}
            values = list((mae if task == "t" else 1.0) * rng.uniform(0.9, 1.1, 8))
            cells[task] = CellNumbers(labels, "t", {"mae": values})
        return {"x/fig": Numbers("x/fig", cells)}

    (group,) = compare(two(1), two(3), nature, same_seed=True).groups
    assert (group.labels["task"], group.status) == ("t", WORSE)


def test_new_gone_and_failed() -> None:
    old, new = suite(0), suite(0)
    cells = dict(new["x/fig"].cells)
    cells["other"] = cells.pop("k0")
    part = {"x/fig": replace(new["x/fig"], cells=cells)}
    found = compare(old, part, nature, same_seed=True)
    assert (found.count(NEW), found.count(GONE)) == (1, 1)
    failed = {"x/fig": replace(new["x/fig"], failures={"k3": "6 trials failed: ValueError"})}
    (entry,) = [e for e in compare(old, failed, nature, same_seed=True).entries if e.status == GONE]
    assert entry.note == "6 trials failed: ValueError"
    fewer = moved(lambda v: v[:4])
    assert compare(old, fewer, nature, same_seed=True).count(GONE) == 20
    nothing = compare(old, {}, nature, same_seed=True)
    assert (nothing.compared, nothing.count(GONE)) == (0, 20)


def test_metric_that_disappears_is_gone() -> None:
    body = suite(0)["x/fig"]
    less = {k: replace(c, values={"mae": c.values["mae"]}) for k, c in body.cells.items()}
    found = compare(suite(0), {"x/fig": replace(body, cells=less)}, nature, same_seed=True)
    assert found.count(GONE) == 40


def test_fresh_seeds_see_a_quarter_more_noise_and_not_one_percent() -> None:
    assert compare(suite(0), suite(1, factor=1.25), nature, same_seed=False).moved == {WORSE}
    assert compare(suite(0), suite(1, factor=0.75), nature, same_seed=False).moved == {BETTER}
    assert compare(suite(0), suite(1, factor=1.01), nature, same_seed=False).moved == set()


def test_a_hundred_fresh_checks_of_unchanged_code() -> None:
    """The family-wise rate is 1 % at most, so a hundred checks raise one false alarm on average and more than four with
    probability 0.003. The cells are those that mislead a test most: few trials, skewed and heavy-tailed errors, noise of
    50 %, precisions of 0 or 1 only, metrics that are almost always the same.
    """

    def check(seed: int) -> dict[str, Numbers]:
        rng = np.random.default_rng(seed)
        cells = {}
        for i in range(150):
            draws = rng.laplace(0, 1, (6, 1 if i % 3 == 0 else 30))
            values = {
                "mae": np.abs(draws).mean(axis=1).tolist(),
                "mse": np.square(draws).mean(axis=1).tolist(),
                "precision": rng.binomial(1, 0.5 if i % 2 else 0.98, 6).astype(float).tolist(),
            }
            labels = {"dataset": f"d{i // 10}", "mechanism": f"m{i % 10}", "epsilon": i, "task": "t"}
            cells[f"k{i}"] = CellNumbers(labels, "t", values)
        return {"x/fig": Numbers("x/fig", cells)}

    old = check(0)
    alarms = sum(bool(compare(old, check(seed), nature, same_seed=False).moved) for seed in range(1, 101))
    assert alarms <= 4


def test_last_digits_are_no_spread() -> None:
    """A precision of 1/10 in all six trials, once with a rounding error in it: that is no more certain than without."""
    x, y = np.array([0.1, 0.1 + 1e-17, 0.1 - 2e-17, 0.1, 0.1, 0.09999999999999999]), np.zeros(6)
    assert welch(x, y) == pytest.approx(2 / 924)
    assert welch(x, x + 1e-16) == 1.0


@pytest.mark.slow
def test_a_hundred_fresh_checks_of_the_suite_against_the_committed_baselines(tmp_path: Path) -> None:
    """The same with the real numbers: one run of a hundred times the trials, cut into a hundred checks. The baselines are
    one fixed draw, which all of the checks share: an unlucky one would show here. A quarter of an hour."""
    checks, old = 100, utility.load(baselines_folder())
    trials = max(len(v) for n in old.values() for c in n.cells.values() for v in c.values.values())
    overrides = {"seed": 11, "trials": checks * trials}
    new = {n.experiment: n for n in utility.measure([*old], tmp_path, jobs=-1, overrides=overrides, say=lambda _: None)}

    def part(numbers: Numbers, number: int) -> Numbers:
        cut = slice(number * trials, (number + 1) * trials)
        return replace(
            numbers,
            cells={
                key: replace(cell, values={metric: values[cut] for metric, values in cell.values.items()})
                for key, cell in numbers.cells.items()
            },
        )

    alarms = 0
    for number in range(checks):
        found = compare(old, {name: part(n, number) for name, n in new.items()}, natures(), same_seed=False)
        assert found.compared > 20_000
        alarms += bool(found.moved)
    assert alarms <= 4


def test_welch_and_holm_against_scipy() -> None:
    from scipy import stats

    rng = np.random.default_rng(5)
    x, y = rng.normal(0, 1, 6), rng.normal(1, 3, 9)
    assert welch(x, y) == pytest.approx(stats.ttest_ind(x, y, equal_var=False).pvalue)
    pairs = rng.normal(0.4, 1, 12)
    assert regress.symmetric_test(pairs) == pytest.approx(stats.ttest_1samp(pairs, 0).pvalue)
    entries = [regress.Entry("", "", "", {}, SAME, p=p) for p in (0.01, 0.04, 0.03, 0.005)]
    assert sorted(e.p for e in regress.holm(entries, 0.05)) == [0.005, 0.01]


def test_times_are_never_compared() -> None:
    assert all(utility.is_time(name) for name in ("seconds", "build_seconds", "entries_per_second"))
    assert not utility.is_time("mae")
    for numbers in utility.load(baselines_folder()).values():
        for cell in numbers.cells.values():
            assert not [m for m in cell.values if utility.is_time(m)]


def baselines_folder() -> Path:
    return ROOT / "results" / "baselines"


def test_the_committed_baselines_are_small() -> None:
    assert sum(p.stat().st_size for p in baselines_folder().glob("**/*")) < 2_500_000


def test_every_number_of_the_baselines_is_declared_by_its_task() -> None:
    for numbers in utility.load(baselines_folder()).values():
        for cell in numbers.cells.values():
            for metric in cell.values:
                assert natures()(cell.task, metric) is not None, (numbers.experiment, cell.task, metric)


def test_what_tasks_call_noiseless_is() -> None:
    """In the committed numbers: the same in every trial; and an experiment of one trial has nothing else to be held by."""
    seen = set()
    for numbers in utility.load(baselines_folder()).values():
        for cell in numbers.cells.values():
            for metric, values in cell.values.items():
                if natures()(cell.task, metric).noiseless:
                    assert np.ptp(values) == 0, (numbers.experiment, metric)
                    seen.add(cell.task)
                else:
                    assert len(values) > 1, (numbers.experiment, metric)
    assert seen == {name for name, cls in TASKS.items() if any(metric.noiseless for metric in cls.metrics)}


def test_files_read_back(tmp_path: Path) -> None:
    old = suite(0)
    body = old["x/fig"].cells["k0"]
    odd = {"odd": [float("nan")] * 6, "large": [1e300, -2.5e-17, 3, float("inf"), 0, 1]}
    cells = dict(old["x/fig"].cells) | {"k0": replace(body, values=dict(body.values) | odd)}
    old["x/fig"] = replace(old["x/fig"], cells=cells, data={"d": "f00"})
    path = utility.save(tmp_path, old["x/fig"])
    assert path == tmp_path / "x" / "fig.json"
    read = utility.load(tmp_path)
    assert compare(old, read, nature, same_seed=True).moved == set()
    assert read["x/fig"].data == {"d": "f00"}
    again = utility.save(tmp_path / "again", read["x/fig"])
    assert again.read_text() == path.read_text()
    path.write_text(path.read_text()[:200])
    with pytest.raises(UserError, match=r"fig\.json is no baseline .*check --update x/fig"):
        utility.load(tmp_path)


def test_message_for_the_commit() -> None:
    new = moved(lambda v: [2 * x for x in v])
    lines = message(same_seed(new), new, suite(0), ["x/old"])
    assert lines[0] == "Baselines: <why the numbers moved>"
    assert lines[2].startswith("x/fig: lpa mae ")
    assert "+100.00%, worse, 20 cells" in lines[2]
    assert lines[-1] == "no more: x/old"
    assert message(same_seed(suite(0)), suite(0), suite(0), []) == ["Baselines: nothing moved"]
