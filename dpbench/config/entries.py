"""From entries to the parts of a run: parameters are checked against their classes, lists become axes.

Imported by `compose` and `checks`, and by verbs that open one dataset or make one mechanism without a run. Imports the
registries; no mechanism, task or source by name.
"""

from __future__ import annotations

import dataclasses
import difflib
import itertools
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from dpbench.config import catalogue
from dpbench.config.catalogue import ENTRIES
from dpbench.config.dataset_entry import OWN_KEYS, DatasetEntry
from dpbench.config.origins import Origins
from dpbench.config.overrides import key_of, names_of
from dpbench.documents import Locate, nowhere
from dpbench.errors import UserError, nearest, no_parameter, one_of, placed
from dpbench.mechanisms.base import MECHANISMS
from dpbench.model.run import Dataset, Variant
from dpbench.model.setting import DECLARED
from dpbench.model.world import ALL
from dpbench.registry import Registry
from dpbench.sources.base import SOURCES
from dpbench.sources.cards import fetched, load
from dpbench.tasks.base import TASKS

REGISTRIES: dict[str, Registry[Any]] = {"mechanism": MECHANISMS, "task": TASKS, "dataset": SOURCES}
BOUND = "bound"
"""The parameter of mechanisms that a dataset may declare."""
MOST = 100_000  # combinations of one entry: more is a typing error
GENERATE, LEAVE_OUT = "generate", "leave_out"


# Classes that have no YAML.


def classes_without_yaml(
    words: Sequence[str], experiment: str | None, folders: Sequence[Path]
) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """What is in no YAML: our tasks, and classes that the overrides or the experiment choose by dotted path or by the name of an
    installed plugin. Gives the group, the chosen name and the entry: `{"Rounded": {"class": "mine.Rounded"}}`."""
    yield from (("task", name, {name: {"class": name}}) for name in TASKS.names())
    documents = catalogue.chain(experiment, *folders) if experiment else []
    for group in ENTRIES:
        chosen = {name: "" for word in words if key_of(word) == group for name in names_of(word)}
        for document in documents:
            chosen = {name: document.place("defaults") for name in document.chosen(group) or ()} | chosen
        known = catalogue.options(group, *folders)
        taken = {*known, *chosen}
        for path, place in chosen.items():
            if path in known or not _is_class(group, path, place):
                continue
            short = path.rpartition(".")[2]
            name = path.replace(".", "_") if "." in path and short in taken else short
            taken.add(name)
            yield group, path, {name: _class_entry(group, path)}


def _is_class(group: str, name: str, place: str) -> bool:
    """Whether a name is a dotted path or an installed plugin. Our own classes have a YAML or are used by one."""
    registry = REGISTRIES[group]
    if "." in name:
        try:
            registry.get(name)
        except UserError as error:
            raise placed(place, error) from error
        return True
    return name.isidentifier() and name in registry.names() and not registry.get(name).__module__.startswith("dpbench.")


def _class_entry(group: str, path: str) -> dict[str, str]:
    if group != "dataset":
        return {"class": path}
    kinds = getattr(SOURCES.get(path), "kinds", ())
    if not kinds:
        raise UserError(f"dataset {path!r} does not say in `kinds` which data it builds")
    return {"source": "generator", "generator": path, "kind": str(kinds[0])}


# Mechanisms and tasks.


def axes(params: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Every combination of parameter values: a parameter given as a list is an axis."""
    lists = {k: v if isinstance(v, list) else [v] for k, v in params.items()}
    combinations = 1
    for key, listed in lists.items():
        if not listed:
            raise UserError(f"{key}=[] is not valid: expected at least one value")
        combinations *= len(listed)
    if combinations > MOST:
        raise UserError(f"{', '.join(lists)}: {combinations} combinations are too many: expected at most {MOST}")
    for values in itertools.product(*lists.values()):
        yield dict(zip(lists, values, strict=True))


def variants(entry: Variant, registry: Registry[Any], place: Locate = nowhere) -> Iterator[Variant]:
    """A mechanism or task with each combination of its parameters; a wrong name or value is an error.

    `place` gives the file and line of a parameter, for the error.
    """
    try:
        valid = registry.parameters(entry.cls)
    except UserError as error:  # no such name, or not a mechanism
        raise placed(place("class"), error) from error
    for key in entry.params:
        if valid is not None and key not in valid:
            raise no_parameter(f"{registry.what} {entry.name!r}", key, valid, place(key))
    for params in axes(entry.params):
        declared = (BOUND,) if params.get(BOUND) == DECLARED else ()
        # A declared value is known only with the dataset; the others are checked now.
        registry.shared(entry.cls, **{key: value for key, value in params.items() if key not in declared})
        yield Variant(entry.name, entry.cls, params, declared)


# Datasets.


def dataset_of(entry: DatasetEntry, scale: str, seed: int = 0) -> Dataset:
    """One dataset as in a run; the first one if lists give several."""
    return next(datasets(entry, scale, seed))


def datasets(entry: DatasetEntry, scale: str, seed: int, place: Locate = nowhere) -> Iterator[Dataset]:
    """A dataset in each of its chosen worlds, with each combination of its parameters."""
    _check_parameters(entry, place)
    generated = entry.source == "generator"
    for world in entry.world if generated and entry.world else ("",):
        sizes = dict(entry.sizes.get(scale) or {}) if generated else {}
        sizes |= entry.worlds[world].parameters.get(scale, {}) if world else {}
        for use in _with_sizes(entry, scale, seed, sizes, place):
            yield dataclasses.replace(use, world="" if world == entry.default_world else world)


def _with_sizes(
    entry: DatasetEntry, scale: str, seed: int, sizes: Mapping[str, Any], place: Locate
) -> Iterator[Dataset]:
    """A dataset of these sizes, with each combination of its parameters."""
    name, cls = entry.name, source_class(entry)
    taken = SOURCES.parameters(cls)
    given = dict(entry.parameters)
    if taken is None or "path" in taken:
        given |= {"path": _path(entry, place)} if entry.path or entry.source == "files" else {}
    if taken is not None and "kind" in taken and entry.kind:
        given["kind"] = entry.kind
    for params in axes({k: v for k, v in {**sizes, **given}.items() if taken is None or k in taken}):
        built = SOURCES.make(cls, **params)
        kind = entry.kind or getattr(built, "kind", "") or getattr(built, "kinds", ("",))[0]
        shown = tuple(k for k in params if k in given and k not in getattr(built, "untold", ("path", "kind")))
        bound = entry.bound(scale)
        yield Dataset(name, cls, params, seed, kind, given=shown, original=entry.source == "files", bound=bound)


def source_class(entry: DatasetEntry) -> str:
    """The class that builds a dataset: its generator or its reader."""
    one_of(f"dataset.{entry.name}.source", entry.source, [k for k in ("generator", "files") if getattr(entry, k)])
    return entry.generator if entry.source == "generator" else entry.files


def _path(entry: DatasetEntry, place: Locate) -> str:
    """Where the files are. Checks that something is there before anything runs."""
    path = entry.path or fetched(entry.name)
    if not path:
        key = f"dataset.{entry.name}"
        get = f", or: python -m dpbench data get {entry.name}" if load(entry.name).files else ""
        raise UserError(f"{key}.source=files needs {key}.path=FILE or FOLDER{get}")
    real = os.path.realpath(os.path.expanduser(str(path)))  # pathlib raises on loops of links
    if not os.path.exists(real):
        folder, name = os.path.split(real)
        near = difflib.get_close_matches(name, os.listdir(folder), n=1, cutoff=0.6) if os.path.isdir(folder) else []
        hint = f": did you mean {near[0]!r}?" if near else ""
        raise placed(place("path"), f"dataset.{entry.name}.path={path}: there is no such file or folder{hint}")
    return real


def _check_parameters(entry: DatasetEntry, place: Locate) -> None:
    """A parameter must belong to the generator or to the reader of this dataset, a size to the generator."""
    valid: dict[str, list[str] | None] = {}
    for key in ("generator", "files"):
        cls = getattr(entry, key)
        if cls and (key == entry.source or cls in SOURCES.names()):
            valid[key] = SOURCES.parameters(cls)
    what = f"dataset {entry.name!r}"
    if None not in valid.values():
        names = {name for names in valid.values() for name in names or ()}
        for key in entry.parameters:
            if key not in names:
                raise no_parameter(what, key, names, place(key))
    sized = valid.get("generator")
    for scale, size in entry.sizes.items() if sized is not None else ():
        for key in size:
            if key not in (sized or ()):
                raise no_parameter(f"{what}, sizes.{scale},", key, sized or (), place("sizes", scale, key))
    for world in entry.worlds.values() if sized is not None else ():
        for key in {key for changed in world.parameters.values() for key in changed}:
            if key not in (sized or ()):
                raise no_parameter(f"{what}, worlds.{world.name}.set,", key, sized or (), place("worlds", world.name))


# What a dataset of a run is read from, and overrides of it without effect.


def with_source(entry: DatasetEntry, origins: Origins) -> DatasetEntry:
    """The entry, read from files if a path is given: `path` implies files."""
    if entry.source != "generator" or not entry.path or _takes_path(entry):
        return entry
    key = f"dataset.{entry.name}"
    if not entry.files:
        raise UserError(
            f"{key}.path={entry.path} has no effect: {entry.name} is generated, and no files of it are read"
        )
    documents = origins.experiments
    stated = origins.given("dataset", entry.name, "source")
    stated |= any(document.has("dataset", entry.name, "source") for document in documents)
    if stated or not (
        origins.given("dataset", entry.name, "path")
        or any(document.has("dataset", entry.name, "path") for document in documents)
    ):
        place = origins.place("dataset", entry.name, "path")
        contradiction = f"{key}.source=generator and {key}.path={entry.path} contradict each other"
        raise placed(place, f"{contradiction}: leave out one of them")
    return dataclasses.replace(entry, source="files")


def with_worlds(entry: DatasetEntry, chosen: str, origins: Origins) -> DatasetEntry:
    """The entry in the worlds that the run's option `world` chooses, unless they are chosen for this dataset itself."""
    itself = origins.given("dataset", entry.name, "world")
    if itself and entry.source == "files":
        word = origins.word("dataset", entry.name, "world")
        raise UserError(f"{word.lstrip('+')} has no effect: {entry.name} is read from files, which have no worlds")
    itself |= any(document.has("dataset", entry.name, "world") for document in origins.experiments)
    if itself or entry.source == "files" or (chosen not in entry.worlds and not (chosen == ALL and entry.worlds)):
        return entry
    return entry.in_worlds(chosen)


def where_missing(entry: DatasetEntry, origins: Origins) -> tuple[DatasetEntry, str]:
    """The entry, generated if its files are missing and it allows that; and the reason if it is left out.

    Files that are named but do not exist are always an error.
    """
    key = f"dataset.{entry.name}"
    if not entry.missing:
        return entry, ""
    one_of(f"{key}.missing", entry.missing, (GENERATE, LEAVE_OUT))
    if entry.missing == GENERATE and not entry.generator:
        raise placed(
            origins.place("dataset", entry.name, "missing"),
            f"{key}.missing={GENERATE} is not valid: {entry.name} has no generator: expected {LEAVE_OUT}",
        )
    if entry.source != "files":
        if word := origins.word("dataset", entry.name, "missing"):
            raise UserError(f"{key_of(word)} has no effect: {entry.name} is generated")
        return entry, ""
    if entry.path or fetched(entry.name):
        return entry, ""
    if entry.missing == GENERATE:
        return entry.generated(), ""
    get = f", or: python -m dpbench data get {entry.name}" if load(entry.name).files else ""
    return entry, f"its files are missing: give {key}.path=FOLDER{get}"


def _takes_path(entry: DatasetEntry) -> bool:
    """Whether the generator itself has a parameter `path`, as a user's own source may."""
    return bool(entry.generator) and "path" in (SOURCES.parameters(entry.generator) or ())


def check_dataset_words(entry: DatasetEntry, scale: str, origins: Origins) -> None:
    """Raise for an override of a dataset without effect, such as `sizes` of another scale, or sizes of files."""
    taken = SOURCES.parameters(source_class(entry))
    key = f"dataset.{entry.name}"
    for word in origins.words:
        parts = key_of(word).split(".")
        if parts[:2] != ["dataset", entry.name] or len(parts) < 3:
            continue
        name = parts[2]
        if name == "sizes":
            inside = parts[3] if len(parts) > 3 else ""
            if entry.source == "files":
                raise UserError(
                    f"{key_of(word)} has no effect: {entry.name} is read from files, which have their own sizes"
                )
            if inside and inside != scale:
                better = f"{key}.{'.'.join(parts[4:]) or 'PARAMETER'}=VALUE"
                raise UserError(f"{key_of(word)} has no effect at scale={scale}: give {better}, or scale={inside}")
        elif name not in OWN_KEYS and taken is not None and name not in taken:
            how = "read from files" if entry.source == "files" else "generated"
            valid = [parameter for parameter in taken if parameter not in OWN_KEYS]
            raise UserError(f"{key_of(word)} has no effect: {entry.name} is {how}: {nearest(name, valid)}")
