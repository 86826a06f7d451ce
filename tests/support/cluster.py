"""Dask schedulers and workers as processes of their own, as a user starts them; and the user's folder that they work for."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import pandas as pd

from dpbench.storage.store import Store

from support.paths import ROOT, copy_package

DASK = (sys.executable, "-P", "-m", "dask")  # -P: as the command `dask`, which does not look into the current folder
RUN = ("run", "--config-dir", "mine", "dataset=[small]", "tracking=none", "figure=false", "scale=smoke", "epsilon=[1]")
MECHANISMS = ("Noisy", "Flaky", "Deadly", "Slow")


def user_folder(folder: Path) -> Path:
    """strangers.py, and a configuration folder `mine` that names what is in it."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / "tests" / "strangers.py", folder)
    entries = {f"mechanism/{name.lower()}": f"{name.lower()}: {{class: strangers.{name}}}\n" for name in MECHANISMS}
    entries["dataset/small"] = "small: {kind: incidence, source: generator, generator: strangers.Small}\n"
    for name, text in entries.items():
        path = folder / "mine" / f"{name}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def checkout(folder: Path) -> Path:
    """A copy of the package."""
    copy_package(folder)
    return folder


def altered_checkout(folder: Path, module: str, old: str, new: str) -> Path:
    """A copy of the package in which one module is another one."""
    checkout(folder)
    path = folder / "dpbench" / module
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    return folder


def stored(results: Path) -> pd.DataFrame:
    """Every stored number but the time it took, by setting and trial."""
    store = Store(results)
    tables = {path.name: store.read(path.name) for path in sorted(results.glob("trials/*/*"))}
    frames = [table.to_pandas().assign(setting=name) for name, table in tables.items() if table is not None]
    return pd.concat(frames, ignore_index=True).drop(columns="seconds") if frames else pd.DataFrame()


def until(condition: Callable[[], object], what: str, seconds: float = 240) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"{what} did not come about within {seconds} s"
        time.sleep(0.02)


class Cluster:
    """A scheduler on a free port, and workers. `close` ends all of them, with all that they started.

    `before`: what goes before a command to run it where the scheduler is.
    """

    def __init__(self, folder: Path, host: str = "127.0.0.1", before: tuple[str, ...] = ()) -> None:
        self.folder, self.before = folder, before
        self.processes: list[subprocess.Popen[bytes]] = []
        place = folder / "scheduler.json"
        words = ("scheduler", "--port", "0", "--no-dashboard", "--host", host, "--scheduler-file", str(place))
        self.scheduler = self._start("scheduler", words, folder, {}, before)
        until(lambda: place.exists() and place.read_text().strip().endswith("}"), "the scheduler")
        self.address = str(json.loads(place.read_text())["address"])

    def worker(
        self,
        name: str,
        *words: str,
        cwd: Path,
        code: Path = ROOT,
        threads: int = 1,
        wait: bool = True,
        before: tuple[str, ...] = (),
        **environment: str,
    ) -> subprocess.Popen[bytes]:
        """A worker that is started in `cwd` and has the package of the checkout `code`."""
        there = self.names() if wait else set()
        command = ("worker", self.address, "--no-dashboard", "--name", name, "--nthreads", str(threads), *words)
        process = self._start(name, command, cwd, {"PYTHONPATH": str(code), **environment}, before)
        if wait:
            until(lambda: self.names() - there, f"worker {name}")
        return process

    def names(self) -> set[str]:
        """The addresses of the workers that the scheduler knows."""
        from distributed import Client

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # some workers have other libraries, as they should
            with Client(self.address, set_as_default=False, timeout=300) as client:
                return set(client.nthreads())

    def _start(
        self, name: str, words: tuple[str, ...], cwd: Path, environment: dict[str, str], before: tuple[str, ...]
    ) -> subprocess.Popen[bytes]:
        log = (self.folder / f"{name}.log").open("wb")
        everything = os.environ | {"DASK_TEMPORARY_DIRECTORY": str(self.folder / "scratch")} | environment
        process = subprocess.Popen(
            (*before, *DASK, *words), cwd=cwd, env=everything, stdout=log, stderr=log, start_new_session=True
        )
        self.processes.append(process)
        return process

    def log(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text()

    def kill(self, process: subprocess.Popen[bytes]) -> None:
        """A process with all its children, at once."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def close(self) -> None:
        for process in self.processes:
            self.kill(process)
