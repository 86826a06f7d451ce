"""A user's folder with an undisturbed run, and what is asked after every fault. Imported by the kinds of faults."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from dpbench.errors import Damaged
from dpbench.model.run import Run

from support import door
from support.homes import RUN, make_home
from support.paths import ROOT

WORDS = (*RUN, "mechanism=[noisy,lpa]", "epsilon=[1]", "trials=12", "runner.jobs=1", "runner.chunk=4", "name=whole")
LONGEST = 150.0  # seconds of a command before it counts as hung
Numbers = dict[tuple[str, int], tuple[tuple[str, str], ...]]


class NotTried(Exception):
    """This machine does not allow the fault; the message says why."""


class Bad(Exception):
    """A fault was not survived: `silent`, `lost`, `crashed` or `hung`, with what was seen."""

    def __init__(self, outcome: str, seen: object) -> None:
        super().__init__(f"{outcome}: {str(seen)[-1500:]}")
        self.outcome = outcome


@dataclass
class World:
    """The folder; `whole` are the numbers that every later run must give."""

    home: Path
    dice: random.Random
    whole: Numbers
    long: bool = False
    """Whether there is time for faults that take minutes."""
    count: int = 0

    @classmethod
    def make(cls, home: Path, seed: int, *, long: bool) -> World:
        make_home(home)
        os.environ["DPBENCH_CACHE"] = str(home / "cache")
        os.environ["DPBENCH_RECORD"] = str(home / "nothing on record")  # `figures` would draw all of it
        made = cls(home, random.Random(seed), {}, long)
        made.call(*WORDS, "results=undisturbed", status=(0,))
        made.whole = numbers(home / "undisturbed")
        assert len(made.whole) == 24
        return made

    def copy(self) -> Path:
        """A new results folder with the finished run."""
        self.count += 1
        return Path(shutil.copytree(self.home / "undisturbed", self.home / f"r{self.count}"))

    def call(
        self, *words: str, status: Sequence[int] = (0, 1, 2), env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """A finished command, which may fail, but in order."""
        try:
            done = door.dpbench(*words, cwd=self.home, timeout=LONGEST, env=env)
        except subprocess.TimeoutExpired:
            raise Bad("hung", words) from None
        return judged(done, status)

    def python(self, *before: str, code: str = "", words: Sequence[str] = WORDS, **more: Any) -> subprocess.Popen[str]:
        """A command in a Python of its own, which is still running. `code` runs first."""
        start = f"{code}\nimport runpy, sys\nsys.argv = ['dpbench', *sys.argv[1:]]\n"
        start += "runpy.run_module('dpbench', run_name='__main__', alter_sys=True)\n"
        pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        environment = door.environment(PYTHONPATH=str(ROOT))
        command = [*before, sys.executable, "-P", "-c", start, *words]
        return subprocess.Popen(command, cwd=self.home, env=environment, **pipes, **more)

    def finished(self, process: subprocess.Popen[str], status: Sequence[int] = (0, 1, 2)) -> str:
        """What a command of `python` printed."""
        try:
            out, err = process.communicate(timeout=LONGEST)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise Bad("hung", process.args) from None
        done = subprocess.CompletedProcess(process.args, process.returncode, out, err)
        judged(done, status)
        return out + err

    def settle(self, results: Path) -> None:
        """What is there is right; the same command completes it, and nothing is missing or different then."""
        self.look(results)
        self.call(*WORDS, f"results={results.name}", status=(0,))
        if missing := self.whole.keys() - self.look(results).keys():
            raise Bad("lost", f"{len(missing)} trials in {results}")
        shutil.rmtree(results, ignore_errors=True)

    def look(self, results: Path) -> Numbers:
        found = numbers(results)
        if wrong := {key for key, row in found.items() if self.whole.get(key) != row}:
            raise Bad("silent", f"{len(wrong)} trials in {results} are not those that were computed")
        return found


def judged(done: subprocess.CompletedProcess[str], status: Sequence[int]) -> subprocess.CompletedProcess[str]:
    if "Traceback" in done.stderr or done.returncode not in status:
        raise Bad("crashed", f"{done.args}: {done.returncode}: {done.stderr}")
    return done


def numbers(results: Path) -> Numbers:
    """Every number of the run but the times, by setting and trial, as text, so that nothing is equal by rounding."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Damaged)
        run = Run.all(results).get("whole") if results.is_dir() else None
        frame = pd.DataFrame() if run is None else run.trials()
    kept = frame.drop(columns="seconds", errors="ignore").sort_index(axis=1)
    return {
        (r["setting"], r["trial"]): tuple((str(k), repr(v)) for k, v in r.items() if not pd.isna(v))
        for r in kept.to_dict("records")
    }
