"""Runs on Dask clusters: the same numbers, workers that come and go, schedulers that are lost or never existed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd
import pytest

from dpbench.config.compose import compose
from dpbench.config.schema import RunnerConfig
from dpbench.engine.plan import make_plan
from dpbench.engine.progress import Progress
from dpbench.errors import UserError
from dpbench.ranking.rounds import execute_one

from support.cluster import RUN, Cluster, stored, until, user_folder
from support.paths import ROOT

pytest.importorskip("distributed", reason="Dask is not installed")

Call = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return user_folder(tmp_path)


@pytest.fixture
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    made = Cluster(tmp_path_factory.mktemp("cluster"))
    yield made
    made.close()


def on(cluster: Cluster) -> tuple[str, ...]:
    return ("runner=dask", f"runner.address={cluster.address}")


def start(home: Path, *words: str) -> subprocess.Popen[str]:
    """The front door, left running."""
    command = [sys.executable, "-m", "dpbench", *words]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "COLUMNS": "200"}
    return subprocess.Popen(
        command, cwd=home, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def files(results: Path) -> int:
    return len(list(results.glob("trials/**/*.parquet")))


def test_threads_and_processes_give_the_numbers_of_a_plain_run(dpbench: Call, home: Path, cluster: Cluster) -> None:
    """A cold worker of four threads beside one of one thread: registries, kernels and data are made while others wait."""
    words = (*RUN, "mechanism=[noisy,lpa,gs]", "trials=12", "runner.chunk=2")
    plain = dpbench(*words, "runner.jobs=1", "results=plain")
    assert plain.returncode == 0, plain.stderr
    cache = str(home / "cold")
    cluster.worker(
        "threads", "--no-nanny", cwd=home, threads=4, DPBENCH_CACHE=cache, NUMBA_CACHE_DIR=str(home / "numba")
    )
    cluster.worker("process", cwd=home)
    done = dpbench(*words, *on(cluster), "results=there")
    assert done.returncode == 0, done.stderr
    assert "36 trials computed, 0 found finished, 0 failed" in done.stdout
    told = [line for line in done.stderr.splitlines() if " of 36 trials" not in line]  # which is told once a minute
    assert told == [], "nothing to tell, and no log of Dask's"
    pd.testing.assert_frame_equal(stored(home / "plain"), stored(home / "there"), check_exact=True)


def test_a_cluster_of_this_machine_loses_the_guilty_chunks_only(dpbench: Call, home: Path) -> None:
    """Two chunks that kill every worker they meet, in the middle of others."""
    words = (*RUN, "mechanism=[noisy,deadly,lpa]", "mechanism.deadly.chance=1", "trials=8", "runner.chunk=4")
    done = dpbench(*words, "runner=dask", "runner.jobs=2")
    assert done.returncode == 1
    assert "16 trials computed, 0 found finished, 8 failed" in done.stdout
    assert "ended the worker process: exit status 9" in done.stderr
    dpbench(*RUN, "mechanism=[noisy,lpa]", "trials=8", "runner.jobs=1", "results=plain")
    pd.testing.assert_frame_equal(stored(home / "results"), stored(home / "plain"), check_exact=True)


def test_workers_that_nothing_restarts_survive_deadly_chunks(dpbench: Call, home: Path, cluster: Cluster) -> None:
    """Dask would send such a chunk to one worker after the other."""
    processes = [cluster.worker(name, "--no-nanny", cwd=home) for name in ("one", "two")]
    words = ("mechanism=[deadly,lpa]", "mechanism.deadly.chance=1", "trials=8", "runner.chunk=2")
    done = dpbench(*RUN, *words, *on(cluster))
    assert "8 trials computed, 0 found finished, 8 failed" in done.stdout
    assert "ended the worker process: exit status 9" in done.stderr
    assert "is gone" not in done.stderr
    assert [process.poll() for process in processes] == [None, None]


def test_progress_shows_the_workers(tmp_path: Path) -> None:
    settings = {"dataset": ["trajectory"], "mechanism": ["lpa"], "runner": "dask", "runner.jobs": 2, "trials": 4}
    plan = make_plan(compose("gs/fig9", "smoke", {**settings, "results": tmp_path}))
    shown: list[str] = []

    class Shown(Progress):
        def status(self, text: str) -> None:
            shown.append(text)

    result = execute_one(plan, Shown())
    assert (result.computed, result.failed) == (plan.run.planned, 0)
    assert "2 workers" in shown


def test_workers_come_late_and_are_killed(dpbench: Call, home: Path, cluster: Cluster) -> None:
    words = (*RUN, "mechanism=[slow]", "trials=300", "runner.chunk=10")
    run = start(home, *words, *on(cluster), "results=there")
    first = cluster.worker("first", "--no-nanny", cwd=home)
    until(lambda: files(home / "there") >= 3, "a first result")
    cluster.worker("late", "--no-nanny", cwd=home, wait=False)
    cluster.kill(first)
    out, err = run.communicate(timeout=300)
    assert run.returncode == 0, err
    assert "300 trials computed, 0 found finished, 0 failed" in out
    assert "is gone; " in err
    dpbench(*words, "results=plain", "runner.jobs=1")
    pd.testing.assert_frame_equal(stored(home / "plain"), stored(home / "there"), check_exact=True)


def test_a_lost_scheduler_costs_nothing_that_is_finished(dpbench: Call, home: Path, cluster: Cluster) -> None:
    words = (*RUN, "mechanism=[slow]", "trials=1000", "runner.chunk=10")
    cluster.worker("one", cwd=home)
    run = start(home, *words, *on(cluster))
    until(lambda: files(home / "results") >= 3, "a first result")
    cluster.kill(cluster.scheduler)
    _, err = run.communicate(timeout=300)
    assert run.returncode == 1
    said = [line for line in err.splitlines() if "scheduler" in line]  # on a busy machine, also which worker is gone
    assert len(said) == 1, err
    assert said[0].startswith(f"dpbench: the Dask scheduler at {cluster.address} is lost; finished trials are stored")
    assert "Traceback" not in err
    kept = len(stored(home / "results"))
    assert 30 <= kept < 1000
    again = dpbench(*words, "trials=300", "runner.jobs=2")
    assert f"{300 - min(kept, 300)} trials computed, {min(kept, 300)} found finished, 0 failed" in again.stdout


def test_a_worker_without_the_users_module_names_it(dpbench: Call, home: Path, cluster: Cluster) -> None:
    """It computes what it has the code for; without other workers, the rest fails for that reason."""
    elsewhere = home / "elsewhere"
    elsewhere.mkdir()
    cluster.worker("elsewhere", "--no-nanny", cwd=elsewhere)
    done = dpbench(*RUN, "dataset=[trajectory]", "mechanism=[lpa,noisy]", "trials=4", *on(cluster))
    assert done.returncode == 1
    (line,) = [line for line in done.stderr.splitlines() if "refuses work" in line]
    assert line.endswith("mechanism 'strangers.Noisy': no module 'strangers' in this folder or installed")
    assert "4 trials computed, 0 found finished, 4 failed" in done.stdout


@pytest.mark.parametrize("address", ["foo", "http://x", 12, [1, 2], "", "tcp://host", "tcp://host:99999", True])
def test_an_address_that_is_none_is_wrong_use(address: object) -> None:
    with pytest.raises(UserError, match=r"^runner\.address=.* is not valid: expected a Dask scheduler"):
        RunnerConfig(backend="dask", address=address)  # type: ignore[arg-type]


def test_an_address_where_nothing_answers(dpbench: Call, home: Path) -> None:
    done = dpbench(*RUN, "mechanism=[noisy]", "runner=dask", "runner.address=tcp://127.0.0.1:1", timeout=300)
    assert done.returncode == 1
    (line,) = [line for line in done.stderr.splitlines() if not line.startswith("building")]
    assert line.startswith("dpbench: no Dask scheduler answers at tcp://127.0.0.1:1")


def test_an_address_of_something_else(dpbench: Call, home: Path, cluster: Cluster) -> None:
    cluster.worker("one", "--no-nanny", cwd=home)
    (worker,) = cluster.names()
    done = dpbench(*RUN, "mechanism=[noisy]", "runner=dask", f"runner.address={worker}")
    assert done.returncode == 2
    assert "is the address of a Dask worker: expected that of the scheduler" in done.stderr
