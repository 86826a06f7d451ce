"""What to tell a user about a run and how to go on from it: remarks, and the commands that make or complete it."""

from __future__ import annotations

import shlex
from pathlib import Path

from dpbench.errors import UserError
from dpbench.results.folder import is_old
from dpbench.results.run import Run
from dpbench.results.store import Store

RESULTS = Path("results")  # where runs write unless told otherwise, as conf/run.yaml says


def run_command(experiment: str | None, results: Path, scale: str | None = None) -> str:
    """What to type to have this experiment (None: the first one) in this folder."""
    words = [f"{key}={value}" for key, value in (("experiment", experiment), ("scale", scale)) if value]
    words += [f"results={results}"] if results != RESULTS else []
    return shlex.join(["python", "-m", "dpbench", "run", *words])


def remarks(run: Run, trials: int | None = None) -> list[str]:
    """What a reader of a run's figure must know: that it is not the experiment as defined, or not finished.

    `trials`: how many are stored, where the caller knows.
    """
    found = []
    again = run_command(run.experiment, run.results, run.scale)
    as_defined = bool(run.experiment) and run.name == run.experiment and not run.changes
    if run.changes:
        which = "the experiment" if run.name == run.experiment else run.experiment
        found.append(f"not as {which} is defined ({'; '.join(run.changes)}); as defined: `{again}`")
    if trials is None:
        store = Store(run.results)
        ids = {setting.id for setting in run.settings}
        trials = sum(len([t for t in store.done(name) if t < run.repetitions]) for name in ids)
    if trials < run.planned:
        on = f"`{again}` goes on from there" if as_defined else "the same command goes on from there"
        found.append(f"not finished: {trials} of {run.planned} trials are stored; {on}")
    return found


def stored(results: Path, scale: str | None = None) -> dict[str, Run]:
    """The newest run of every experiment, for a verb that makes something of them: a folder without any is wrong use."""
    if found := Run.all(results, scale):
        return found
    raise nothing_stored(results, None, scale)


def nothing_stored(results: Path, experiment: str | None, scale: str | None) -> UserError:
    """Why there is no such run, and the command that makes it."""
    if results.exists() and not results.is_dir():
        return UserError(
            f"--results {results} is a file: expected a folder that `python -m dpbench run` has written to"
        )
    others = Run.all(results)
    if not results.is_dir():
        problem = "does not exist"
    elif is_old(results):
        problem = "was written by an earlier version of dpbench, whose files are not read any more"
    elif experiment and others:
        problem = f"holds no run of {experiment}"
    elif others:
        scales = " and ".join(sorted({run.scale for run in others.values()}))
        problem = f"holds no run of scale {scale}, only of {scales}"
    else:
        problem = "holds no run"
    command = run_command(experiment, results, scale)
    return UserError(f"--results {results} {problem}: expected a folder that runs have written to; make one: {command}")
