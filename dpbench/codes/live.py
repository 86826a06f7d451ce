"""Code that is in no module that another process could import: of a script, of a notebook's cells, or without source.
Imported by `codes.code`.

Such classes are sent to workers by value. Their identity is sent along as an attribute, because a worker has neither the
cells nor, on another machine, the script.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import hashlib
import linecache
import os
import symtable
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from dpbench.codes import facts, graph
from dpbench.codes.facts import Use
from dpbench.codes.loaded import unwrapped
from dpbench.fingerprints import digest

MAIN = ("__main__", "__mp_main__")
_LABEL = "_dpbench_code"


@dataclass
class Live:
    """What is known about classes and functions that are in no importable module."""

    modules: dict[str, str] = field(default_factory=dict)
    targets: set[str] = field(default_factory=set)
    unknown: list[str] = field(default_factory=list)

    def add(self, thing: Any) -> None:
        """Add a class or function of `__main__`, or of a module that cannot be found."""
        for file, globals_ in _files(thing):
            if file is None:
                self.unknown.append(f"{thing.__module__}.{thing.__qualname__}: its source is not known")
            elif os.path.isfile(file):
                self._script(file, globals_)
            else:
                self._cell(file, globals_)

    def _script(self, file: str, globals_: dict[str, Any]) -> None:
        main = sys.modules.get("__main__")
        if main is not None and getattr(main, "__file__", None) == file:
            node = graph.node("__main__")
            key, value, targets, unknown = "__main__", node.digest, node.targets, node.unknown
        else:
            package = str(globals_.get("__package__") or "")
            told = facts.read(Path(file).read_bytes(), package)
            key, value, targets = "__main__", told.digest, graph.targets_of(told.uses, "__main__")
            unknown = tuple(f"{file}, line {line}: loads a module by a computed name" for line in told.computed)
        if key in self.modules and self.modules[key] != value:
            key = f"__main__:{value[:16]}"
        if key not in self.modules:
            self.modules[key] = value
            self.targets |= targets
            self.unknown += unknown

    def _cell(self, file: str, globals_: dict[str, Any]) -> None:
        text = "".join(linecache.getlines(file))
        free = sorted(_later_names(text))
        bound: dict[str, Use] = {
            name: (globals_[name].__name__, ()) for name in free if isinstance(globals_.get(name), ModuleType)
        }
        told = facts.read(text, "", bound=bound)
        key = f"__main__:{told.digest[:16]}"
        if key in self.modules:
            return
        self.modules[key] = told.digest
        self.targets |= graph.targets_of(told.uses, "__main__")
        self.unknown += [f"{file}, line {line}: loads a module by a computed name" for line in told.computed]
        values = {}
        for name in free:
            if name not in globals_ or name in bound:
                continue  # a builtin, a local name, or a module that is handled elsewhere
            value = globals_[name]
            if isinstance(value, type | FunctionType):
                self._refer(value)
            else:
                values[name] = self._value(name, value)
        if values:
            self.modules[f"{key}:values"] = digest(values)

    def _refer(self, thing: Any) -> None:
        if thing.__module__ in MAIN:
            self.add(thing)
        else:
            self.targets.add(thing.__module__)

    def _value(self, name: str, value: Any) -> Any:
        """A variable of the notebook by its content."""
        if value is None or isinstance(value, str | int | float | complex | bytes):
            return repr(value)
        if isinstance(value, list | tuple):
            return [self._value(name, item) for item in value]
        if isinstance(value, dict):
            return [[self._value(name, k), self._value(name, v)] for k, v in value.items()]
        if isinstance(value, set | frozenset):
            return sorted(str(self._value(name, item)) for item in value)
        if hasattr(value, "dtype") and hasattr(value, "tobytes"):
            return [str(value.dtype), list(getattr(value, "shape", ())), hashlib.blake2b(value.tobytes()).hexdigest()]
        if isinstance(value, type | FunctionType):
            self._refer(value)
            return value.__qualname__
        if not isinstance(value, ModuleType) and hasattr(value, "__dataclass_fields__"):
            self._refer(type(value))
            return [type(value).__qualname__, self._value(name, dict(vars(value)))]
        self.unknown.append(f"variable {name!r} of the notebook: its content ({type(value).__name__}) is not known")
        return type(value).__qualname__


def live_code(thing: Any) -> Live:
    """The code of a class or function of `__main__`; for one that was sent here, the identity that came with it."""
    label = vars(thing).get(_LABEL)
    if label is not None and not _at_home(thing):
        return Live(*label)
    found = Live()
    found.add(thing)
    with contextlib.suppress(AttributeError, TypeError):
        setattr(thing, _LABEL, (found.modules, found.targets, found.unknown))
    return found


def functions(thing: Any) -> Iterator[FunctionType]:
    """The functions of a class, or a function itself."""
    for value in vars(thing).values() if isinstance(thing, type) else (thing,):
        function = unwrapped(value)
        if function is not None:
            yield function


def without_source(function: FunctionType) -> bool:
    """Whether a function has no source. Functions generated by `dataclass` do not count as the user's code."""
    file, name = function.__code__.co_filename, function.__code__.co_name
    return file.startswith("<") and not name.startswith("__") and not linecache.getlines(file)


def _at_home(thing: Any) -> bool:
    main = vars(sys.modules["__main__"])
    return any(f.__globals__ is main for f in functions(thing)) or main.get(thing.__name__) is thing


def _files(thing: Any) -> Iterator[tuple[str | None, dict[str, Any]]]:
    """The files or cells that a class's functions come from, with their variables; None for code without source."""
    main = sys.modules["__main__"]
    found: dict[str, dict[str, Any]] = {}
    for function in functions(thing):
        file = function.__code__.co_filename
        if os.path.isfile(file) or linecache.getlines(file):
            found[file] = function.__globals__
        elif without_source(function):
            yield None, {}
    if not found:  # a class with only fields has no functions
        cells = reversed([name for name in linecache.cache if not os.path.isfile(name)])
        for file in filter(None, [getattr(main, "__file__", None), *cells]):
            if thing.__module__ in MAIN and _defines(file, thing.__name__):
                found[file] = vars(main)
                break
    yield from found.items()
    if not found:
        yield None, {}


def _defines(file: str, name: str) -> bool:
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError):
        return False
    return any(isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == name for node in ast.walk(tree))


def _later_names(text: str) -> set[str]:
    """Global names that the classes and functions of a cell use, when they are defined or when they run."""
    try:
        table, tree = symtable.symtable(text, "<cell>", "exec"), ast.parse(text)
    except (SyntaxError, ValueError):
        return set()
    names = {
        node.id
        for top in tree.body
        for decorator in getattr(top, "decorator_list", [])
        for node in ast.walk(decorator)
        if isinstance(node, ast.Name)
    }
    tables = list(table.get_children())
    while tables:
        inner = tables.pop()
        names |= {symbol.get_name() for symbol in inner.get_symbols() if symbol.is_referenced() and symbol.is_global()}
        tables += inner.get_children()
    return {name for name in names if not hasattr(builtins, name)}
