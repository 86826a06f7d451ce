"""The harness itself: trivial trials through the command line, and start-up of the light verbs."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from dpbench.bench.base import FloorRow


def harness() -> Iterator[FloorRow]:
    """600 trivial trials through the command line, and the time of each further trial."""
    times = {}
    with tempfile.TemporaryDirectory() as folder:
        for trials in (200, 10_200):
            times[trials] = _command(folder, "run", *TRIVIAL, f"trials={trials // 2}", f"results={folder}/{trials}")
        each = 1e3 * (times[10_200] - times[200]) / 10_000
        total = _command(folder, "run", *TRIVIAL, "trials=300", f"results={folder}/600")
    yield FloorRow("harness, one more trivial trial", f"{each:.3f} ms", "under 1 ms", each < 1)
    theirs = _benchopt_seconds()
    if theirs is None:
        yield FloorRow(TRIALS, f"{total:.2f} s (benchopt is not installed here)", FLOOR, None)
    else:
        text = f"{total:.2f} s, {total / theirs:.2f} x benchopt's {theirs:.2f} s"
        yield FloorRow(TRIALS, text, FLOOR, total < theirs / 3)


TRIALS, FLOOR = "harness, 600 trivial trials, start-up included", "below a third of benchopt's time"
TRIVIAL = (
    "experiment=gs/fig9",
    "scale=smoke",
    "dataset=[trajectory]",
    "mechanism=[lpa,alpa]",
    "epsilon=[1]",
    "tracking=none",
    "figure=false",
)


def _command(folder: str, *words: str) -> float:
    environment = os.environ | {"DPBENCH_CACHE": os.path.join(folder, "cache")}
    began = time.perf_counter()
    done = subprocess.run([sys.executable, "-m", "dpbench", *words], capture_output=True, text=True, env=environment)
    if done.returncode:
        raise RuntimeError(f"dpbench {' '.join(words)} failed: {done.stderr.strip()}")
    return time.perf_counter() - began


def _benchopt_seconds() -> float | None:
    """benchopt's time for 2 solvers x 300 repetitions that do nothing; None if it is not installed."""
    import importlib.util

    if importlib.util.find_spec("benchopt") is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        for name, text in BENCHOPT_FILES.items():
            path = Path(folder, name)
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        words = [sys.executable, "-m", "benchopt", "run", folder, "--no-plot", "--no-display", "-r", "300", "-n", "1"]
        began = time.perf_counter()
        subprocess.run(words, check=True, capture_output=True)
        return time.perf_counter() - began


_SOLVER = """from benchopt import BaseSolver
class Solver(BaseSolver):
    name = "{name}"
    sampling_strategy = "run_once"
    def set_objective(self, x): self.x = x
    def run(self, _): pass
    def get_result(self): return dict(y=self.x)
"""
BENCHOPT_FILES = {
    "objective.py": """from benchopt import BaseObjective
class Objective(BaseObjective):
    name = "nothing"
    def set_data(self, x): self.x = x
    def get_objective(self): return dict(x=self.x)
    def get_one_result(self): return dict(y=0.0)
    def evaluate_result(self, y): return dict(value=float(y))
""",
    "datasets/one.py": """from benchopt import BaseDataset
class Dataset(BaseDataset):
    name = "one"
    def get_data(self): return dict(x=1.0)
""",
    "solvers/a.py": _SOLVER.format(name="a"),
    "solvers/b.py": _SOLVER.format(name="b"),
}


def startup() -> Iterator[FloorRow]:
    """The light verbs against a bare interpreter that imports numpy."""
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import numpy"], check=True)
    bare = time.perf_counter() - began
    with tempfile.TemporaryDirectory() as folder:
        for words in (("list", "mechanisms"), ("run", "--help")):
            took = min(_command(folder, *words) for _ in range(3))
            text = f"{took:.2f} s ({took / bare:.1f} x an interpreter with numpy)"
            yield FloorRow(f"start-up of `{' '.join(words)}`", text, "under 1 s, or 8 x", took < 1 or took < 8 * bare)
