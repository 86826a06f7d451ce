"""`run -m`: the jobs of a sweep, each under a name of its own, and at the end one table and figure of all. Imported by `run`."""

from __future__ import annotations

import math
import os
import pickle
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rich.markup import escape

from dpbench.cli import common
from dpbench.cli import run_tables as tables
from dpbench.config.catalogue import ENTRIES
from dpbench.config.compose import hydra_sweep
from dpbench.config.schema import RunConfig
from dpbench.model.run import Run, Setting
from dpbench.storage.frame import METRIC, metric_names


@dataclass(frozen=True)
class FinishedJob:
    """What one job of a sweep sends to the process that started the sweep."""

    swept: tuple[str, ...]
    status: int = 2
    problem: Exception | None = None
    run: Run | None = None


@dataclass(frozen=True)
class SweepRunner:
    """Runs the jobs. A launcher of Hydra may do so in other processes, so what they found is written to files of a folder."""

    folder: Path
    verbose: bool

    def __call__(self, config: RunConfig | Exception, swept: Sequence[str]) -> float:
        """Run one job. Returns the mean of its first metric over all trials, for sweepers that optimise."""
        from dpbench.cli.run import run_all

        job = FinishedJob(tuple(swept), problem=config if isinstance(config, Exception) else None)
        if isinstance(config, RunConfig):
            try:
                status = run_all({config.name: config}, verbose=self.verbose, last=False)
                run = None if config.dry else Run.load(config.results, config.name, config.scale)
                job = replace(job, status=status, run=run)
            except Exception as problem:
                job = replace(job, problem=problem)
        number = len(list(self.folder.iterdir()))
        (self.folder / f"{number:06d}-{os.getpid()}").write_bytes(pickle.dumps(job))
        return math.nan if job.run is None else first_metric(job.run)


def first_metric(run: Run) -> float:
    """The mean of the first metric that the run's table shows; nan if nothing was measured."""
    trials = run.trials()
    names = [name for name in (*run.metrics, *metric_names(trials)) if METRIC + name in trials]
    return float(trials[METRIC + names[0]].mean()) if names else math.nan


def main(argv: list[str], verbose: bool) -> int:
    """Run the sweep, then print and draw what its jobs found. Returns the exit status."""
    with tempfile.TemporaryDirectory(prefix="dpbench-sweep-") as folder:
        hydra_sweep(argv, SweepRunner(Path(folder), verbose))
        jobs: list[FinishedJob] = [pickle.loads(path.read_bytes()) for path in sorted(Path(folder).iterdir())]
    problems = [(job, job.problem) for job in jobs if job.problem is not None]
    if problems and len(problems) == len(jobs):
        raise problems[0][1]
    for job, problem in problems:
        common.notes().print(f"[red]not run[/]: {escape(', '.join(job.swept))}: {escape(str(problem))}")
    finished = [(job, job.run) for job in jobs if job.run is not None]
    if len(finished) > 1:
        from dpbench.cli.run import draw

        run = joint(finished)
        tables.print_results(common.console(), run)
        draw(run, common.notes())
    return 1 if problems else max((job.status for job in jobs), default=0)


def joint(finished: Sequence[tuple[FinishedJob, Run]]) -> Run:
    """All settings of a sweep as one run, which is not stored: the swept values are shown beside their parameters."""
    settings: dict[str, Setting] = {}
    for job, run in finished:
        for setting in run.settings:
            values = {key.rpartition(".")[2]: value for key, _, value in (word.partition("=") for word in job.swept)}
            told = {name.rpartition(".")[2] for name in setting.labels()} | {*ENTRIES}
            added = {name: _number(value) for name, value in values.items() if name not in told}
            mechanism = replace(setting.mechanism, params={**setting.mechanism.params, **added})
            settings[setting.id] = replace(setting, mechanism=mechanism)
    runs = [run for _, run in finished]
    axes = dict.fromkeys(word.partition("=")[0] for job, _ in finished for word in job.swept)
    names = {run.name.partition(f".{next(iter(axes), '')}-")[0] for run in runs}
    name = names.pop() if len(names) == 1 else "sweep"
    return replace(
        runs[0],
        name=f"{name}.sweep",
        experiment="",
        title=f"Sweep over {', '.join(axes)}",
        settings=tuple(settings.values()),
        repetitions=max(run.repetitions for run in runs),
        added=0,
        changes=(),
    )


def _number(text: str) -> str | int | float:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
