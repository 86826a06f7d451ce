"""Runs as sealed files in a results folder, and what is checked when one is read. Imported by `Run` when one is saved or loaded.

The datasets, mechanisms and tasks of a run are stored once; its settings name them by their position. A run file
may be damaged, or come from somebody else: `seals.decode` checks its types, and this module every name in it.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Any

from dpbench.errors import Damaged
from dpbench.model.run import MOST_TRIALS, Run, names, valid_name
from dpbench.model.setting import Dataset, Setting, Variant
from dpbench.storage import seals
from dpbench.storage.files import inside, is_inside, read_whole, set_aside, write_atomic

SCHEMA = 6  # version of run files
_ID = re.compile(r"[0-9a-f]{32}")
_SCHEMA = re.compile(r'\{\n "schema": (\d+),')


@dataclass(frozen=True)
class _StoredSetting:
    """A setting whose dataset, mechanism and task are positions."""

    dataset: int
    mechanism: int
    task: int
    epsilon: float
    key: str
    id: str
    guarantee: str
    not_private: str
    neighbours: str
    noise: str


@dataclass(frozen=True)
class _RunFile:
    """What a run file holds."""

    run: Run
    """Without its settings."""
    datasets: tuple[Dataset, ...]
    mechanisms: tuple[Variant, ...]
    tasks: tuple[Variant, ...]
    settings: tuple[_StoredSetting, ...]

    def whole(self) -> Run:
        tables = {"dataset": self.datasets, "mechanism": self.mechanisms, "task": self.tasks}
        settings = []
        for stored in self.settings:
            values = dict(vars(stored))
            for name, table in tables.items():
                if not 0 <= values[name] < len(table):
                    raise ValueError(f"there is no {name} {values[name]}")
                values[name] = table[values[name]]
            settings.append(Setting(**values))
        return replace(self.run, settings=tuple(settings))


def write(run: Run) -> None:
    """Store a run atomically, replacing an earlier one of its name, scale and files."""
    positions, tables = {}, {}
    for name in ("dataset", "mechanism", "task"):
        positions[name], tables[f"{name}s"] = _numbered(getattr(setting, name) for setting in run.settings)
    _shorten_paths(tables["datasets"])
    settings = [
        vars(setting) | {name: each[number] for name, each in positions.items()}
        for number, setting in enumerate(run.settings)
    ]
    body = {"schema": SCHEMA, "run": seals.plain(replace(run, settings=())), **tables, "settings": settings}
    write_atomic(inside(run.results, run.path), seals.seal(body).encode())


def _shorten_paths(datasets: Iterable[dict[str, Any]]) -> None:
    """Leave only the names of the user's files: a run can be sent to others. Two files of one name keep their folders' names."""
    named = [(each["params"], key, value) for each in datasets for key, value in each["params"].items()]
    paths = [
        (params, key, PurePath(value))
        for params, key, value in named
        if isinstance(value, str) and (key == "path" or PurePath(value).is_absolute()) and PurePath(value).name
    ]
    for params, key, path in paths:
        alone = len({other for _, _, other in paths if other.name == path.name}) == 1
        params[key] = path.name if alone else PurePath(*path.parts[-2:]).as_posix()


def _numbered(values: Iterable[Any]) -> tuple[list[int], list[Any]]:
    """The position of each value among the distinct ones, and these in JSON form."""
    by_object: dict[int, int] = {}  # most values are one object many times
    by_text: dict[str, int] = {}
    positions = []
    for value in values:
        if id(value) not in by_object:
            by_object[id(value)] = by_text.setdefault(json.dumps(seals.plain(value)), len(by_text))
        positions.append(by_object[id(value)])
    return positions, [json.loads(text) for text in by_text]


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
    schema = _SCHEMA.match(text)
    body = text if schema is None else "{" + text[schema.end() :]
    if schema is not None and int(schema[1]) == SCHEMA:
        run = seals.decode(_RunFile, body, defaults=True).whole()  # those of before worlds have no `world`
    elif schema is not None and int(schema[1]) == 5:  # the last version that repeated them in every setting
        run = seals.decode(Run, body, defaults=True)
    else:
        raise ValueError("it was written by another version of dpbench")
    run = replace(run, results=results)
    for what, name in names(run):
        if not valid_name(name):
            raise ValueError(f"the {what} {name[:100]!r} is not valid")
    if run.path != path:
        raise ValueError("its name does not match the file name")
    limits = (*run.most_trials.values(), *run.case_trials.values())
    for count in (run.repetitions, run.look, *limits, *run.stopped.values()):
        if not 0 <= count <= MOST_TRIALS:
            raise ValueError(f"{count} is not a number of trials")
    for setting in run.settings:
        if not _ID.fullmatch(setting.id):
            raise ValueError(f"{setting.id!r} is not the id of a setting")
        if not {*setting.dataset.given} <= {*setting.dataset.params}:
            raise ValueError("a parameter of a dataset is missing")
    return run
