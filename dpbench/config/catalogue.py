"""The only reader of configuration: the content of conf/ and of the user's own folders, as typed entries.

Imported by the configuration, the claims, the report and the verbs; imports the model and the reader of YAML. Tasks of ours have
no YAML: their names come from their registry.
"""

from __future__ import annotations

import functools
import os
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpbench.config.dataset_entry import DatasetEntry
from dpbench.documents import Document, Locate, kind_of, nowhere, read
from dpbench.errors import UserError, nearest, placed, unknown
from dpbench.model.setting import Variant
from dpbench.paths import CONF, results_above
from dpbench.registry import search

GROUPS = ("dataset", "mechanism", "task", "experiment", "scale", "runner", "tracking")
ENTRIES = ("dataset", "mechanism", "task")
"""The groups from which several options may be chosen, each nested under its own name."""
MARKERS = {"dataset": "source", "mechanism": "class", "task": "class"}
"""The key that every entry of such a group has."""


HERE = "conf"
"""The user's own configuration in the current folder."""

_own: list[Path] = []


# The user's own folders.


def use(*folders: Path) -> None:
    """Set the user's own folders as the default. A verb does this once, at its start."""
    _own[:] = folders


def own() -> tuple[Path, ...]:
    """The user's own folders, as set by `use`."""
    return tuple(_own)


def own_folders(given: Path | str | Sequence[Path | str] | None = None) -> list[Path]:
    """The given folders and `conf` in the current one. Classes in them can be imported. UserError if one does not exist."""
    folders = [Path(folder) for folder in ([given] if isinstance(given, Path | str) else given or ())]
    here = Path(HERE)
    if is_own(here) and (results := results_above(here)) is not None:
        warnings.warn(f"{here} is not used: it is in the results folder {results}", Ignored, stacklevel=2)
    elif is_own(here) and not any(os.path.realpath(folder) == os.path.realpath(here) for folder in folders):
        folders.append(here)
    for folder in folders:
        add_folder(folder)
    return folders


class Ignored(UserWarning):
    """A configuration folder that is not used."""


def is_own(folder: Path) -> bool:
    """Whether a folder holds a user's dpbench configuration: other programs have a `conf`, too."""
    if os.path.realpath(folder) == os.path.realpath(CONF):
        return False
    return any((folder / group).is_dir() for group in (*GROUPS, "claims", "readings") if group != "tracking")


def add_folder(folder: Path) -> None:
    """Make the classes of a configuration folder importable; UserError if it does not exist."""
    if not os.path.isdir(folder):
        raise UserError(f"--config-dir {folder}: there is no such folder")
    if (results := results_above(folder)) is not None:
        reason = "what is there may come from somebody else, and could run code of theirs"
        raise UserError(f"--config-dir {folder} is in the results folder {results}: {reason}; copy it elsewhere first")
    search(folder)


# Options of the groups.


def options(group: str, *folders: Path) -> list[str]:
    """The names a group offers, ours and those of the user's own folders; experiments are named like `gs/fig9`."""
    names: set[str] = set()
    for folder in (CONF, *folders, *_own):
        root = folder / group
        names |= {p.relative_to(root).with_suffix("").as_posix() for p in root.glob("**/*.yaml")}
    if group == "task":
        from dpbench.tasks.base import TASKS

        names |= {*TASKS.names()}
    return sorted(names, key=_natural)


def _natural(name: str) -> list[tuple[int, str]]:
    """For an order in which fig5 comes before fig10."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]


def option(group: str, name: str, *folders: Path) -> Document | None:
    """The YAML of an option, a user's own before ours; None if there is none."""
    for folder in (*folders, *_own, CONF):
        path = folder / group / f"{name}.yaml"
        if path.is_file():
            return read(path)
    return None


def settings() -> list[str]:
    """The keys of a run besides the groups, as in conf/run.yaml."""
    return [key for key in read(CONF / "run.yaml").mapping if key not in ("defaults", "hydra")]


# A dataset, a mechanism, a task.


def variant(group: str, name: str, body: Any, place: Locate = nowhere) -> Variant:
    """A mechanism or a task as its YAML describes it: a class and parameters. A list of values is an axis."""
    if not isinstance(body, Mapping):
        raise placed(place(), f"{group} {name!r}: expected class and parameters, found a {kind_of(body)}")
    if not isinstance(body.get("class"), str):
        expected = "expected a name or a dotted path"
        raise placed(place("class"), f"{group}.{name}.class={body.get('class')!r} is not valid: {expected}")
    return Variant(name, body["class"], {str(key): value for key, value in body.items() if key != "class"})


def _entry(group: str, name: str, folders: Sequence[Path]) -> tuple[Any, Locate]:
    """The content of an entry's YAML, which is nested under its own name, and the places of its keys."""
    document = option(group, name, *folders)
    if document is None:
        raise unknown(group, name, options(group, *folders))
    if name not in document.mapping:
        raise malformed(group, name, *folders)
    return document.mapping[name], functools.partial(document.place, name)


def malformed(group: str, name: str, *folders: Path) -> UserError:
    """The error about the YAML of an entry that is not nested under its own name, or lacks the key that every entry has."""
    document, marker = option(group, name, *folders), MARKERS[group]
    form = f"expected `{name}: {{{marker}: ...}}`, as every {group} has"
    if document is None:
        return UserError(f"{group}/{name}.yaml: {form}")
    inside = document.mapping.get(name)
    above: tuple[str, ...] = ()
    if inside is None and name not in document.mapping:
        expected, keys = name, document.mapping.keys()
    elif isinstance(inside, Mapping):
        expected, keys, above = marker, inside.keys(), (name,)
    else:
        return placed(document.place(name), form)
    for key in keys:
        if nearest(key, [expected]).startswith("did you mean"):  # it was mistyped
            return unknown("key", key, [expected], document.place(*above, key))
    return placed(document.place(*above), form)


def dataset(name: str, *folders: Path) -> DatasetEntry:
    """A dataset of conf/dataset, or of a user's own folders."""
    return DatasetEntry.of(name, *_entry("dataset", name, folders))


def mechanism(name: str, *folders: Path) -> Variant:
    """A mechanism of conf/mechanism, or of a user's own folders."""
    return variant("mechanism", name, *_entry("mechanism", name, folders))


def task(name: str, *folders: Path) -> Variant:
    """A task of the user's own folders, or one of ours, which need no YAML."""
    if option("task", name, *folders) is None and name in options("task"):
        return Variant(name, name)
    return variant("task", name, *_entry("task", name, folders))


# An experiment.


@dataclass(frozen=True)
class Axes:
    """What an experiment consists of, by its definition. Empty: it does not say."""

    datasets: tuple[str, ...] = ()
    mechanisms: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    epsilons: tuple[float | str, ...] = ()


def chain(experiment: str, *folders: Path) -> list[Document]:
    """The YAML files of an experiment, its bases first; empty if there is none."""
    return list(_chain(experiment, folders, ()))


def _chain(experiment: str, folders: Sequence[Path], above: tuple[str, ...]) -> Iterator[Document]:
    document = option("experiment", experiment, *folders)
    if document is None or experiment in above:
        return
    for base in document.bases:
        yield from _chain(base.removeprefix("/experiment/"), folders, (*above, experiment))
    yield document


def axes(experiment: str, *folders: Path) -> Axes:
    """The datasets, mechanisms, tasks and budgets of an experiment, as its YAML and those it builds upon give them."""
    chosen: dict[str, list[str]] = {}
    epsilons: list[float | str] = []
    for document in chain(experiment, *folders):
        for group in ENTRIES:
            names = document.chosen(group)
            chosen[group] = chosen.get(group, []) if names is None else names
        if document.has("epsilon"):
            given = document.mapping["epsilon"]
            epsilons = given if isinstance(given, list) else [given]
    datasets, mechanisms, tasks = (tuple(chosen.get(group, ())) for group in ENTRIES)
    return Axes(datasets, mechanisms, tasks, tuple(epsilons))


def title(experiment: str, *folders: Path) -> str:
    """What an experiment shows, as its title says; empty if it has none."""
    titles = [document.mapping["title"] for document in chain(experiment, *folders) if document.has("title")]
    return str(titles[-1] or "") if titles else ""


def standard(experiment: str, *folders: Path) -> str:
    """The scale at which `reproduce` runs an experiment: `standard` of its YAML, the size of the paper by default."""
    scales = [document.mapping["standard"] for document in chain(experiment, *folders) if document.has("standard")]
    return str(scales[-1]) if scales else "paper"


def guarded(experiment: str, *folders: Path) -> bool:
    """Whether `check` guards an experiment. With `baseline: false` it does not, for example on files that others do not have."""
    baseline = True
    for document in chain(experiment, *folders):
        if document.has("baseline"):
            baseline = document.mapping["baseline"]
            if not isinstance(baseline, bool):
                message = f"baseline={baseline!r} is not valid: expected true or false"
                raise placed(document.place("baseline"), message)
    return baseline


# Claims.


def claims(folder: Path | None = None) -> dict[str, Path]:
    """The files of claims, by paper: those of a folder, or ours and those of the user's own folders."""
    papers: dict[str, Path] = {}
    for root in [folder] if folder is not None else [root / "claims" for root in (CONF, *_own)]:
        for path in sorted(root.glob("*.yaml")):
            if path.stem in papers:
                raise UserError(f"{path}: {papers[path.stem]} has the claims of {path.stem!r}: choose another name")
            papers[path.stem] = path
    return papers
