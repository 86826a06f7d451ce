"""Stable names for things: hashes of canonical parameters and of the code behind a class.

Imported by the cache of datasets and by the engine's plan.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import hashlib
import importlib.util
import json
import math
import sys
from pathlib import Path
from typing import Any


def canonical(value: Any) -> Any:
    """`value` as plain JSON with one spelling: tuples as lists, whole floats and numpy numbers as Python's."""
    if isinstance(value, dict):
        return {str(key): canonical(value[key]) for key in sorted(value, key=str)}
    if isinstance(value, list | tuple):
        return [canonical(item) for item in value]
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and math.isfinite(value) and value == int(value):
        return int(value)
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def digest(value: Any, size: int = 16) -> str:
    """Hexadecimal hash of a canonical value, the same on every machine and in every process."""
    text = json.dumps(canonical(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.blake2b(text.encode(), digest_size=size).hexdigest()


def parameters(instance: Any) -> dict[str, Any]:
    """The parameters that differ from the class's defaults.

    A default written out is the same as one left out, and a new field with a default changes nobody's identity.
    """
    if not dataclasses.is_dataclass(instance):
        return {}
    given = {}
    for field in dataclasses.fields(instance):
        value = getattr(instance, field.name)
        default = field.default
        if field.default_factory is not dataclasses.MISSING:
            default = field.default_factory()
        if default is dataclasses.MISSING or canonical(value) != canonical(default):
            given[field.name] = canonical(value)
    return given


def class_path(cls: type) -> str:
    """The dotted path by which a worker imports the class."""
    return f"{cls.__module__}.{cls.__qualname__}"


def code_version(cls: type) -> str:
    """Hash of the code that `cls` runs: its module and, transitively, the modules of its own package that it imports.

    Comments, docstrings and layout do not count. Nobody has to remember to raise a version number, and results of
    code that has changed since are never taken for finished.
    """
    modules: dict[str, str] = {}
    for base in cls.__mro__:
        if base.__module__ != "builtins":
            _collect(base.__module__, modules)
    return digest(modules, size=8)


def _collect(name: str, seen: dict[str, str]) -> None:
    if name in seen:
        return
    path = _own_source(name)
    if path is None:
        return
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    tree_hash, imports = _module_code(str(path), path.stat().st_mtime_ns, package)
    seen[name] = tree_hash
    for imported in imports:
        _collect(imported, seen)


def _own_source(name: str) -> Path | None:
    if name.partition(".")[0] in sys.stdlib_module_names:
        return None
    module = sys.modules.get(name)
    file = getattr(module, "__file__", None)
    if file is None:
        try:
            spec = importlib.util.find_spec(name)
        except (ImportError, ValueError):
            return None
        file = spec.origin if spec else None
    path = Path(file) if file else None
    if path is None or path.suffix != ".py" or not path.is_file():
        return None
    if name.partition(".")[0] == "dpbench":
        # Our package markers only re-export: following them would tie every mechanism to every other.
        return None if path.name == "__init__.py" else path
    # Everybody's libraries are not the mechanism's code; what lies in the user's own folders is.
    return None if {"site-packages", "dist-packages"} & set(path.parts) else path


@functools.cache
def _module_code(file: str, _mtime: int, package: str) -> tuple[str, tuple[str, ...]]:
    tree = ast.parse(Path(file).read_bytes())
    imports = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imports += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            # A name may be a module (`from dpbench.numerics import grouping`) or live in a re-exporting package.
            parent = package.rsplit(".", node.level - 1)[0] if node.level else ""
            base = ".".join(filter(None, [parent, node.module]))
            imports += [base, *(f"{base}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                first.value.value = ""
    return hashlib.blake2b(ast.dump(tree).encode(), digest_size=16).hexdigest(), tuple(imports)
