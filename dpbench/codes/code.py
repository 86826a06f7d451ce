"""`code_of`: the code that some classes run, as one digest and module by module."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

from dpbench.codes import graph, places
from dpbench.codes.live import MAIN, functions, live_code, without_source
from dpbench.fingerprints import digest

EXEMPT = ("dpbench.errors", "dpbench.paths", "dpbench.registry", "dpbench.codes", "dpbench.engine.identity")
"""Modules that are used in every trial but affect no number: messages, paths, names of classes, and the identification of
code. A change of the identification itself shows in the identities."""

_MADE_BY_PYTHON = 1 << 9  # Py_TPFLAGS_HEAPTYPE: made by a class statement, whatever module it names
_PLAIN = (str, bytes, int, float, complex, bool, type(None))
_MEMO: dict[tuple[frozenset[str], frozenset[str]], tuple[list[tuple[str, graph.Stamp]], Code]] = {}


@dataclass(frozen=True)
class Code:
    """The code behind some classes. Equal digests mean equal numbers on the same type of processor."""

    digest: str
    modules: Mapping[str, str]
    """Each module of ours and of the user, and the hash of its code."""
    distributions: Mapping[str, str]
    """Each library that those modules import, and its version; `python` stands for the standard library."""
    resumable: bool
    """False if some code could not be read: its results are never reused."""
    reasons: tuple[str, ...] = ()
    """Why not."""


@dataclass
class _Roots:
    modules: set[str] = field(default_factory=set)
    own: set[str] = field(default_factory=set)
    """Top-level packages of the given classes: these count by their source even if they are installed."""
    texts: dict[str, str] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)


def code_of(*things: Any) -> Code:
    """The code of classes, instances, functions or modules (given by name): of their modules, of those of their base
    classes, and of everything that these import."""
    roots = _Roots()
    for thing in things:
        if isinstance(thing, str):
            roots.modules.add(thing)
            roots.own.add(thing.partition(".")[0])
        else:
            _thing(thing, roots, set(), own=True)
    code = _closure(frozenset(roots.modules), frozenset(roots.own))
    if not roots.texts and not roots.unknown:
        return code
    return _code({**code.modules, **roots.texts}, code.distributions, (*code.reasons, *roots.unknown))


def _thing(thing: Any, roots: _Roots, seen: set[int], own: bool = False) -> None:
    if isinstance(thing, _PLAIN) or id(thing) in seen:
        return
    seen.add(id(thing))
    if isinstance(thing, type):
        for base in thing.__mro__:
            _definition(base, roots, own and base is thing)
        _definition(type(thing), roots)
    elif isinstance(thing, ModuleType):
        roots.modules.add(thing.__name__)
    elif isinstance(thing, FunctionType | BuiltinFunctionType):
        _definition(thing, roots, own)
    elif isinstance(thing, MethodType):
        _thing(thing.__func__, roots, seen, own)
        _thing(thing.__self__, roots, seen)
    elif isinstance(thing, list | tuple | set | frozenset):
        for item in thing:
            _thing(item, roots, seen)
    elif isinstance(thing, dict):
        for item in thing.values():
            _thing(item, roots, seen)
    else:
        _thing(type(thing), roots, seen, own)
        if isinstance(thing, functools.partial):
            _thing((thing.func, thing.args, thing.keywords), roots, seen)
        # A parameter may itself be a mechanism or a function. Data is identified by its content, not here.
        _thing(dict(getattr(thing, "__dict__", ())), roots, seen)


def _definition(thing: Any, roots: _Roots, own: bool = False) -> None:
    """Add the module of a class or function, and of functions that were assigned to the class from elsewhere."""
    home = getattr(thing, "__module__", None)
    if isinstance(thing, type) and not thing.__flags__ & _MADE_BY_PYTHON and home == "builtins":
        return
    if isinstance(thing, BuiltinFunctionType):
        home = home or "builtins"
    if not _located(thing, home, roots, own):
        return  # its functions were already added
    seen = {home}
    for function in functions(thing):
        name = function.__globals__.get("__name__")
        odd = function.__code__.co_filename.startswith("<") and without_source(function)
        if odd or name not in seen:
            seen.add(name)
            _located(function, None if odd else name, roots)


def _located(thing: Any, home: Any, roots: _Roots, own: bool = False) -> bool:
    """Add a class or function by its module, or else by its own source. Returns whether it has a module."""
    known = isinstance(home, str) and home not in MAIN and (home in sys.modules or places.locate(home) is not None)
    if known and (home != "builtins" or isinstance(thing, BuiltinFunctionType)):
        roots.modules.add(home)
        if own:
            roots.own.add(home.partition(".")[0])
        return True
    found = live_code(thing)
    roots.texts.update(found.modules)
    roots.modules |= found.targets
    roots.unknown += found.unknown
    return False


def _closure(modules: frozenset[str], own: frozenset[str]) -> Code:
    known = _MEMO.get((modules, own))
    if known is not None and all(graph.holds(name, was) for name, was in known[0]):
        return known[1]
    hashes: dict[str, str] = {}
    versions = {"python": f"{sys.version_info[0]}.{sys.version_info[1]}"}
    unknown: list[str] = []
    stamps: list[tuple[str, graph.Stamp]] = []
    for name in _reached(modules, own, versions):
        stamps.append((name, graph.stamp(name)))
        node = graph.node(name)
        unknown += node.unknown
        if node.digest:
            hashes[name] = node.digest
    code = _code(hashes, versions, unknown)
    _MEMO[modules, own] = stamps, code
    return code


def _reached(modules: Iterable[str], own: frozenset[str], versions: dict[str, str]) -> Iterator[str]:
    """Every module reachable from these that counts by its source; installed ones are added to `versions`."""
    waiting, seen = list(modules), set()
    while waiting:
        name = waiting.pop()
        if name in seen or name in EXEMPT or name.startswith("dpbench.codes."):
            continue
        seen.add(name)
        owner = places.owner(name)
        versions.update((distribution, places.version(distribution)) for distribution in owner.distributions)
        by_source = owner.kind == "source" or owner.plugin or name.partition(".")[0] in own
        if by_source and owner.kind in ("source", "installed"):
            yield name
            waiting.extend(graph.node(name).targets)


def _code(modules: Mapping[str, str], distributions: Mapping[str, str], unknown: Iterable[str]) -> Code:
    reasons = tuple(dict.fromkeys(unknown))
    name = digest({"modules": dict(modules), "distributions": dict(distributions)})
    return Code(name, dict(sorted(modules.items())), dict(sorted(distributions.items())), not reasons, reasons)
