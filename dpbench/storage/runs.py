"""Runs as sealed files in a results folder, and what is checked when one is read. Imported by `Run` when one is saved or loaded.

A run file may be damaged, or come from somebody else: `seals.decode` checks its types, and this module every name in it.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from dpbench.errors import Damaged
from dpbench.model.run import Run, names, valid_name
from dpbench.storage import seals
from dpbench.storage.files import inside, is_inside, read_whole, set_aside, write_atomic

SCHEMA = 6  # version of run files
_ID = re.compile(r"[0-9a-f]{32}")
_HEAD = f'{{\n "schema": {SCHEMA},'


def write(run: Run) -> None:
    """Store a run atomically, replacing an earlier one of its name, scale and files."""
    content = seals.seal({"schema": SCHEMA, **seals.plain(run)}).encode()
    write_atomic(inside(run.results, run.path), content)


def read_all(results: Path) -> Iterator[Run]:
    """Every run under a results folder. Damaged files are reported, set aside, and left out."""
    for path in _files(results):
        try:
            run = _read(path, results)
        except FileNotFoundError:  # another reader has set it aside
            continue
        except OSError as error:  # a temporary disk error must not cost a good file
            warnings.warn(f"{path} cannot be read ({error.strerror}) and is skipped", Damaged, stacklevel=3)
        except ValueError as error:
            moved = set_aside(results, path)
            where = f"it is now {moved}" if moved else "it cannot be moved"
            text = f"{path} is damaged ({error}) and skipped, {where}: run the experiment again"
            warnings.warn(text, Damaged, stacklevel=3)
        else:
            yield run


def _files(results: Path) -> list[Path]:
    root = results / "runs"
    if not root.is_dir():
        return []
    inside(results, root)
    return sorted(path for path in root.glob("**/*@*.json") if not path.name.startswith("."))


def _read(path: Path, results: Path) -> Run:
    if not is_inside(results, path):
        raise ValueError("it is a link")
    text = seals.checked(read_whole(path))
    if not text.startswith(_HEAD):
        raise ValueError("it was written by another version of dpbench")
    run = replace(seals.decode(Run, "{" + text.removeprefix(_HEAD)), results=results)
    for what, name in names(run):
        if not valid_name(name):
            raise ValueError(f"the {what} {name!r} is not valid")
    if run.path != path:
        raise ValueError("its name does not match the file name")
    for count in (run.repetitions, *run.most_trials.values()):
        if not 0 <= count < 2**63:  # trial numbers are stored with 64 bits
            raise ValueError(f"{count} is not a number of trials")
    for setting in run.settings:
        if not _ID.fullmatch(setting.id):
            raise ValueError(f"{setting.id!r} is not the id of a setting")
        if not {*setting.dataset.given} <= {*setting.dataset.params}:
            raise ValueError("a parameter of a dataset is missing")
    return run
