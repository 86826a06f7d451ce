"""Limits of time and memory, and mechanisms that end their process: the guilty trials fail, all others are finished."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import psutil
import pytest

from dpbench.config.schema import RunnerConfig
from dpbench.errors import UserError
from dpbench.storage.failures import ranges

from support import door
from support.cluster import RUN, Cluster, stored, until, user_folder
from support.paths import ROOT

WORDS = (*RUN, "mechanism=[bad,noisy]", "trials=8", "runner.chunk=4")
# What BAD makes of it, the limit that it meets, and what is told of it.
SLOW_ONE, BIG = "took longer than runner.timeout=2.5 s", "needed more than runner.memory=1 GB"
CASES = {
    "python": ("runner.timeout=2.5", SLOW_ONE),
    "numpy": ("runner.timeout=2.5", SLOW_ONE),
    "kernel": ("runner.timeout=2.5", SLOW_ONE),
    "ask": ("runner.memory=1", BIG),
    "grow": ("runner.memory=1", BIG),
    "exit": ("runner.timeout=30", "ended the worker process: exit status 3"),
    "segfault": ("runner.memory=1", "ended the worker process: SIGSEGV"),
}
QUICK = [("kernel", "local", "2"), ("ask", "local", "1"), ("exit", "dask", "2")]
REST = [
    (how, runner, jobs)
    for how in CASES
    for runner, jobs in (("local", "2"), ("local", "1"), ("dask", "2"))
    if (how, runner, jobs) not in QUICK
]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A user's folder with bad.py, and in `plain` what its trials give when it behaves."""
    folder = user_folder(tmp_path_factory.mktemp("bad"))
    shutil.copy(ROOT / "tests" / "bad.py", folder)
    (folder / "mine" / "mechanism" / "bad.yaml").write_text("bad: {class: bad.Bad}\n")
    done = run(folder, "", "runner.jobs=1", "results=plain")
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    made = Cluster(tmp_path)
    yield made
    made.close()


def start(home: Path, how: str, *words: str) -> subprocess.Popen[str]:
    environment = door.environment(BAD=how)
    command = [sys.executable, "-m", "dpbench", *WORDS, *words]
    return subprocess.Popen(
        command, cwd=home, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def run(home: Path, how: str, *words: str) -> subprocess.CompletedProcess[str]:
    return door.dpbench(*WORDS, *words, cwd=home, env=door.environment(BAD=how))


def unlucky(home: Path) -> set[int]:
    """The trials that misbehave, from a run in which they raise."""
    results = home / "raised"
    if not results.exists():
        run(home, "raise", "runner.jobs=1", "results=raised")
    frame = stored(results)
    bad = next(name for name, count in frame.groupby("setting").size().items() if count < 8)
    return set(range(8)) - set(frame[frame["setting"] == bad]["trial"])


def check(home: Path, done: subprocess.CompletedProcess[str], results: Path, reason: str, repeat: bool = True) -> None:
    """The unlucky trials fail, each under its number; the others have their numbers; a repeat completes them."""
    failed = unlucky(home)
    assert 1 <= len(failed) <= 4
    assert done.returncode == 1, done.stderr
    assert f"{16 - len(failed)} trials computed, 0 found finished, {len(failed)} failed" in done.stdout
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("failed: ")]
    assert reason in line
    assert f": {ranges(failed)}; " in line
    assert "Traceback" not in done.stderr
    pd.testing.assert_frame_equal(stored(results), stored(home / "raised"), check_exact=True)
    if not repeat:
        return
    again = run(home, "", "runner.jobs=1", f"results={results}")
    assert f"{len(failed)} trials computed, {16 - len(failed)} found finished, 0 failed" in again.stdout
    pd.testing.assert_frame_equal(stored(results), stored(home / "plain"), check_exact=True)


def misbehaves(home: Path, tmp_path: Path, how: str, runner: str, jobs: str) -> None:
    if runner == "dask":
        pytest.importorskip("distributed", reason="Dask is not installed")
    limit, reason = CASES[how]
    results = tmp_path / "results"
    done = run(home, how, limit, f"runner={runner}", f"runner.jobs={jobs}", f"results={results}")
    check(home, done, results, reason, repeat=(how, runner, jobs) not in QUICK[1:])
    if how != "exit":  # nothing is left that could tell where
        assert "; bad.py:" in done.stderr


@pytest.mark.parametrize(("how", "runner", "jobs"), QUICK)
def test_a_bad_trial_fails_alone(home: Path, tmp_path: Path, how: str, runner: str, jobs: str) -> None:
    misbehaves(home, tmp_path, how, runner, jobs)


@pytest.mark.slow
@pytest.mark.parametrize(("how", "runner", "jobs"), REST)
def test_every_bad_trial_fails_alone(home: Path, tmp_path: Path, how: str, runner: str, jobs: str) -> None:
    misbehaves(home, tmp_path, how, runner, jobs)


@pytest.mark.slow
@pytest.mark.parametrize("runner", ["local", "dask"])
def test_a_trial_that_ends_its_process_fails_alone_without_limits(home: Path, tmp_path: Path, runner: str) -> None:
    results = tmp_path / "results"
    done = run(home, "exit", f"runner={runner}", "runner.jobs=2", f"results={results}")
    check(home, done, results, "ended the worker process: exit status 3")


@pytest.mark.slow
def test_time_to_compile_does_not_count(home: Path, tmp_path: Path) -> None:
    """A kernel that takes longer to compile than a trial may take is compiled in the first trial of each process."""
    done = run(home, "compile", "runner.timeout=2.5", "runner.jobs=2", f"results={tmp_path / 'results'}")
    assert "16 trials computed, 0 found finished, 0 failed" in done.stdout, done.stderr


@pytest.mark.slow
def test_what_an_earlier_trial_left_in_memory_is_not_anothers_fault(home: Path, tmp_path: Path) -> None:
    """Every unlucky trial keeps 0.5 GB for ever: the process is full after two, no single trial is too large."""
    done = run(home, "keep", "runner.memory=1", "runner.jobs=1", "runner.chunk=8", f"results={tmp_path / 'results'}")
    assert "16 trials computed, 0 found finished, 0 failed" in done.stdout, done.stderr
    pd.testing.assert_frame_equal(stored(tmp_path / "results"), stored(home / "plain"), check_exact=True)


@pytest.mark.slow
def test_no_process_outlives_a_killed_run(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one in a kernel that lets no thread of its own process run."""
    monkeypatch.setenv("BAD_MARK", str(tmp_path / "running"))
    process = start(home, "kernel", "runner.timeout=300", "runner.jobs=2", f"results={tmp_path / 'results'}")
    parent = psutil.Process(process.pid)
    children: list[psutil.Process] = []
    try:
        until((tmp_path / "running").exists, "the kernel")
        until(lambda: parent.children(recursive=True), "a worker")
        children = parent.children(recursive=True)
        process.kill()
        process.wait()  # not until its pipes are closed: a process that is left would hold them
        _, alive = psutil.wait_procs(children, timeout=300)
        assert not alive
    finally:
        process.kill()
        for child in children:
            if child.is_running():
                child.kill()


def test_workers_of_several_threads_are_refused(home: Path, tmp_path: Path, cluster: Cluster) -> None:
    pytest.importorskip("distributed", reason="Dask is not installed")
    cluster.worker("threads", cwd=home, threads=2)
    done = run(home, "", "runner=dask", f"runner.address={cluster.address}", "runner.timeout=5", "results=refused")
    assert done.returncode == 2
    assert "runner.timeout and runner.memory need workers of one thread (dask worker --nthreads 1)" in done.stderr
    assert not list(home.glob("refused/trials/**/*.parquet"))


@pytest.mark.parametrize("name", ["timeout", "memory"])
@pytest.mark.parametrize("value", [0, -1, "5 s", True, float("inf"), float("nan"), [1]])
def test_a_limit_is_a_positive_number(name: str, value: object) -> None:
    with pytest.raises(UserError, match=rf"^runner\.{name}=.* is not valid: expected a positive number"):
        RunnerConfig(**{name: value})  # type: ignore[arg-type]
