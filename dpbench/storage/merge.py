"""The union of results folders by trial, for shards without a shared filesystem. Behind the verb `merge` and `dpbench.merge`.

Nothing is trusted: every trial file is checked against its checksum and read, every run file against its seal. What is damaged
is named and left out. The new folder appears only when it is complete.
"""

from __future__ import annotations

import os
import re
import shutil
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dpbench.errors import Damaged, Failed, UserError
from dpbench.model.run import Run, Setting
from dpbench.storage.files import inside, is_old, temporary, write_atomic
from dpbench.storage.runs import read_all
from dpbench.storage.store import Store

_ID = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True)
class Merged:
    """What a merge wrote."""

    results: Path
    runs: tuple[Run, ...]
    trials: int
    problems: tuple[str, ...]
    """Damaged files, which were left out."""

    def __repr__(self) -> str:
        return f"Merged({len(self.runs)} runs and {self.trials} trials in {self.results}, {len(self.problems)} damaged)"


def merge(folders: Sequence[Path | str], into: Path | str, *, mixed: bool = False) -> Merged:
    """Write the union of results folders to a new one. Each trial is stored once; two copies that differ are an error.

    Two folders that have a setting from different code (or versions of libraries) are refused, unless `mixed`: then the newest
    run of each name counts, and the trials of the others are kept beside it.
    """
    sources, target = [Path(folder) for folder in folders], Path(into)
    _check(sources, target)
    problems: dict[str, None] = {}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", Damaged)
        runs_of = [[*read_all(folder)] for folder in sources]
    problems |= dict.fromkeys(str(warning.message) for warning in caught if issubclass(warning.category, Damaged))
    runs: dict[str, list[Run]] = {}
    for run in (run for listed in runs_of for run in listed):
        runs.setdefault(run.path.relative_to(run.results).as_posix(), []).append(run)
    joined = [_joined(alike, mixed) for alike in runs.values()]
    aside = temporary(target.absolute().parent)
    try:
        trials = _copy(sources, aside, lambda text: problems.setdefault(text))
        written = [replace(run, results=aside) for run in joined]
        for run in written:
            run.save()
        if target.exists():
            target.rmdir()  # empty, as was checked
        os.replace(aside, target)
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return Merged(target, tuple(replace(run, results=target) for run in joined), trials, tuple(problems))


def _check(sources: Sequence[Path], target: Path) -> None:
    if len(sources) < 2:
        raise UserError("nothing to merge: expected at least two results folders")
    for folder in sources:
        if not (folder / "trials").is_dir() and not (folder / "runs").is_dir():
            why = "was written by an earlier version of dpbench" if is_old(folder) else "is not a results folder"
            raise UserError(f"{folder} {why}: expected a folder with runs/ and trials/")
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UserError(f"{target} exists and is not empty: expected a new folder")


def _joined(runs: Sequence[Run], mixed: bool) -> Run:
    """Several runs of one name as one: described as the newest, with the settings of all."""
    newest = max(runs, key=lambda run: run.written)
    for run in runs:
        if (run.seed, run.experiment) != (newest.seed, newest.experiment):
            raise UserError(f"{run.label} has another seed or experiment in {run.results} than in {newest.results}")
    if mixed:
        return newest
    settings: dict[tuple[str, str, str], tuple[Setting, Run]] = {}
    for run in (newest, *runs):
        for setting in run.settings:
            asked = setting.key, setting.dataset.fingerprint, repr(setting.labels())
            known, owner = settings.setdefault(asked, (setting, run))
            if known.id != setting.id:
                where = f"{setting} of {run.label} comes from other code in {run.results} than in {owner.results}"
                raise UserError(f"{where}: run it again with one version, or give --mixed to take the newest run")
    return replace(
        newest,
        settings=tuple(setting for setting, _ in settings.values()),
        repetitions=max(run.repetitions for run in runs),
        seconds=sum(run.seconds for run in runs),
    )


def _copy(sources: Sequence[Path], target: Path, report: Callable[[str], None]) -> int:
    """Copy the trial files of all settings. Returns how many trials the target has."""
    trials, copied = 0, Store(target)
    stores_of: dict[str, list[Store]] = {}
    for folder in sources:
        store = Store(folder, report)
        for setting in _settings(folder):
            stores_of.setdefault(setting, []).append(store)
    for setting, stores in stores_of.items():
        for store in stores:
            store.read(setting)  # sets aside what has the right checksum and is no trial file
            for file, content in store.whole_files(setting):
                write_atomic(copied.folder(setting) / file.path.name, content)
        table = copied.read(setting)  # raises Conflict where two copies of a trial differ
        trials += 0 if table is None else table.num_rows
    return trials


def _settings(results: Path) -> Iterator[str]:
    """The settings that have a folder of trials."""
    root = results / "trials"
    if not root.is_dir():
        return
    inside(results, root)
    for path in sorted(root.glob("??/*")):
        if _ID.fullmatch(path.name) and path.parent.name == path.name[:2]:
            if not inside(results, path).is_dir():
                raise Failed(f"{path} is not a folder")
            yield path.name
