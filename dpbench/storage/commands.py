"""Remarks about a run for the user, and the commands that make or complete it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePath

from dpbench.errors import UserError, nearest
from dpbench.model.run import Run, Value
from dpbench.model.setting import Dataset, Setting, Variant
from dpbench.paths import CONF
from dpbench.privacy.exchange import pure_rho
from dpbench.storage.files import is_old
from dpbench.storage.store import Store

RESULTS = Path("results")  # the default of runs, as in conf/run.yaml


def run_command(experiment: str | None, results: Path, scale: str | None = None) -> str:
    """The command that runs this experiment (None: the first one) into this folder."""
    words = [f"{key}={value}" for key, value in (("experiment", experiment), ("scale", scale)) if value]
    words += [f"results={results}"] if results != RESULTS else []
    return shlex.join(["python", "-m", "dpbench", "run", *words])


def not_run(count: int) -> str:
    """How many experiments are missing, as text."""
    return "1 experiment has not been run yet" if count == 1 else f"{count} experiments have not been run yet"


def audit_command(results: Path) -> str:
    """The command that audits all mechanisms into this folder."""
    words = ["--results", str(results)] if results != RESULTS else []
    return shlex.join(["python", "-m", "dpbench", "audit", *words])


def own_command(run: Run, *, folder: bool = True) -> str:
    """What to type to have this run again: an experiment with the files that were read, or what an ad-hoc run is made of.

    folder: into the same folder.
    """
    words = shlex.split(run_command(run.experiment, run.results if folder else RESULTS, run.scale))
    settings = run.settings
    if not run.experiment:
        for group in ("dataset", "mechanism", "task"):
            names = dict.fromkeys(_typed(getattr(setting, group)) for setting in settings)
            words.append(f"{group}=[{','.join(names)}]")
        for group in ("mechanism", "task"):
            words += _parameters(group, [(getattr(s, group).name, getattr(s, group).params) for s in settings])
        words.append(f"epsilon=[{','.join(_budgets(settings))}]")
    given = [(s.dataset.name, {k: s.dataset.params[k] for k in s.dataset.given}) for s in settings]
    words += _parameters("dataset", [] if run.experiment else given)
    words += [f"dataset.{name}.world=[{','.join(worlds)}]" for name, worlds in run.worlds.items()]
    paths = {s.dataset.name: s.dataset.params.get("path") for s in settings if s.dataset.original}
    # A command for the same folder is for its user; others see only the names of files.
    words += [
        f"dataset.{name}.path={path if folder else PurePath(str(path)).name}" for name, path in paths.items() if path
    ]
    if run.name != run.experiment:
        words += [f"trials={run.repetitions}", *([f"seed={run.seed}"] if run.seed else [])]
        words += _data_seeds(run)
        words += [f"name={run.name}"] if "/" not in run.name else []
    return shlex.join(words)


def _budgets(settings: Sequence[Setting]) -> list[str]:
    """The budgets as command-line words. Where pure guarantees share no ε with others, they were given as ρ: `rho:0.5`."""
    pure = dict.fromkeys(setting.epsilon for setting in settings if setting.guarantee == "ε")
    others = {setting.epsilon for setting in settings if setting.guarantee != "ε"}
    if pure and others and not others & {*pure}:
        return [f"rho:{pure_rho(epsilon):.12g}" for epsilon in pure]
    return [*dict.fromkeys(repr(setting.epsilon) for setting in settings)]


def _typed(chosen: Variant | Dataset) -> str:
    """The word for it on a command line: a class that is no installed name is known by its dotted path."""
    path = chosen.cls if isinstance(chosen, Variant) else chosen.name
    return path if path.endswith(f".{chosen.name}") else chosen.name


def _data_seeds(run: Run) -> Iterator[str]:
    """The seeds of generated data as command-line words."""
    if run.data_seeds and run.data_seeds[0]:
        yield f"data_seed={run.data_seeds[0]}"
    if len(run.data_seeds) > 1:
        yield f"data_seeds={len(run.data_seeds)}"


def _parameters(group: str, chosen: Sequence[tuple[str, Mapping[str, Value]]]) -> Iterator[str]:
    """Parameters as command-line words; one with several values is an axis."""
    values: dict[str, dict[str, None]] = {}
    for name, params in chosen:
        for key, value in params.items():
            text = "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
            values.setdefault(f"{group}.{name}.{key}", {})[text] = None
    for key, listed in values.items():
        yield f"{key}={next(iter(listed))}" if len(listed) == 1 else f"{key}=[{','.join(listed)}]"


def remarks(run: Run, trials: int | None = None) -> list[str]:
    """What a reader of a run's figure must know: that it is not the experiment as defined, or not finished.

    `trials`: how many are stored, if the caller knows.
    """
    notes = []
    again = run_command(run.experiment, run.results, run.scale)
    as_defined = bool(run.experiment) and run.name == run.experiment and not run.changes
    if run.changes:
        which = "the experiment" if run.name == run.experiment else run.experiment
        notes.append(f"not as {which} is defined ({'; '.join(run.changes)}); as defined: `{again}`")
    if run.worlds:
        listed = "; ".join(f"{name}: {', '.join(worlds)}" for name, worlds in run.worlds.items())
        notes.append(
            f"stand-ins other than the default ones ({listed}); boards show all, other figures the default one"
        )
    if len(run.data_seeds) > 1:
        notes.append(several_draws(run))
    if trials is None:
        store = Store(run.results)
        wanted = run.repetitions_by_id()
        trials = sum(len([t for t in store.done(name) if t < most]) for name, most in wanted.items())
    if trials < run.planned:
        on = f"`{again}` continues from there" if as_defined else "the same command continues from there"
        notes.append(f"not finished: {trials} of {run.planned} trials are stored; {on}")
    return notes


def several_draws(run: Run) -> str:
    """What the means and standard errors of a run with several draws of its generated data are."""
    draws = len(run.data_seeds)
    what = "means over the draws of the data, with their standard errors"
    return f"{what}: {draws} draws, so {draws - 1} degree{'s' * (draws > 2)} of freedom"


def stored(results: Path, scale: str | None = None) -> dict[str, Run]:
    """The newest run of every label, for verbs that use them. A folder without runs is a UserError."""
    if runs := Run.each(results, scale):
        return runs
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
        problem = "was written by an earlier version of dpbench, whose files are no longer read"
    elif experiment and others:
        problem = f"holds no run of {experiment}"
    elif others:
        scales = " and ".join(sorted({run.scale for run in others.values()}))
        problem = f"holds no run of scale {scale}, only of {scales}"
    else:
        problem = "holds no run"
    defined = experiment and any(
        (conf / "experiment" / f"{experiment}.yaml").is_file() for conf in (CONF, Path("conf"))
    )
    if experiment and others and not defined:
        return UserError(f"--results {results} {problem}: {nearest(experiment, [*others])}")
    command = run_command(experiment, results, scale)
    return UserError(f"--results {results} {problem}: expected a folder that runs have written to; make one: {command}")
