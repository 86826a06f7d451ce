"""A user's folder with an undisturbed run, and what is asked after every fault. Imported by the kinds of faults."""

from __future__ import annotations

import os
import random
import re
import resource
import shutil
import subprocess
import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from dpbench.errors import Damaged
from dpbench.model.run import Run

from support import door
from support.homes import RUN, make_home

WORDS = (*RUN, "mechanism=[noisy,lpa]", "epsilon=[1]", "trials=12", "runner.jobs=1", "runner.chunk=4", "name=whole")
LONGEST = 300.0  # seconds of a command before it counts as hung; most take two
MEMORY = 8 << 30  # bytes of address space, so that a file that unpacks to more ends its command and not the machine
# What a text may do to a terminal: escapes and other controls, and letters that are shown in another order than they are.
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
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
    seen: set[str] = field(default_factory=set)

    @classmethod
    def make(cls, home: Path, seed: int, *, long: bool) -> World:
        _, most = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, most))
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
        return Path(shutil.copytree(self.home / "undisturbed", self.new()))

    def call(
        self, *words: str, status: Sequence[int] = (0, 1, 2), env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """A finished command, which may fail, but in order."""
        try:
            done = door.dpbench(*words, cwd=self.home, timeout=LONGEST, env=door.environment(**(env or {})))
        except subprocess.TimeoutExpired:
            raise Bad("hung", words) from None
        return judged(done, status)

    def python(
        self,
        *before: str,
        code: str = "",
        words: Sequence[str] = WORDS,
        env: Mapping[str, str] | None = None,
        **more: Any,
    ) -> subprocess.Popen[str]:
        """A command in a Python of its own, which is still running. `code` runs first."""
        start = f"{code}\nimport runpy, sys\nsys.argv = ['dpbench', *sys.argv[1:]]\n"
        start += "runpy.run_module('dpbench', run_name='__main__', alter_sys=True)\n"
        pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        environment = door.environment(**(env or {}))
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

    def once(self, what: str) -> bool:
        """Whether there is time for something that takes minutes, and it has not been done yet."""
        first = self.long and what not in self.seen
        self.seen.add(what)
        return first

    def new(self) -> Path:
        """A name for a results folder that does not exist yet."""
        self.count += 1
        return self.home / f"r{self.count}"

    def settle(self, results: Path) -> None:
        """What is there is right; the same command completes it, and nothing is missing or different then."""
        self.look(results)
        self.call(*WORDS, f"results={results.name}", status=(0,))
        if missing := self.whole.keys() - self.look(results).keys():
            raise Bad("lost", f"{len(missing)} trials in {results}")
        shutil.rmtree(results, ignore_errors=True)

    def look(self, results: Path) -> Numbers:
        found = numbers(results)
        if strange := {setting for setting, _ in found.keys() - self.whole.keys()}:
            raise Bad("silent", f"{len(strange)} settings have other names: was the code or the data changed?")
        if wrong := {key: (row, self.whole[key]) for key, row in found.items() if self.whole[key] != row}:
            example = next(iter(wrong.values()))
            raise Bad("silent", f"{len(wrong)} trials in {results} are not those that were computed: {example}")
        return found


def judged(done: subprocess.CompletedProcess[str], status: Sequence[int]) -> subprocess.CompletedProcess[str]:
    if "Traceback" in done.stderr or done.returncode not in status:
        raise Bad("crashed", f"{done.args[-4:]}: {done.returncode}: {done.stderr}")
    if control := CONTROL.search(done.stdout + done.stderr):
        raise Bad("silent", f"{done.args}: {control[0]!r} reaches the terminal")
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
