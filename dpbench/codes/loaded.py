"""Whether a module that this process has loaded still equals its file. Imported by `codes.graph`.

Otherwise, editing a file after `import mine` and before the first run would store the old code's numbers under the new
code's identity.
"""

from __future__ import annotations

import ast
import functools
import inspect
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

_WRAPPERS: dict[type, str] = {
    staticmethod: "__func__",
    classmethod: "__func__",
    property: "fget",
    functools.cached_property: "func",
    type(functools.cache(lambda: None)): "__wrapped__",
}
_BEGAN = time.time_ns()
_SLACK = 5 * 10**9  # clocks of file servers differ


def changed(module: ModuleType, file: str, written: int) -> bool:
    """Whether functions or constants of the loaded module differ from those in its file now."""
    # A file older than this process cannot have changed since. Code that a loader rewrote cannot be compared.
    if written < _BEGAN - _SLACK or type(getattr(module, "__loader__", None)) is not SourceFileLoader:
        return False
    text = Path(file).read_bytes()
    try:
        tree = ast.parse(text)
        code = compile(text, file, "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return True
    texts: dict[str, set[Any]] = {}
    for inner in _inside(code):
        texts.setdefault(inner.co_qualname, set()).add(_bare(inner))
    running = (f.__code__ for f in _functions(vars(module), module.__name__, set()) if f.__code__.co_filename == file)
    if any(_bare(code) not in texts.get(code.co_qualname, ()) for code in running):
        return True
    return any(
        isinstance(found := scope.get(name, value), str | bytes | int | float) and found != value
        for body, scope in _scopes(tree, module)
        for name, value in _constants(body)
    )


def _inside(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _inside(constant)


def _bare(code: CodeType) -> tuple[Any, ...]:
    """The code of a function without line numbers and docstring."""
    constants = [_plain(constant) for constant in code.co_consts]
    if constants and not code.co_name.startswith("<") and isinstance(code.co_consts[0], str | None):
        del constants[0]
    return (code.co_code, tuple(constants), code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)


def _plain(constant: Any) -> Any:
    if isinstance(constant, CodeType):
        return _bare(constant)
    if isinstance(constant, tuple | frozenset):  # a set has no fixed order in its text form
        return type(constant)(map(_plain, constant))
    return type(constant), repr(constant)


def unwrapped(value: Any) -> FunctionType | None:
    """The function itself, or the one inside a static method, a property, a cache or a compiled kernel."""
    kind = type(value)  # not by getattr: some objects would import a library to answer, and this runs often
    if kind is FunctionType:
        return value
    if kind in _WRAPPERS:
        inner = getattr(value, _WRAPPERS[kind])
        return inner if isinstance(inner, FunctionType) else None
    return None


def _functions(scope: Mapping[str, Any], module: str, seen: set[type]) -> Iterator[FunctionType]:
    for value in list(scope.values()):
        if isinstance(value, type) and value.__module__ == module and value not in seen:
            seen.add(value)
            yield from _functions(vars(value), module, seen)
        kernel = (inspect.getattr_static(value, name, None) for name in ("function", "py_func"))
        for part in (unwrapped(value), *kernel):
            if isinstance(part, FunctionType):
                yield part


def _scopes(tree: ast.Module, module: ModuleType) -> Iterator[tuple[list[ast.stmt], Mapping[str, Any]]]:
    yield tree.body, vars(module)
    for statement in tree.body:
        if isinstance(statement, ast.ClassDef) and isinstance(cls := vars(module).get(statement.name), type):
            yield statement.body, vars(cls)


def _constants(body: list[ast.stmt]) -> Iterator[tuple[str, Any]]:
    """Names that are assigned a plain number or string exactly once."""
    nodes = [node for statement in body for node in ast.walk(statement)]
    often = Counter(node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
    often += Counter(name for node in nodes if isinstance(node, ast.Global) for name in 2 * node.names)
    for statement in body:
        if isinstance(statement, ast.Assign | ast.AnnAssign) and isinstance(statement.value, ast.Constant):
            target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
            if isinstance(target, ast.Name) and often[target.id] == 1:
                yield target.id, statement.value.value
