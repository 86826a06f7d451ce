"""Several plans at a time: each has the counts that it would have if they ran one after the other."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from dpbench.config.compose import compose
from dpbench.engine.execute import Result, execute
from dpbench.engine.plan import Plan, make_plan
from dpbench.model.run import Run
from dpbench.ranking.rounds import execute_one

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


def counts(result: Result) -> tuple[int, int, list[tuple[str, int]]]:
    failed = [(setting, failure.trial) for setting, failures in result.failures.items() for failure in failures]
    return result.computed, result.found, sorted(failed)


def stored(plan: Plan) -> pd.DataFrame:
    frame = plan.run.trials().drop(columns="seconds")
    return frame.sort_values(["setting", "trial"]).reset_index(drop=True)


def test_the_same_as_one_after_the_other(inside: Path) -> None:
    alone = {plan.run.name: execute_one(plan) for plan in plans(Path("alone"))}
    together = {result.plan.run.name: result for result in execute(plans(Path("together")))}
    assert [*together] == ["a", "b", "c"]
    assert alone["b"].found > 0
    assert alone["c"].failed > 0
    for name, result in alone.items():
        mine = together[name]
        assert mine.problem == ""
        pd.testing.assert_frame_equal(stored(mine.plan), stored(result.plan))
        if name != "c":  # it tries once more what has failed in b; together, it takes b's word for it
            assert counts(mine) == counts(result), name
        assert mine.failed == result.failed, name
        assert mine.computed + mine.found == result.computed + result.found, name


def test_what_is_finished_is_found_and_given_back_first(inside: Path) -> None:
    first, second, _ = plans(Path("results"))
    execute_one(first)
    results = execute([second, first])
    assert next(results).plan.run.name == "a"
    assert not second.run.path.exists(), "a run is saved before its first trial, not earlier"
    done = next(results)
    assert Run.load("results", "b").seconds == done.seconds > 0
    assert not [*results]


def test_trials_that_vanish_are_the_problem_of_one(inside: Path) -> None:
    """Somebody removes the trials of a plan that is done, while others go on."""
    import shutil

    seen = {}
    for done in execute(plans(Path("results"))):
        seen[done.plan.run.name] = done.problem
        if done.plan.run.name == "a":
            shutil.rmtree(Path("results") / "trials")
    assert seen["a"] == ""
    assert "finished trials are gone" in seen["b"]
