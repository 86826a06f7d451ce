"""Nothing is left running when the process that sent the work is killed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from support.cluster import RUN, until, user_folder
from support.paths import ROOT

LONG = """
import time
from dataclasses import dataclass
from pathlib import Path

import numba
from dpbench import Mechanism


@numba.njit(nogil=True)
def spin(n):
    total = 0.0
    for i in range(n):
        total += 1.0 / (i + total + 1.0)
    return total


@dataclass(frozen=True, kw_only=True)
class Kernel(Mechanism):
    def release(self, data, epsilon, rng, **more):
        spin(10)
        Path("running").touch()
        spin(10**13)


@dataclass(frozen=True, kw_only=True)
class Sleeper(Mechanism):
    def release(self, data, epsilon, rng, **more):
        Path("running").touch()
        time.sleep(1000)
"""


SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    ("runner", "mechanism"),
    [
        ("local", "Kernel"),
        ("dask", "Sleeper"),
        pytest.param("local", "Sleeper", marks=SLOW),
        pytest.param("dask", "Kernel", marks=SLOW),
    ],
)
def test_workers_end_with_their_parent(tmp_path: Path, mechanism: str, runner: str) -> None:
    """Three workers, of which two are idle. The trackers of joblib end, too."""
    if runner == "dask":
        pytest.importorskip("distributed", reason="Dask is not installed")
    home = user_folder(tmp_path)
    (home / "long.py").write_text(LONG)
    (home / "mine" / "mechanism" / "long.yaml").write_text(f"long: {{class: long.{mechanism}}}\n")
    words = (*RUN, "mechanism=[long]", "trials=2", f"runner={runner}", "runner.jobs=3")
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    log = (tmp_path / "log").open("w")
    parent = subprocess.Popen(
        [sys.executable, "-m", "dpbench", *words], cwd=home, env=environment, stderr=log, stdout=log
    )
    children: list[psutil.Process] = []
    try:
        until((home / "running").exists, "the release")
        children = psutil.Process(parent.pid).children(recursive=True)
        assert len(children) >= 3
        parent.kill()
        parent.wait()
        _, alive = psutil.wait_procs(children, timeout=300)  # two seconds on a quiet machine
        assert not alive
    finally:
        for process in children:
            if process.is_running():
                process.kill()
        parent.kill()
