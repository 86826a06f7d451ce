"""Runs on a real Slurm of one node: a job array of shards, and workers that are jobs. In both, a job is killed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd
import pytest

from support.cluster import RUN, stored, until, user_folder
from support.door import dpbench
from support.paths import ROOT
from support.slurm import Slurm, missing

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing() or "Slurm is here")

Call = Callable[..., "subprocess.CompletedProcess[str]"]
WORDS = (*RUN, "mechanism=[slow,lpa]", "trials=500", "runner.chunk=10")
TRIALS = 1000
SCRIPT = str(ROOT / "docs" / "slurm" / "array.sh")


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slurm]:
    try:
        made = Slurm(tmp_path_factory.mktemp("slurm"))
    except AssertionError as problem:
        pytest.skip(f"Slurm does not start here: {str(problem)[-2000:]}")
    yield made
    made.close()


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return user_folder(tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="module")
def plain(home: Path) -> pd.DataFrame:
    """The numbers of a plain run."""
    dpbench(*WORDS, "runner.jobs=1", "results=plain", cwd=home).check_returncode()
    return stored(home / "plain")


def files(results: Path) -> int:
    return len(list(results.glob("trials/**/*.parquet")))


@pytest.mark.slow
def test_a_job_array_of_shards_with_a_killed_job(slurm: Slurm, home: Path, plain: pd.DataFrame) -> None:
    place = {"PYTHON": sys.executable, "PYTHONPATH": str(ROOT)}
    submit = ("sbatch", "--parsable")
    words = (SCRIPT, *(word for word in WORDS if word != "run"), "results=array")
    job = slurm.call(*submit, "--array=1-3", *words, cwd=home, **place).strip()
    until(lambda: files(home / "array") >= 3, "a first result")
    slurm.call("scancel", f"{job}_2")
    slurm.until_over()
    output = {task: (home / f"dpbench-{job}_{task}.out").read_text() for task in (1, 2, 3)}
    assert "dpbench: interrupted; finished trials are kept" in output[2]
    assert len(stored(home / "array")) < TRIALS
    again = slurm.call(*submit, "--array=2", *words, cwd=home, PARTS="3", **place).strip()
    slurm.until_over()
    told = (home / f"dpbench-{again}_2.out").read_text()
    assert f"{TRIALS} of {TRIALS} trials of the run are stored" in told
    pd.testing.assert_frame_equal(stored(home / "array"), plain, check_exact=True)


def test_workers_that_are_jobs_of_which_one_is_killed(slurm: Slurm, home: Path, plain: pd.DataFrame) -> None:
    """The job is replaced, and its chunks are sent again."""
    pytest.importorskip("dask_jobqueue", reason="dask-jobqueue is not installed")
    runner = ("runner=slurm", "runner.jobs=3", "runner.queue=other", "runner.interface=lo", "runner.memory=1")
    extra = ("runner.walltime=00:10:00", 'runner.directives=["--comment=mine"]', "results=jobs")
    run = subprocess.Popen(
        [sys.executable, "-m", "dpbench", *WORDS, *runner, *extra],
        cwd=home,
        env=os.environ | slurm.environment | {"PYTHONPATH": str(ROOT), "COLUMNS": "200"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        until(lambda: files(home / "jobs") >= 3, "a first result")
        job = min(slurm.jobs(), key=int)
        about = slurm.call("scontrol", "show", "job", job)
        for words in ("Partition=other", "TimeLimit=00:10:00", "NumCPUs=1", "Comment=mine", "MinMemoryNode=1.50G"):
            assert words in about
        slurm.call("scancel", job)
        out, err = run.communicate(timeout=300)
    finally:
        run.kill()
    assert run.returncode == 0, err
    assert f"{TRIALS} trials computed, 0 found finished, 0 failed" in out
    assert f"of Slurm job {job} is gone" in err
    pd.testing.assert_frame_equal(stored(home / "jobs"), plain, check_exact=True)
    assert {*slurm.jobs().values()} <= {"COMPLETING"}, "the jobs end with the run"


def test_what_slurm_does_not_take_is_told(
    slurm: Slurm, home: Path, dpbench: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("dask_jobqueue", reason="dask-jobqueue is not installed")
    for name, value in slurm.environment.items():
        monkeypatch.setenv(name, value)
    done = dpbench(*WORDS, "runner=slurm", "runner.queue=nowhere", "runner.interface=lo", "results=none", cwd=home)
    assert done.returncode == 1
    assert "Slurm rejects the jobs of this run: invalid partition specified: nowhere" in done.stderr
