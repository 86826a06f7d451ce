"""Workers whose code, libraries or data are not those of the run: none of their numbers is stored.

Two real workers, each started from a checkout, a user's folder and a cache of its own. One of them is altered.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from support import door
from support.cluster import RUN, Cluster, altered_checkout, stored, user_folder
from support.paths import ROOT

pytest.importorskip("distributed", reason="Dask is not installed")

Call = Callable[..., "subprocess.CompletedProcess[str]"]
WORDS = (*RUN, "mechanism=[noisy,lpa]", "trials=40", "runner.chunk=4")
TRIALS = 80


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The folder in which the run is started."""
    return user_folder(tmp_path / "home")


@pytest.fixture
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    made = Cluster(tmp_path_factory.mktemp("cluster"))
    yield made
    made.close()


@pytest.fixture(scope="module")
def plain_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the right code on the right data: its results, and the cache that it built."""
    folder = user_folder(tmp_path_factory.mktemp("plain"))
    env = door.environment(DPBENCH_CACHE=str(folder / "cache"))
    door.dpbench(*WORDS, "runner.jobs=1", cwd=folder, env=env).check_returncode()
    return folder


@pytest.fixture
def plain(plain_run: Path) -> pd.DataFrame:
    """The numbers that must come out."""
    return stored(plain_run / "results")


def run(dpbench: Call, home: Path, cluster: Cluster) -> subprocess.CompletedProcess[str]:
    return dpbench(*WORDS, "runner=dask", f"runner.address={cluster.address}", cwd=home, timeout=300)


def refusals(done: subprocess.CompletedProcess[str]) -> list[str]:
    return [line for line in done.stderr.splitlines() if "refuses work" in line]


def address_of(cluster: Cluster, start: Callable[[], object]) -> str:
    """The address of the worker that `start` starts."""
    before = cluster.names()
    start()
    (address,) = cluster.names() - before
    return address


def alter_code(folder: Path) -> Path:
    return altered_checkout(
        folder, "data/incidence.py", "return int(self.row_sizes.max", "return 10 * int(self.row_sizes.max"
    )


def test_altered_code_is_refused_and_the_other_worker_goes_on(
    dpbench: Call, home: Path, cluster: Cluster, plain: pd.DataFrame, tmp_path: Path
) -> None:
    """The worker of another checkout, in which the largest row is ten times as large, would compute ten times the error."""
    checkout = alter_code(tmp_path / "other")
    foreign = address_of(cluster, lambda: cluster.worker("foreign", "--no-nanny", cwd=home, code=checkout))
    cluster.worker("own", "--no-nanny", cwd=home)
    done = run(dpbench, home, cluster)
    assert done.returncode == 0, done.stderr
    assert f"{TRIALS} trials computed, 0 found finished, 0 failed" in done.stdout
    (line,) = refusals(done)
    assert line == f"worker {foreign} refuses work: its code is not the code of this run: dpbench.data.incidence"
    pd.testing.assert_frame_equal(stored(home / "results"), plain, check_exact=True)


def test_only_foreign_workers_fail_the_run(dpbench: Call, home: Path, cluster: Cluster, tmp_path: Path) -> None:
    checkout = alter_code(tmp_path / "other")
    cluster.worker("one", "--no-nanny", cwd=home, code=checkout)
    cluster.worker("two", "--no-nanny", cwd=home, code=checkout)
    done = run(dpbench, home, cluster)
    assert done.returncode == 1
    assert len(refusals(done)) == 2
    assert f"0 trials computed, 0 found finished, {TRIALS} failed" in done.stdout
    assert "its code is not the code of this run: dpbench.data.incidence" in done.stdout
    assert stored(home / "results").empty


def test_another_file_of_the_user_is_refused(
    dpbench: Call, home: Path, cluster: Cluster, plain: pd.DataFrame, tmp_path: Path
) -> None:
    """Each worker has a copy of its own. An edit of the file under a worker that has loaded it is noticed as well."""
    other, own = user_folder(tmp_path / "other"), user_folder(tmp_path / "own")
    mine = other / "strangers.py"
    mine.write_text(mine.read_text().replace("factor: float = 2.0", "factor: float = 20.0"))
    cluster.worker("foreign", "--no-nanny", cwd=other)
    cluster.worker("own", "--no-nanny", cwd=own)
    done = run(dpbench, home, cluster)
    assert done.returncode == 0, done.stderr
    (line,) = refusals(done)
    assert line.endswith("its code is not the code of this run: strangers")
    pd.testing.assert_frame_equal(stored(home / "results"), plain, check_exact=True)

    for folder in (own, home):  # the worker `own` goes on with what it has loaded
        mine = folder / "strangers.py"
        mine.write_text(
            mine.read_text().replace("self.factor * data.largest_row", "3 * self.factor * data.largest_row")
        )
    again = run(dpbench, home, cluster)
    assert again.returncode == 1
    assert "0 trials computed" in again.stdout


@pytest.mark.slow
def test_another_version_of_a_library_is_refused(
    dpbench: Call, home: Path, cluster: Cluster, plain: pd.DataFrame, tmp_path: Path
) -> None:
    told = tmp_path / "libraries" / "numpy-0.9.dist-info"
    told.mkdir(parents=True)
    (told / "METADATA").write_text("Metadata-Version: 2.1\nName: numpy\nVersion: 0.9\n")
    (told / "RECORD").write_text("numpy/__init__.py,,\n")
    (told / "top_level.txt").write_text("numpy\n")
    cluster.worker("foreign", "--no-nanny", cwd=home, PYTHONPATH=f"{told.parent}:{ROOT}")
    cluster.worker("own", "--no-nanny", cwd=home)
    done = run(dpbench, home, cluster)
    assert done.returncode == 0, done.stderr
    (line,) = refusals(done)
    assert f"numpy 0.9 instead of {np.__version__}" in line
    pd.testing.assert_frame_equal(stored(home / "results"), plain, check_exact=True)


@pytest.mark.slow
def test_a_worker_that_cannot_read_the_work_gets_none(
    dpbench: Call, home: Path, cluster: Cluster, plain: pd.DataFrame, tmp_path: Path
) -> None:
    """One has a package of our name that knows nothing of chunks, another one cannot read them."""
    empty = tmp_path / "empty"
    (empty / "dpbench").mkdir(parents=True)
    (empty / "dpbench" / "__init__.py").touch()
    old = altered_checkout(tmp_path / "old", "engine/worker.py", "class Chunk:", "class Portion:")
    cluster.worker("empty", "--no-nanny", cwd=home, code=empty)
    cluster.worker("old", "--no-nanny", cwd=home, code=old)
    cluster.worker("own", "--no-nanny", cwd=home)
    done = run(dpbench, home, cluster)
    assert done.returncode == 0, done.stderr
    assert sum("No module named 'dpbench.engine'" in line for line in refusals(done)) == 1
    assert len(refusals(done)) == 2
    pd.testing.assert_frame_equal(stored(home / "results"), plain, check_exact=True)


@pytest.mark.parametrize("whole", [False, True], ids=["an accident", "other data"])
def test_a_damaged_cache_gives_no_number(
    dpbench: Call,
    home: Path,
    cluster: Cluster,
    plain: pd.DataFrame,
    plain_run: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    whole: bool,
) -> None:
    """A changed file is noticed by its checksum and built again. Whole data of another seed in its place are refused."""
    (right,) = (plain_run / "cache" / "data").glob("small-*")
    damaged = tmp_path / "cache" / "data" / right.name
    if whole:
        monkeypatch.setenv("DPBENCH_CACHE", str(tmp_path / "cache"))
        dpbench(*WORDS, "data_seed=7", "trials=2", f"results={tmp_path / 'other'}", "runner.jobs=1", cwd=home)
        (other,) = (tmp_path / "cache" / "data").glob("small-*")
        other.rename(damaged)
    else:
        shutil.copytree(right, damaged)
        body = bytearray((damaged / "indices.npy").read_bytes())
        body[-8] ^= 1
        (damaged / "indices.npy").write_bytes(body)
    monkeypatch.setenv("DPBENCH_CACHE", str(plain_run / "cache"))
    cluster.worker("damaged", "--no-nanny", cwd=home, DPBENCH_CACHE=str(tmp_path / "cache"))
    cluster.worker("own", "--no-nanny", cwd=home)
    done = run(dpbench, home, cluster)
    assert done.returncode == 0, done.stderr
    assert [line.partition(" refuses work: ")[2] for line in refusals(done)] == (
        ["its data of small are not the data of this run"] if whole else []
    )
    pd.testing.assert_frame_equal(stored(home / "results"), plain, check_exact=True)
