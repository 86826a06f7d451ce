"""From entries to the parts of a run: parameters are checked against their classes, lists become axes.

Imported by the checks of a run, and by verbs that open one dataset or make one mechanism without a run. Imports the
registries; no mechanism, task or source by name.
"""

from __future__ import annotations

import difflib
import itertools
import os
from collections.abc import Iterator, Mapping
from typing import Any

from dpbench.config.catalogue import DatasetEntry, Place, VariantEntry, nowhere
from dpbench.errors import UserError, no_parameter, one_of, placed
from dpbench.registry import Registry
from dpbench.results.run import DatasetUse, Variant
from dpbench.results.setting import DECLARED
from dpbench.sources.base import SOURCES
from dpbench.sources.cards import fetched, load

BOUND = "bound"
"""The parameter of mechanisms that a dataset may declare."""
MOST = 100_000  # combinations of one entry: more is a typing error


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


def variants(entry: VariantEntry, registry: Registry[Any], place: Place = nowhere) -> Iterator[Variant]:
    """A mechanism or task with each combination of its parameters; a wrong name or value is an error.

    `place` gives the file and line of a parameter, for the error.
    """
    try:
        valid = registry.parameters(entry.cls)
    except UserError as error:  # no such name, or not a mechanism
        raise placed(place("class"), error) from error
    for key in entry.parameters:
        if valid is not None and key not in valid:
            raise no_parameter(f"{registry.what} {entry.name!r}", key, valid, place(key))
    for params in axes(entry.parameters):
        declared = (BOUND,) if params.get(BOUND) == DECLARED else ()
        # A declared value is known only with the dataset; the others are checked now.
        registry.shared(entry.cls, **{key: value for key, value in params.items() if key not in declared})
        yield Variant(entry.name, entry.cls, params, declared)


def dataset_of(entry: DatasetEntry, scale: str, seed: int = 0) -> DatasetUse:
    """One dataset as in a run; the first one if lists give several."""
    return next(datasets(entry, scale, seed))


def datasets(entry: DatasetEntry, scale: str, seed: int, place: Place = nowhere) -> Iterator[DatasetUse]:
    """A dataset with each combination of its parameters."""
    name, cls = entry.name, source_class(entry)
    _check_parameters(entry, place)
    taken = SOURCES.parameters(cls)
    sizes = dict(entry.sizes.get(scale) or {}) if entry.source == "generator" else {}
    given = dict(entry.parameters)
    if taken is None or "path" in taken:
        given |= {"path": _path(entry, place)} if entry.path or entry.source == "files" else {}
    if taken is not None and "kind" in taken and entry.kind:
        given["kind"] = entry.kind
    for params in axes({k: v for k, v in (sizes | given).items() if taken is None or k in taken}):
        built = SOURCES.make(cls, **params)
        kind = entry.kind or getattr(built, "kind", "") or getattr(built, "kinds", ("",))[0]
        told = tuple(k for k in params if k in given and k not in getattr(built, "untold", ("path", "kind")))
        bound = entry.bound(scale)
        yield DatasetUse(name, kind, cls, params, seed, given=told, original=entry.source == "files", bound=bound)


def source_class(entry: DatasetEntry) -> str:
    """The class that builds a dataset: its generator or its reader."""
    one_of(f"dataset.{entry.name}.source", entry.source, [k for k in ("generator", "files") if getattr(entry, k)])
    return entry.generator if entry.source == "generator" else entry.files


def _path(entry: DatasetEntry, place: Place) -> str:
    """Where the files are. Checks that something is there before anything runs."""
    path = entry.path or fetched(entry.name)
    if not path:
        key = f"dataset.{entry.name}"
        get = f", or: python -m dpbench data get {entry.name}" if load(entry.name).files else ""
        raise UserError(f"{key}.source=files needs {key}.path=FILE or FOLDER{get}")
    found = os.path.realpath(os.path.expanduser(str(path)))  # pathlib raises on loops of links
    if not os.path.exists(found):
        folder, name = os.path.split(found)
        near = difflib.get_close_matches(name, os.listdir(folder), n=1, cutoff=0.6) if os.path.isdir(folder) else []
        hint = f": did you mean {near[0]!r}?" if near else ""
        raise placed(place("path"), f"dataset.{entry.name}.path={path}: there is no such file or folder{hint}")
    return found


def _check_parameters(entry: DatasetEntry, place: Place) -> None:
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
