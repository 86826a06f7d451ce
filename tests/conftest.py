"""Shared by all tests: one cache of built data for the session, and the command line in a subprocess."""

from __future__ import annotations

import compileall
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import threadpoolctl

import dpbench.paths

from support import door
from support.paths import ROOT
from support.sessions import session_folder

# No test depends on what is on record today. The pytest plugin has loaded dpbench.paths before, and nothing that uses it.
dpbench.paths.RECORD = ROOT / "tests" / "nothing on record"
os.environ["DPBENCH_RECORD"] = str(dpbench.paths.RECORD)
# The threads of linear algebra in several processes wait for each other, which takes ten times the processor time.
for library in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")
threadpoolctl.threadpool_limits(1)  # what is loaded already


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """pytest keeps what it makes of the tests' asserts, also where Python may write no bytecode: each process would make it
    anew, for seven seconds."""
    given, sys.dont_write_bytecode = sys.dont_write_bytecode, False
    try:
        return (yield)
    finally:
        sys.dont_write_bytecode = given


@pytest.fixture(scope="session", autouse=True)
def data_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache of the session's own, so that no test depends on what this machine has built before. The processes of
    pytest-xdist share it: data are built and privacy is audited once. The compiled kernels stay where they are:
    recompiling them would take a minute and proves nothing."""
    from dpbench.paths import cache

    os.environ.setdefault("NUMBA_CACHE_DIR", str(cache() / "numba"))
    # Workers take a second each to start: where nothing else is said, a run is one process. Tests of workers ask for them.
    os.environ.setdefault("LOKY_MAX_CPU_COUNT", "1")
    if sys.dont_write_bytecode:  # then every process that a test starts would compile the package anew
        compileall.compile_dir(ROOT / "dpbench", quiet=2)
    folder = session_folder(tmp_path_factory) / "cache"
    folder.mkdir(exist_ok=True)
    os.environ["DPBENCH_CACHE"] = str(folder)
    return folder


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the test's own, for tests that look at what is in it."""
    monkeypatch.setenv("DPBENCH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def dpbench(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """`dpbench("run", "scale=smoke")` in an empty folder, as a user would; returns the finished process."""

    def call(*words: str, cwd: Path = tmp_path, timeout: float = 900) -> subprocess.CompletedProcess[str]:
        return door.dpbench(*words, cwd=cwd, timeout=timeout)

    return call
