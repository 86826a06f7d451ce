"""Several plans at a time: each keeps the account that it would have if they ran one after the other."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from dpbench.config.compose import compose
from dpbench.engine.plan import Plan, make_plan
from dpbench.engine.runner import Result, execute
from dpbench.engine.together import execute_all
from dpbench.results.store import Store

# `b` shares settings with `a` and wants more trials of them; `c` has failing trials in common with `b`.
RUNS = {
    "a": {"mechanism": ["noisy"], "epsilon": [1, 2], "trials": 5},
    "b": {"mechanism": ["noisy", "flaky"], "epsilon": [1], "trials": 8},
    "c": {"mechanism": ["flaky"], "epsilon": [1, 3], "trials": 6},
}


@pytest.fixture
def inside(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(home)
    monkeypatch.syspath_prepend(str(home))
    return home


def plans(results: Path) -> list[Plan]:
    quiet = {"dataset": ["small"], "results": results, "runner.jobs": 1}
    return [
        make_plan(compose(None, "smoke", {**quiet, **run, "name": name}, [Path("mine")])) for name, run in RUNS.items()
    ]


def account(result: Result) -> tuple[int, int, list[tuple[str, int]]]:
    failed = [(setting, failure.trial) for setting, failures in result.failures.items() for failure in failures]
    return result.computed, result.found, sorted(failed)


def stored(plan: Plan) -> pd.DataFrame:
    frame = plan.run.trials().drop(columns="seconds")
    return frame.sort_values(["setting", "trial"]).reset_index(drop=True)


def test_the_same_as_one_after_the_other(inside: Path) -> None:
    alone = {plan.run.name: (plan, execute(plan, Store(Path("alone")))) for plan in plans(Path("alone"))}
    together = {a.plan.run.name: a for a in execute_all(plans(Path("together")))}
    assert [*together] == ["a", "b", "c"]
    assert alone["b"][1].found > 0
    assert alone["c"][1].failed > 0
    for name, (plan, result) in alone.items():
        mine = together[name]
        assert mine.problem == ""
        pd.testing.assert_frame_equal(stored(mine.plan), stored(plan))
        if name != "c":  # it tries once more what has failed in b; together, it takes b's word for it
            assert account(mine.result) == account(result), name
        assert mine.result.failed == result.failed, name
        assert mine.result.computed + mine.result.found == result.computed + result.found, name


def test_what_is_finished_is_found_and_given_back_first(inside: Path) -> None:
    first, second, _ = plans(Path("results"))
    execute(first, Store(Path("results")))
    begun: list[str] = []
    order = []
    for done in execute_all([second, first], begin=lambda plan: begun.append(plan.run.name)):
        order.append(done.plan.run.name)
        assert begun[-1] == order[-1]
    assert order == ["a", "b"]


def test_trials_that_vanish_are_the_problem_of_one(inside: Path) -> None:
    """Somebody removes the trials of a plan that is done, while others go on."""
    import shutil

    seen = {}
    for done in execute_all(plans(Path("results"))):
        seen[done.plan.run.name] = done.problem
        if done.plan.run.name == "a":
            shutil.rmtree(Path("results") / "trials")
    assert seen["a"] == ""
    assert "finished trials are gone" in seen["b"]
