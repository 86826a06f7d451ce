"""The graph of modules: the code of each one, and which others it uses. Imported by `codes.code`.

A loaded module counts with the code that was loaded, even if its file has changed since: a worker that still runs the old
code reports the old code.
"""

from __future__ import annotations

import functools
import os
import pkgutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from dpbench.codes import facts, loaded
from dpbench.codes.facts import OURS, Facts, Use
from dpbench.codes.places import Place, locate, owner
from dpbench.errors import UserError

# Code that uses one of these can make any class of a family by name, so the whole family counts.
_LOOKUPS = {
    ("dpbench.mechanisms.base", "MECHANISMS"): "dpbench.mechanisms",
    ("dpbench.mechanisms.base", "mechanism"): "dpbench.mechanisms",
    ("dpbench.sources.base", "SOURCES"): "dpbench.sources",
    ("dpbench.tasks.base", "TASKS"): "dpbench.tasks",
    ("dpbench.api.shelf", "task"): "dpbench.tasks",
}
# Functions that start or read a run are not part of a trial; a user's script calls them beside the class that it runs.
_STARTERS = {(OURS, name) for name in ("run", "load", "dataset", "audit", "compare")}


@dataclass(frozen=True)
class Node:
    """One module. `digest` is empty for an `__init__` that only exports, and for modules without source."""

    digest: str
    targets: frozenset[str]
    unknown: tuple[str, ...] = ()
    """Why the code may be incomplete."""


Stamp = tuple[Any, Any]
_FACTS: dict[str, tuple[Stamp, Facts]] = {}
_NODES: dict[str, tuple[Stamp, Node]] = {}


def stamp(name: str) -> Stamp:
    """A value that changes when a module is loaded again or, while it is not loaded, when its file changes."""
    module = sys.modules.get(name)
    if module is not None:
        # The objects are stored, not their ids: an id may be reused.
        return module, getattr(module, "__spec__", None)
    place = locate(name)
    return place, (_written(place), *sys.path)


def holds(name: str, was: Stamp) -> bool:
    """Whether a stamp is still valid. Does not search for modules."""
    module = sys.modules.get(name)
    if module is not None:
        return was[0] is module and was[1] is getattr(module, "__spec__", None)
    return not isinstance(was[0], ModuleType) and was[1] == (_written(was[0]), *sys.path)


def _written(place: Place | None) -> tuple[int, ...] | None:
    """Times and size of a module's file. The inode's change time reveals a file whose modification time was restored."""
    try:
        status = os.stat(place.file) if place is not None and place.file is not None else None
    except OSError:
        return None
    return None if status is None else (status.st_mtime_ns, status.st_ctime_ns, status.st_size)


def node(name: str) -> Node:
    """The node of a module, from its source."""
    known = _NODES.get(name)
    if known is not None and holds(name, known[0]):
        return known[1]
    now, place = stamp(name), locate(name)
    told = _facts(name)
    targets = {name.rpartition(".")[0]} - {""}
    for use in told.uses:
        targets |= _resolve(use, name, set())
    unknown: tuple[str, ...] = ()
    if told.computed and name.partition(".")[0] != OURS and place is not None:
        unknown = tuple(f"{place.file}, line {line}: loads a module by a computed name" for line in told.computed)
    made = Node(told.digest, frozenset(targets - {name}), unknown)
    _NODES[name] = now, made
    return made


def targets_of(uses: frozenset[Use], importer: str) -> frozenset[str]:
    """The modules that these uses refer to."""
    return frozenset(target for use in uses for target in _resolve(use, importer, set()))


def _facts(name: str) -> Facts:
    known = _FACTS.get(name)
    if known is None or not holds(name, known[0]):
        known = _FACTS[name] = stamp(name), _read(name, locate(name))
    return known[1]


def _read(name: str, place: Place | None) -> Facts:
    if place is None or (place.file is None and place.folders is not None):
        return Facts("")  # a namespace package
    module = sys.modules.get(name)
    package = name if place.folders is not None else name.rpartition(".")[0]
    if name == "__main__":
        package = getattr(module, "__package__", None) or ""
    file = place.file
    if file is None or not os.path.isfile(file):
        source = _loader_source(name)
        return Facts("") if source is None else facts.read(source, package, is_package=place.folders is not None)
    written = _written(place) or ()
    told = _read_file(file, written, package, place.folders is not None)
    if module is not None and file.endswith(".py") and loaded.changed(module, file, max(written)):
        raise UserError(f"{file} has changed since {name} was loaded: restart Python, or reload the module")
    return told


@functools.lru_cache(maxsize=4096)
def _read_file(file: str, _written: tuple[int, ...], package: str, is_package: bool) -> Facts:
    content = Path(file).read_bytes()
    return facts.read(content, package, is_package=is_package) if file.endswith(".py") else facts.opaque(content)


def _loader_source(name: str) -> str | None:
    """The text of a module that is not a file, for example in a zip archive."""
    module = sys.modules.get(name)
    loader = getattr(module, "__loader__", None)
    try:
        return loader.get_source(name) if loader is not None else None
    except (AttributeError, ImportError):
        return None


def _resolve(use: Use, importer: str, seen: set[Use]) -> set[str]:
    """The modules behind a use, followed through the exports of packages to the one that defines the name."""
    if use in seen:
        return set()
    seen.add(use)
    name, attributes = use
    found = {name}
    whose = owner(name)
    # For other importers, an installed package counts only by its version.
    inside = whose.plugin or (whose.kind == "installed" and name.partition(".")[0] == importer.partition(".")[0])
    place = locate(name) if whose.kind == "source" or inside else None
    if not attributes or place is None:
        return found
    first, rest = attributes[0], attributes[1:]
    if (name, first) in _STARTERS:
        return found
    if place.folders is None:
        family = _LOOKUPS.get((name, first))
        if family is not None and importer.partition(".")[0] != OURS:
            found |= set(_family(family))
        return found
    told = _facts(name)
    if first == "*":
        exported = [one for uses in told.exports.values() for one in uses] + [(star, ("*",)) for star in told.stars]
        return found.union(*(_resolve(one, importer, seen) for one in exported))
    uses = [(module, (*taken, *rest)) for module, taken in told.exports.get(first, ())]
    if first not in told.names:
        uses += [(star, attributes) for star in told.stars if _provides(star, first, set())]
    inner = f"{name}.{first}"
    if locate(inner) is not None:  # a submodule of the package, perhaps also a name in it
        uses.append((inner, rest))
    if not uses and first not in told.names:
        uses += _at_run_time(name, first)
    return found.union(*(_resolve(one, importer, seen) for one in uses))


def _provides(name: str, wanted: str, seen: set[str]) -> bool:
    """Whether `from name import *` may provide a name. For installed packages this is unknown, so yes."""
    if name in seen:
        return False
    seen.add(name)
    if owner(name).kind != "source":
        return True
    told = _facts(name)
    return wanted in told.names or any(_provides(star, wanted, seen) for star in told.stars)


def _at_run_time(package: str, name: str) -> Iterator[Use]:
    """Where a name comes from that only the package's `__getattr__` provides."""
    value = getattr(sys.modules.get(package), name, None)
    if isinstance(value, ModuleType):
        yield value.__name__, ()
    elif isinstance(home := getattr(value, "__module__", None), str) and home != package:
        yield home, (name,)


def _family(package: str) -> Iterator[str]:
    place = locate(package)
    for part in pkgutil.iter_modules(place.folders if place else (), f"{package}."):
        yield part.name
        if part.ispkg:
            yield from _family(part.name)
    for point in entry_points(group=package):
        yield point.module
