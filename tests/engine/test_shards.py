"""Shards of a plan: together they are the whole, apart they share nothing, and their numbers are those of one process."""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpbench.config.compose import compose
from dpbench.config.schema import RunnerConfig, Shard
from dpbench.engine.plan import Plan
from dpbench.engine.shards import trials_of
from dpbench.errors import UserError
from dpbench.model.environment import Environment
from dpbench.model.run import Run

from support import runs
from support.cluster import stored, until
from support.homes import RUN, only_run
from support.paths import ROOT

Call = Callable[..., "subprocess.CompletedProcess[str]"]
WORDS = (*RUN, "mechanism=[noisy,lpa,slow]", "epsilon=[0.5,1]", "trials=21", "runner.jobs=1")
TRIALS = 6 * 21


def plan_of(count: int, repetitions: int) -> Plan:
    labels = [(f"{7919 * i % 10007:032x}", {"dataset": "one"}) for i in range(count)]
    run = runs.run("mine", [runs.dataset("one")], labels, repetitions=repetitions)
    return Plan(None, run, {"": 20})  # type: ignore[arg-type]


@settings(max_examples=200, deadline=None)
@given(count=st.integers(1, 40), repetitions=st.integers(1, 50), parts=st.integers(1, 60))
def test_shards_are_disjoint_cover_the_plan_and_are_balanced(count: int, repetitions: int, parts: int) -> None:
    plan = plan_of(count, repetitions)
    shards = [trials_of(plan, Shard(number, parts)) for number in range(1, parts + 1)]
    pairs = []
    for key in {setting.key for setting in plan.run.settings}:
        owners: dict[int, int] = {}
        for number, shard in enumerate(shards):
            for trial in shard[key]:
                assert trial not in owners, "a trial belongs to one shard"
                owners[trial] = number
        assert sorted(owners) == list(range(repetitions)), "and to one at least"
        assert all(owners[t] == owners.get(t + 1, owners[t]) for t in range(0, repetitions, 2)), "pairs stay together"
        pairs = [(len(shard[key]) + 1) // 2 for shard in shards]
        assert max(pairs) - min(pairs) <= 1, "every shard has its share of every setting"
    totals = [sum((len(part) + 1) // 2 for part in shard.values()) for shard in shards]
    assert max(totals) - min(totals) <= 1, "and of the whole"


def test_the_last_trial_of_an_odd_number_is_not_always_the_same_shards() -> None:
    plan = plan_of(40, 15)  # eight pairs, the last of them of one trial
    totals = [sum(map(len, trials_of(plan, Shard(number, 8)).values())) for number in range(1, 9)]
    assert totals == [75] * 8


@pytest.mark.parametrize(
    "shard", ["0/8", "9/8", "2", "2/", "/8", "a/b", "2/8/3", "-1/8", "1.0/8", 0.25, 2, True, "", [1]]
)
def test_a_shard_that_is_none_is_wrong_use(shard: object) -> None:
    with pytest.raises(UserError, match=r"^runner\.shard=.* is not valid: expected a part and the number of parts"):
        RunnerConfig(shard=shard)  # type: ignore[arg-type]


def test_a_shard_can_be_typed_and_set() -> None:
    for overrides in (["runner.shard=2/8"], {"runner.shard": "2/8"}, ["runner=dask", "runner.shard=2/8"]):
        assert compose("gs/fig9", "smoke", overrides).runner.part == Shard(2, 8)
    assert compose("gs/fig9", "smoke").runner.part is None


def start(home: Path, *words: str) -> subprocess.Popen[str]:
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "dpbench", *words]
    return subprocess.Popen(
        command, cwd=home, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def whole(run: Run) -> Run:
    """A run without when and for how long it was run."""
    return dataclasses.replace(run, written="", seconds=0.0, environment=Environment())


def test_shards_at_once_killed_and_repeated_are_the_numbers_of_one_process(dpbench: Call, home: Path) -> None:
    plain = dpbench(*WORDS, "results=plain")
    assert plain.returncode == 0, plain.stderr
    words = (*WORDS, "results=there")
    # All three at once. The first is killed in the middle of its work.
    processes = [start(home, *words, f"runner.shard={number}/3") for number in (3, 1, 2)]
    until(lambda: list((home / "there").glob("trials/**/*.parquet")), "a first result")
    processes[0].send_signal(signal.SIGKILL)
    for process in processes:
        _, err = process.communicate(timeout=300)
        assert process is processes[0] or process.returncode == 0, err
    assert whole(only_run(home / "there")) == whole(only_run(home / "plain")), "the whole plan, whoever wrote it last"
    # Repeated, as is one that had finished.
    for number in (3, 2):
        done = dpbench(*words, f"runner.shard={number}/3")
        assert done.returncode == 0, done.stderr
        assert f"shard {number}/3: 42 of its 42 trials, in 6 settings; {TRIALS} of {TRIALS} trials" in done.stdout
    assert "0 trials computed, 42 found finished, 0 failed" in done.stdout
    pd.testing.assert_frame_equal(stored(home / "plain"), stored(home / "there"), check_exact=True)
    assert whole(only_run(home / "there")) == whole(only_run(home / "plain"))


def test_the_last_shard_draws_and_a_dry_run_shows_the_parts(dpbench: Call, tmp_path: Path) -> None:
    words = ("run", "experiment=gs/fig9", "dataset=[trajectory]", "mechanism=[lpa]", "scale=smoke", "trials=4")
    words = (*words, "tracking=none", "runner.jobs=1")
    first = dpbench(*words, "runner.shard=2/2")
    assert first.returncode == 0, first.stderr
    assert "shard 2/2: 6 of its 6 trials, in 3 settings; 6 of 12 trials of the run are stored" in first.stdout
    assert "python -m dpbench figures gs/fig9" in first.stdout
    assert not (tmp_path / "results" / "figures").exists()
    dry = dpbench(*words, "runner.shard=1/2", "dry=true").stdout
    assert "3 settings, 6 trials, 0 done already. Nothing was computed." in dry
    rows = [tuple(line.replace("│", " ").split()) for line in dry.splitlines() if "/2" in line and "│" in line]
    assert rows == [("1/2", "(this", "one)", "6", "0"), ("2/2", "6", "6")]
    last = dpbench(*words, "runner.shard=1/2")
    assert "shard 1/2: 6 of its 6 trials, in 3 settings; 12 of 12 trials of the run are stored" in last.stdout
    assert (tmp_path / "results" / "figures" / "gs" / "fig9.csv").is_file()


def test_more_shards_than_pairs(dpbench: Call, home: Path) -> None:
    """One that has nothing to do says so, and the run is completed by the others, on whatever backend."""
    words = (*RUN, "mechanism=[noisy]", "epsilon=[1]", "trials=3", "runner.jobs=1")
    backends = ("local", "dask", "local")
    done = [dpbench(*words, f"runner={name}", f"runner.shard={i}/3") for i, name in enumerate(backends, 1)]
    assert [process.returncode for process in done] == [0, 0, 0]
    assert sorted(process.stdout.split(" trials computed")[0].split()[-1] for process in done) == ["0", "1", "2"]
    assert sum("3 of 3 trials of the run are stored" in process.stdout for process in done) >= 1
