"""`bench`: the speed floors, measured as ratios in one run on one core; absolute times are indications only.

Each row is a function that returns what was measured; a floor that is not held is printed as such and ends in exit
status 1.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from dpbench.errors import UserError, nearest


@dataclass(frozen=True)
class Row:
    """One line of the speed table."""

    what: str
    measured: str
    floor: str
    held: bool


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m dpbench bench", description=__doc__)
    parser.add_argument("row", nargs="*", help=f"some of: {', '.join(BENCHES)} (default: all)")
    args = parser.parse_args(argv)
    for name in args.row:
        if name not in BENCHES:
            raise UserError(f"unknown bench {name!r}: {nearest(name, BENCHES)}")
    table = Table(title="Speed, as ratios measured in one run")
    for head in ("what", "measured", "floor", "held"):
        table.add_column(head)
    held = True
    notes = Console(stderr=True)
    for name in args.row or BENCHES:
        notes.print(f"measuring {name} ...")
        for row in BENCHES[name]():
            held &= row.held
            table.add_row(row.what, row.measured, row.floor, "yes" if row.held else "[red]no")
    console = Console()
    Console(width=None if console.is_terminal else 150).print(table)
    return 0 if held else 1


def seconds(call: Callable[[], object], repeat: int = 5) -> float:
    """The best of some timings: noise on a shared machine only ever adds."""
    best = float("inf")
    for _ in range(repeat):
        began = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - began)
    return best


def _gs() -> Iterator[Row]:
    """GS tuning against the direct O(d²) evaluation, and at Checkin's number of columns."""
    from dpbench.numerics.grouping import tuning_curve, tuning_curve_direct

    rng = np.random.default_rng(0)
    d, delta, epsilon = 17770, 17000, np.log(2)
    estimate = np.sort(delta * rng.lognormal(0, 2, d))
    scale = 2 * delta / epsilon
    tuning_curve(estimate[:10], scale, rng)
    fast = seconds(lambda: tuning_curve(estimate, scale, rng))
    direct = seconds(lambda: tuning_curve_direct(estimate, scale, rng), repeat=1)
    ratio = direct / fast
    text = f"{ratio:.0f} x ({1e3 * fast:.1f} ms against {direct:.2f} s)"
    yield Row("GS tuning, every w, d = 17,770, against the O(d²) loop", text, "at least 300 x", ratio >= 300)
    large = np.sort(rng.laplace(0, 2175.0, 5_977_758))
    took = seconds(lambda: tuning_curve(large, 2 * 2175 / epsilon, rng), repeat=1)
    # The machine's speed enters by the small case, so that the floor is a ratio too: work grows as d ln d.
    growth = (5_977_758 * np.log(5_977_758)) / (d * np.log(d))
    text = f"{took:.1f} s, {took / (fast * growth):.2f} x what d ln d predicts"
    yield Row("GS tuning, every w, d = 5,977,758, one core", text, "about 10 s", took <= 15)


def _column_sampling() -> Iterator[Row]:
    """One random 1 a row against a random gather of n elements from the same array."""
    from dpbench.numerics.sampling import sample_columns

    rng = np.random.default_rng(0)
    n, per_row = 1_000_000, 50
    indices = rng.integers(0, 20_000, n * per_row, dtype=np.int32)
    indptr = np.arange(0, n * per_row + 1, per_row, dtype=np.int64)
    places = rng.integers(0, indices.size, n)
    sample_columns(indptr[:2], indices[:per_row], rng)
    sample = seconds(lambda: sample_columns(indptr, indices, rng))
    gather = seconds(lambda: indices[places])
    text = f"{sample / gather:.2f} x ({1e3 * sample:.1f} ms)"
    yield Row("column sampling, n = 1,000,000 rows, against a random gather", text, "at most 3 x", sample <= 3 * gather)


def _harness() -> Iterator[Row]:
    """600 trivial trials through the front door, and what each trial adds."""
    times = {}
    with tempfile.TemporaryDirectory() as folder:
        for trials in (200, 10_200):
            times[trials] = _command(folder, "run", *TRIVIAL, f"trials={trials // 2}", f"results={folder}/{trials}")
        each = 1e3 * (times[10_200] - times[200]) / 10_000
        total = _command(folder, "run", *TRIVIAL, "trials=300", f"results={folder}/600")
    yield Row("harness, one more trivial trial", f"{each:.3f} ms", "under 1 ms", each < 1)
    theirs = _benchopt_seconds()
    if theirs is None:
        text, floor = f"{total:.2f} s (benchopt is not installed here)", "half of benchopt's time"
        yield Row("harness, 600 trivial trials, start-up included", text, floor, True)
    else:
        text = f"{total:.2f} s, {total / theirs:.2f} x benchopt's {theirs:.2f} s"
        yield Row("harness, 600 trivial trials, start-up included", text, "at most 0.5 x", total <= 0.5 * theirs)


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
    subprocess.run([sys.executable, "-m", "dpbench", *words], check=True, capture_output=True, env=environment)
    return time.perf_counter() - began


def _benchopt_seconds() -> float | None:
    """benchopt's time for 2 solvers x 300 repetitions that do nothing; None where it is not installed."""
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


def _startup() -> Iterator[Row]:
    """The light verbs against a bare interpreter that imports numpy."""
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import numpy"], check=True)
    bare = time.perf_counter() - began
    with tempfile.TemporaryDirectory() as folder:
        for words in (("list", "mechanisms"), ("run", "--help")):
            took = min(_command(folder, *words) for _ in range(3))
            text = f"{took:.2f} s ({took / bare:.1f} x an interpreter with numpy)"
            yield Row(f"start-up of `{' '.join(words)}`", text, "well under 1 s", took < 1)


BENCHES: dict[str, Callable[[], Iterator[Row]]] = {
    "gs": _gs,
    "column_sampling": _column_sampling,
    "harness": _harness,
    "startup": _startup,
}
