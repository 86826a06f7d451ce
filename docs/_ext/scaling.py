"""The tables of the page on scale: `python docs/_ext/scaling.py` computes them from the record and scale_runs.csv.

`python docs/_ext/scaling.py measure` makes that file first: runs with 1, 2 and 4 workers and shards on this machine.
"""

from __future__ import annotations

import csv
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from dpbench.bench.scaling import Machinery, Work, pool_seconds, shard_seconds
from dpbench.storage.record import read_all

CONCEPTS = Path(__file__).parents[1] / "concepts"
RUNS, CHECK, CLUSTERS = (CONCEPTS / f"scale_{name}.csv" for name in ("runs", "check", "clusters"))
TRIALS, SECONDS = 64, 0.5
CLASS = f"""import time
from dataclasses import dataclass
from dpbench.mechanisms.baselines.laplace import LPA

@dataclass(frozen=True, kw_only=True)
class Waits(LPA, name="waits"):
    def publish_columns(self, columns, epsilon, noise):
        time.sleep({SECONDS})
        return super().publish_columns(columns, epsilon, noise)
"""
RUN = ("experiment=gs/fig9", "scale=smoke", "dataset=[trajectory]", "mechanism=[waits.Waits]", "epsilon=[1]")
PLAIN = ("tracking=none", "figure=false", f"trials={TRIALS}", "runner.chunk=8")
WORK = Work(settings=1, trials=TRIALS, computing=TRIALS * SECONDS)


def started(folder: str, *words: str) -> subprocess.Popen[bytes]:
    environment = os.environ | {"PYTHONPATH": folder}
    command = [sys.executable, "-m", "dpbench", "run", *RUN, *PLAIN, *words]
    return subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL)


def timed(folder: str, *options: tuple[str, ...]) -> float:
    """Seconds of runs that start at the same time."""
    began = time.perf_counter()
    runs = [started(folder, *words) for words in options]
    if any(run.wait() for run in runs):
        raise RuntimeError(f"failed: {options}")
    return time.perf_counter() - began


def measure() -> None:
    """Trials that wait, so that four of them fit two cores and load on the machine matters less."""
    rows: list[tuple[object, ...]] = []
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "waits.py").write_text(CLASS)
        timed(folder, ("trials=2", "runner.jobs=1", "results=warm"))  # builds the data and compiles
        few = {
            "start": ("trials=2", "runner.jobs=1"),
            "start and join": ("trials=4", "runner.jobs=2", "runner.chunk=2"),
        }
        for way, words in few.items():
            rows.append((way, len(rows) + 1, f"{timed(folder, (*words, f'results={folder}/{way}')):.1f}"))
        for way in ("joblib", "dask", "shards"):
            for count in (1, 2, 4):
                place = f"results={folder}/{way}{count}"
                if way == "shards":
                    parts = [(place, "runner.jobs=1", f"runner.shard={k}/{count}") for k in range(1, count + 1)]
                else:
                    parts = [(place, f"runner.jobs={count}", *(("runner=dask",) if way == "dask" else ()))]
                rows.append((way, count, f"{timed(folder, *parts):.1f}"))
                print(*rows[-1], flush=True)
    write(RUNS, ("way", "workers", "seconds"), rows)


def write(path: Path, head: tuple[str, ...], rows: list[tuple[object, ...]]) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([head, *rows])


def check() -> None:
    """The model beside the measured runs, with the costs of starting and joining in the same session."""
    with RUNS.open() as file:
        runs = [(row["way"], int(row["workers"]), float(row["seconds"])) for row in csv.DictReader(file)]
    seconds = {way: took for way, _, took in runs}
    start = seconds["start"] - 2 * SECONDS
    joining = max(0.0, seconds["start and join"] - 2 * SECONDS - start)
    here = Machinery(start=start, joining=joining, chunk=8 * SECONDS)
    rows: list[tuple[object, ...]] = []
    for way, count, took in runs:
        if way in ("joblib", "dask"):
            # One worker of joblib is the process itself.
            costs = replace(here, joining=0.0) if (way, count) == ("joblib", 1) else here
            rows.append((way, count, f"{took:.0f}", f"{pool_seconds(WORK, count, costs=costs):.0f}"))
        elif way == "shards":
            rows.append((way, count, f"{took:.0f}", f"{shard_seconds(WORK, count, costs=here):.0f}"))
    write(CHECK, ("way", "workers or shards", "measured, s", "model, s"), rows)


def clusters() -> None:
    """The five papers on record, and with 10 times the data or 100 times the settings, on N machines of 8 cores."""
    records = [record for record in read_all().values() if record.scale == "paper"]
    papers = Work(
        settings=sum(record.settings for record in records),
        trials=sum(record.settings * record.trials for record in records),
        computing=sum(record.costs.computing for record in records),
        data=float(max(record.costs.disk for record in records)),
    )
    slurm = Machinery(waiting=60.0)
    rows: list[tuple[object, ...]] = []
    for name, work in (
        ("as recorded", papers),
        ("10 x data", papers.larger(data=10)),
        ("100 x settings", papers.larger(settings=100)),
        ("both", papers.larger(data=10, settings=100)),
    ):
        for machines in (1, 4, 16, 64):
            dask = pool_seconds(work, 8 * machines, machines)
            array = shard_seconds(work, 8 * machines, costs=slurm)
            rows.append((name, machines, shown(dask), shown(array), f"{work.computing / dask / machines / 8:.0%}"))
    write(CLUSTERS, ("work", "machines of 8 cores", "Dask", "Slurm array", "cores busy (Dask)"), rows)


def shown(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"


if __name__ == "__main__":
    if sys.argv[1:] == ["measure"]:
        measure()
    check()
    clusters()
