"""The harness itself: trivial trials through the command line, and start-up of the light verbs."""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from dpbench.bench.base import FloorRow
from dpbench.storage import record

SIZES = (200, 2_000, 20_000, 100_000)
"""Numbers of trials from which the cost of one more is fitted."""


def harness() -> Iterator[FloorRow]:
    """600 trivial trials through the command line, the time of each further trial, and a run that finds all of them stored."""
    with tempfile.TemporaryDirectory() as folder:
        run_costs(2, folder)  # compiles what the others find
        times = [run_costs(trials, folder)[0] for trials in SIZES]
        resumed = run_costs(SIZES[-1], folder)[0]
        planned, megabytes = _plan_costs(folder)
        pairs = [(run_costs(600, folder, f"beside {k}")[0], _benchopt_seconds()) for k in range(3)]
    each = 1e3 * slope(SIZES, times)
    yield FloorRow("harness, one more trivial trial", f"{each:.3f} ms", "under 1 ms", 0 < each < 1)
    yield FloorRow("harness, 100,000 stored trials resumed", f"{resumed:.2f} s", "under 5 s", resumed < 5)
    text, held = f"{planned:.1f} s, {megabytes:.0f} MB", planned < 30 and megabytes < 500
    yield FloorRow("harness, 50,000 settings planned", text, "under 30 s and 500 MB", held)
    measured = sorted((ours / theirs, ours, theirs) for ours, theirs in pairs if theirs is not None)
    if not measured:
        text = f"{min(ours for ours, _ in pairs):.2f} s (benchopt is not installed here: make bench-peers)"
        yield FloorRow(TRIALS, text, FLOOR, None)
        return
    ratio, ours, theirs = measured[len(measured) // 2]
    text = f"{ratio:.2f} x ({measured[0][0]:.2f} to {measured[-1][0]:.2f}; {ours:.2f} s against {theirs:.2f} s)"
    yield FloorRow(TRIALS, text, FLOOR, ratio < 1 / 3)


def slope(sizes: Sequence[int], times: Sequence[float]) -> float:
    """Seconds per unit of size: the median slope of all pairs of points, which one slow run does not spoil."""
    points = sorted(zip(sizes, times, strict=True))
    return statistics.median((t - s) / (n - m) for i, (m, s) in enumerate(points) for n, t in points[i + 1 :])


def run_costs(trials: int, folder: str, name: str = "") -> tuple[float, float]:
    """Processor seconds and peak megabytes of a run of trivial trials; the results of an earlier call are found."""
    return _command(folder, "run", *TRIVIAL, f"trials={trials // 2}", f"results={folder}/{name or trials}")


def _plan_costs(folder: str) -> tuple[float, float]:
    """The same for a plan of 50,000 settings, of which nothing is run."""
    epsilons = ",".join(str(1 + k / 10_000) for k in range(12_500))
    words = [word for word in TRIVIAL if not word.startswith(("epsilon=", "mechanism="))]
    axes = ("mechanism=[lpa,alpa,zero,gs_r]", f"epsilon=[{epsilons}]", "trials=1", "dry=true")
    return _command(folder, "run", *words, *axes, f"results={folder}/plan")


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


def _command(folder: str, *words: str) -> tuple[float, float]:
    return _costs([sys.executable, "-m", "dpbench", *words], {"DPBENCH_CACHE": os.path.join(folder, "cache")})


def _costs(words: list[str], environment: dict[str, str]) -> tuple[float, float]:
    """Processor seconds and peak megabytes of a command and of the processes that it waited for.

    A small process starts it: Linux counts the memory of whoever starts a process as that of the new one, too.
    """
    done = subprocess.run(
        [sys.executable, "-S", "-c", _WAIT, *words], capture_output=True, text=True, env=os.environ | environment
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)[:200]} failed: {done.stderr.strip()[-2000:]}")
    seconds, kilobytes = map(float, done.stdout.split())
    return seconds, kilobytes / 1e3


_WAIT = """import os, subprocess, sys
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, used = os.wait4(process.pid, 0)
print(used.ru_utime + used.ru_stime, used.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status) and 1)
"""


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
        return _costs(words, {})[0]


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


DOORS: tuple[tuple[tuple[str, ...], float], ...] = (
    (("-c", "import dpbench"), 0.3),
    (("-m", "dpbench", "--help"), 0.3),
    (("-m", "dpbench", "list", "experiments"), 0.3),
    (("-m", "dpbench", "list", "mechanisms"), 0.4),
    (("-m", "dpbench", "run", *TRIVIAL, "mechanism=[lpa]", "trials=1", "results={new}"), 1.5),
    (("-m", "dpbench", "claims", "--results", "{new}"), 3.0),
    (
        (
            "-m",
            "dpbench",
            "figures",
            *(name for name in record.names() if name.startswith("gs/")),
            "--results",
            "{new}",
        ),
        5.0,
    ),
    (("-m", "dpbench", "report", "--results", "{new}"), 15.0),
)
"""Commands, and the processor seconds that each may take with nothing run."""
MADE = ("audits", "pictures")
"""What commands keep in the cache: it is emptied of these, so that each time is the first. Data and machine code stay."""


def startup() -> Iterator[FloorRow]:
    """What a user waits for with the record and no run of their own, in processor time: the best of three first times."""
    with tempfile.TemporaryDirectory() as folder:
        for words, most in DOORS:
            took = min(_first_time(words, folder, f"{folder}/{k}") for k in range(3))
            told = [word for word in words[1:] if word not in TRIVIAL and "{new}" not in word and word != "--results"]
            yield FloorRow(f"`{' '.join(told)}`, the first time", f"{took:.2f} s", f"{most:g} s", took <= most)


def _first_time(words: Sequence[str], folder: str, new: str) -> float:
    """Processor seconds of a command with an empty results folder."""
    for name in MADE:
        shutil.rmtree(Path(folder, "cache", name), ignore_errors=True)
    shutil.rmtree(new, ignore_errors=True)
    command = [sys.executable, *(word.replace("{new}", new) for word in words)]
    return _costs(command, {"DPBENCH_CACHE": f"{folder}/cache"})[0]
