"""`run -m`: every job keeps its results, and the end shows all of them together."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dpbench.cli.run_sweep import SweepRunner
from dpbench.config.compose import hydra_sweep
from dpbench.config.schema import RunConfig
from dpbench.model.run import Run

Call = Callable[..., subprocess.CompletedProcess[str]]
SMALL = ["dataset=[trajectory]", "mechanism=[lpa,zero]", "epsilon=1", "trials=2", "scale=smoke", "tracking=none"]


def test_a_sweep_keeps_the_results_of_every_job(dpbench: Call, tmp_path: Path) -> None:
    done = dpbench("run", "-m", "seed=1,2,3", "name=sw", *SMALL)
    assert done.returncode == 0, done.stderr
    runs = [Run.load(tmp_path / "results", f"sw.seed-{seed}") for seed in (1, 2, 3)]
    assert [run.seed for run in runs] == [1, 2, 3]
    joint = pd.read_csv(tmp_path / "results" / "figures" / "sw.sweep.csv")
    assert len(joint) == 6
    lpa = joint[joint["mechanism"] == "lpa"].set_index("mechanism.seed")["signed"]  # not an expectation, so it differs
    for run in runs:  # the joint table holds the numbers of the jobs
        own = run.summary().set_index("mechanism")["signed"]
        assert lpa[run.seed] == pytest.approx(own["lpa"], rel=1e-12)
    assert lpa.nunique() == 3
    assert "Sweep over seed" in done.stdout
    assert "seed=3" in done.stdout
    assert (tmp_path / "results" / "figures" / "sw.sweep.png").stat().st_size > 1000
    assert "Try next" not in done.stdout


def test_names_of_jobs_are_never_equal(dpbench: Call, tmp_path: Path) -> None:
    """Lists are no part of a file name: what they hold is told by a hash beside what can be read."""
    words = ["epsilon=[1,2],[1,3]", "name=lists", "figure=false", "dry=true", *SMALL[:2], *SMALL[3:]]
    done = dpbench("run", "-m", *words)
    assert done.returncode == 0, done.stderr
    names = [line.split()[2] for line in done.stdout.splitlines() if "Plan of" in line]
    assert len(names) == len(set(names)) == 2
    assert all(name.startswith("lists.epsilon-1-") for name in names)


def test_a_job_returns_its_first_metric(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    returned: list[float] = []
    jobs = SweepRunner(tmp_path / "jobs", verbose=False)
    jobs.folder.mkdir()

    def job(config: RunConfig | Exception, swept: object) -> float:
        returned.append(jobs(config, ["seed=1"]))
        return returned[-1]

    hydra_sweep(["-m", "seed=1", "name=one", "mechanism=zero", *SMALL[0:1], *SMALL[2:], "figure=false"], job)
    run = Run.load("results", "one")
    np.testing.assert_allclose(returned, run.trials()["metric.mae"].mean())


def test_what_is_not_installed_names_its_package(dpbench: Call) -> None:
    done = dpbench("run", "-m", "hydra/launcher=joblib", "seed=1,2")
    assert (done.returncode, done.stderr) == (
        2,
        "dpbench: hydra/launcher=joblib is not installed: pip install hydra-joblib-launcher\n",
    )
    assert "pip install hydra-optuna-sweeper" in dpbench("run", "-m", "hydra/sweeper=optuna", "seed=1,2").stderr
    assert "did you mean 'joblib'" in dpbench("run", "-m", "hydra/launcher=jublib", "seed=1").stderr


def test_a_job_that_cannot_be_run_is_told_and_the_others_are_kept(dpbench: Call, tmp_path: Path) -> None:
    done = dpbench("run", "-m", "seed=1,x", "name=sw", *SMALL, "figure=false")
    assert done.returncode == 1
    assert "not run: seed=x: seed='x' is not valid" in done.stderr
    assert Run.load(tmp_path / "results", "sw.seed-1").seed == 1
    alone = dpbench("run", "-m", "seed=x", *SMALL)
    assert (alone.returncode, len(alone.stderr.splitlines())) == (2, 1)
