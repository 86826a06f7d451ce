"""Workers that share no files with the run nor with each other: package, user's folder, cache and home of their own, in a
network and a file system of their own where this machine can make them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from support import namespaces
from support.cluster import RUN, Cluster, checkout, stored, until, user_folder
from support.namespaces import Machines
from support.paths import ROOT

pytest.importorskip("distributed", reason="Dask is not installed")

Call = Callable[..., "subprocess.CompletedProcess[str]"]
NAMES = ("killed", "stays", "late")
TRIALS = 300


@pytest.fixture
def machines() -> Iterator[Machines | None]:
    """None if namespaces are not possible: then only the folders are separate."""
    made = None if namespaces.missing() else Machines()
    yield made
    if made is not None:
        made.close()


@pytest.fixture
def cluster(tmp_path_factory: pytest.TempPathFactory, machines: Machines | None) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("cluster")
    made = Cluster(folder) if machines is None else Cluster(folder, host=machines.address, before=machines.hub)
    yield made
    made.close()


def test_workers_that_share_no_files(
    dpbench: Call, cluster: Cluster, machines: Machines | None, tmp_path: Path, data_cache: Path
) -> None:
    """Three workers. One is killed, one comes late."""
    home = user_folder(tmp_path / "home")
    words = (*RUN, "mechanism=[slow,lpa,noisy]", "trials=100", "runner.chunk=4")
    dpbench(*words, "runner.jobs=1", "results=plain", cwd=home)
    apart: dict[str, dict[str, Any]] = {}
    for name in NAMES:
        folder = user_folder(tmp_path / name)
        own = {"DPBENCH_CACHE": str(folder / "cache"), "NUMBA_CACHE_DIR": str(folder / "numba"), "HOME": str(folder)}
        apart[name] = {"cwd": folder, "code": checkout(folder / "package"), **own}
    everything = [home, data_cache, ROOT / "dpbench", ROOT / "tests", *(tmp_path / name for name in NAMES)]
    for name in NAMES if machines else ():
        assert machines is not None
        hidden = [place for place in everything if place != tmp_path / name]
        apart[name]["before"] = machines.add(name, hidden, tmp_path / name)
        seen = subprocess.run([*apart[name]["before"], "ls", *map(str, hidden)], capture_output=True, text=True)
        assert not [line for line in seen.stdout.splitlines() if line and not line.endswith(":")], "a shared file"
        assert subprocess.run([*apart[name]["before"], "ls", "strangers.py"], capture_output=True).returncode == 0

    def start(name: str, *more: str) -> subprocess.Popen[bytes]:
        return cluster.worker(name, *more, wait=False, **apart[name])

    victim = start("killed", "--no-nanny")
    start("stays")
    until(lambda: all("Registered to" in cluster.log(name) for name in NAMES[:2]), "two workers")
    run = subprocess.Popen(
        [*cluster.before, sys.executable, "-m", "dpbench", *words, "runner=dask", f"runner.address={cluster.address}"],
        cwd=home,
        env=os.environ | {"PYTHONPATH": str(ROOT), "COLUMNS": "200"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )

    def built(*names: str) -> bool:
        """Whether each of these workers has the dataset in a cache of its own, so that it takes part."""
        return all((tmp_path / name / "cache" / "data").is_dir() for name in names)

    until(lambda: built("killed", "stays") and any((home / "results").glob("trials/**/*.parquet")), "a first result")
    cluster.kill(victim)
    start("late")
    out, err = run.communicate(timeout=300)
    assert run.returncode == 0, err
    assert f"{TRIALS} trials computed, 0 found finished, 0 failed" in out
    assert "refuses" not in err
    pd.testing.assert_frame_equal(stored(home / "plain"), stored(home / "results"), check_exact=True)
