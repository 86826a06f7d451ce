"""Shared by all tests: one cache of built data for the session, and the command line in a subprocess."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from support.paths import ROOT

os.environ["DPBENCH_RECORD"] = str(ROOT / "tests" / "nothing on record")  # no test depends on what is on record today


@pytest.fixture(scope="session", autouse=True)
def data_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache of the session's own, so that no test depends on what this machine has built before. The compiled
    kernels stay where they are: recompiling them would take a minute and proves nothing."""
    from dpbench.paths import cache

    os.environ.setdefault("NUMBA_CACHE_DIR", str(cache() / "numba"))
    folder = tmp_path_factory.mktemp("cache")
    os.environ["DPBENCH_CACHE"] = str(folder)
    return folder


@pytest.fixture
def dpbench(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """`dpbench("run", "scale=smoke")` in an empty folder, as a user would; returns the finished process."""

    def call(*words: str, cwd: Path = tmp_path, timeout: float = 300) -> subprocess.CompletedProcess[str]:
        environment = os.environ | {"PYTHONPATH": str(ROOT), "COLUMNS": "200"}
        command = [sys.executable, "-m", "dpbench", *words]
        return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=timeout)

    return call
