"""Where a module is, found without importing anything: its file, and whether it is the standard library's, an
installed distribution's, or code that counts by its source (ours and the user's). Imported by `codes.graph`.
"""

from __future__ import annotations

import functools
import importlib.metadata
import os
import re
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import NamedTuple

from dpbench.codes.facts import OURS

_INSTALLED = {"site-packages", "dist-packages"}
_STANDARD = os.path.dirname(os.__file__) + os.sep


class Place(NamedTuple):
    """A module's file (None for a namespace package) and a package's folders (None if it is not a package)."""

    file: str | None
    folders: tuple[str, ...] | None


class Owner(NamedTuple):
    """Who provides a module."""

    kind: str
    """`source`, `installed`, `standard` or `missing`."""
    distributions: tuple[str, ...] = ()
    plugin: bool = False
    """Whether an installed module is a dpbench plugin: it then counts by its source too."""


_SOURCE, _MISSING = Owner("source"), Owner("missing")


def locate(name: str) -> Place | None:
    """Where a module is: the loaded one, or the one an import would find; None if there is no such module."""
    module = sys.modules.get(name)
    if module is not None:
        folders = getattr(module, "__path__", None)
        return Place(getattr(module, "__file__", None), None if folders is None else tuple(folders))
    spec = _find(name)
    if spec is None:
        return None
    found = spec.submodule_search_locations
    return Place(spec.origin if spec.has_location else None, None if found is None else tuple(found))


def _find(name: str) -> ModuleSpec | None:
    # importlib.util.find_spec imports the parents of a dotted name: seconds for some libraries, and side effects.
    parent = name.rpartition(".")[0]
    path = None
    if parent:
        above = locate(parent)
        if above is None or above.folders is None:
            return None
        path = list(above.folders)
    for finder in sys.meta_path:
        try:
            spec = finder.find_spec(name, path, None)
        except (AttributeError, ImportError, ValueError):
            continue
        if spec is not None:
            return spec
    return None


_SETTLED: dict[str, Owner] = {}


def owner(name: str) -> Owner:
    """Who provides a module. The first part of a dotted name that has a file decides, so that nothing below it is searched."""
    if name.startswith(f"{OURS}."):
        return _SOURCE if name in sys.modules or locate(name) else _MISSING
    settled = _SETTLED.get(name)
    if settled is None:
        settled = _search(name)
        if settled.kind in ("installed", "standard"):  # does not change; searching again for unloaded modules is slow
            _SETTLED[name] = settled
    return settled


def _search(name: str) -> Owner:
    parts = name.split(".")
    if parts[0] == OURS:
        return _SOURCE
    for end in range(1, len(parts) + 1):
        prefix = ".".join(parts[:end])
        place = locate(prefix)
        if place is None:
            return _MISSING
        if place.file is not None:
            return _owner_of_file(prefix, place.file)
        if parts[0] in sys.stdlib_module_names and place.folders is None:
            return Owner("standard")  # built into the interpreter
    return _SOURCE  # a namespace package has no code of its own


@functools.cache
def _owner_of_file(name: str, file: str) -> Owner:
    folder = _installed_in(file)
    if folder is None:
        top = name.partition(".")[0]
        # A user's file with the name of a standard module replaces it.
        return Owner("standard" if top in sys.stdlib_module_names and file.startswith(_STANDARD) else "source")
    top = os.path.relpath(file, folder).split(os.sep)[0].partition(".")[0]
    names = _distributions_of(top)
    return Owner("installed" if names else "source", names, any(map(_is_plugin, names)))


def _installed_in(file: str) -> str | None:
    parts = Path(file).parts
    ends = [i for i, part in enumerate(parts) if part in _INSTALLED]
    return str(Path(*parts[: ends[-1] + 1])) if ends else None


@functools.cache
def _distributions_of(top: str) -> tuple[str, ...]:
    """The distributions that installed a top-level module or package. packages_distributions() takes a second, so the one with
    the module's own name is tried first, and all are searched, once, only for the others."""
    try:
        named = importlib.metadata.distribution(top)
    except importlib.metadata.PackageNotFoundError:
        found = _index().get(top, [])
    else:
        tops = _tops(named)
        found = [named] if top in tops or not tops else _index().get(top, [])
    return tuple(sorted({re.sub(r"[-_.]+", "-", distribution.metadata["Name"]).lower() for distribution in found}))


@functools.cache
def _index() -> dict[str, list[importlib.metadata.Distribution]]:
    found: dict[str, list[importlib.metadata.Distribution]] = {}
    for distribution in importlib.metadata.distributions():
        for top in _tops(distribution):
            found.setdefault(top, []).append(distribution)
    return found


def _tops(distribution: importlib.metadata.Distribution) -> set[str]:
    """The top-level names that a distribution installs."""
    record = distribution.read_text("RECORD")
    if record:
        firsts = {line.partition(",")[0].strip('"').partition("/")[0] for line in record.splitlines()}
        return {first.partition(".")[0] for first in firsts if not first.endswith((".dist-info", ".data"))} - {"", ".."}
    return set((distribution.read_text("top_level.txt") or "").split())


@functools.cache
def _is_plugin(distribution: str) -> bool:
    points = importlib.metadata.distribution(distribution).entry_points
    return any(point.group.startswith(f"{OURS}.") for point in points)


@functools.cache
def version(distribution: str) -> str:
    """The version of a distribution, as this process first found it: what it has loaded does not change later."""
    return importlib.metadata.version(distribution)
