"""Any value as bytes: equal values of equal types give equal bytes, and what a value holds anywhere inside is part of them.

Arrays are read with their type, shape and what they are views of, containers with the order of their items, functions with what
they enclose, other objects by their attributes and by what is pickled of them. Imported by published.py.
"""

from __future__ import annotations

import hashlib
import re
import sys
import types
from collections.abc import Iterator, Mapping
from collections.abc import Set as AnySet
from typing import Any

import numpy as np

from dpbench.errors import UserError

DEPTH = 150
"""Deepest nesting that is followed."""
PLAIN = (str, int, float, complex, bool, type(None))
LABELS = ("index", "columns", "name", "names", "dtype", "dtypes", "attrs")
"""What a table or a series has besides its numbers."""
ENCLOSED = ("__closure__", "__defaults__", "__kwdefaults__", "__dict__")
"""What a function holds besides its code."""


def as_bytes(value: Any) -> bytes:
    """A hash of everything in a value."""
    found = hashlib.sha256()
    for part in _walk(value, ()):
        found.update(len(part).to_bytes(8, "little") + part)
    return found.digest()


def reduced(value: Any) -> Any:
    """What is pickled of an object, with everything that its class decides about it; None if it cannot be pickled."""
    try:
        parts = value.__reduce_ex__(4)
    except Exception:  # a class may refuse in any way
        return None
    if isinstance(parts, str):
        return parts
    call, given, state, listed, mapped = (*parts, None, None, None, None)[:5]
    return getattr(call, "__qualname__", str(call)), given, state, [*(listed or ())], [*(mapped or ())]


def without_addresses(text: str) -> str:
    """A text without the places in memory that Python shows of objects: they differ from run to run."""
    return re.sub(r" at 0x[0-9a-fA-F]+", "", text)


def _walk(value: Any, path: tuple[int, ...]) -> Iterator[bytes]:
    cls = type(value)
    yield cls.__qualname__.encode()
    if id(value) in path:
        yield str(path.index(id(value))).encode()  # it holds itself
        return
    if len(path) > DEPTH:
        raise UserError(f"cannot read a release of more than {DEPTH} objects inside each other")
    path = (*path, id(value))
    if isinstance(value, np.longdouble | np.clongdouble):
        yield repr(value).encode()  # its bytes have gaps
    elif isinstance(value, np.generic) and value.dtype != object:
        yield str(value.dtype).encode() + value.tobytes()
    elif isinstance(value, PLAIN):
        base: Any = next(base for base in PLAIN if isinstance(value, base))
        yield base.__repr__(value).encode()
    elif isinstance(value, bytes | bytearray | memoryview):
        yield bytes(value)
    elif isinstance(value, np.dtype):
        yield str(value).encode()
        yield from _walk(value.metadata, path)
    elif isinstance(value, np.ndarray):
        yield from _array(value, path)
    elif isinstance(value, Mapping):
        for both in value.items():
            yield from _walk(both, path)
    elif isinstance(value, AnySet):
        yield from sorted(as_bytes(part) for part in value)
    elif isinstance(value, list | tuple):
        yield str(len(value)).encode()
        for part in value:
            yield from _walk(part, path)
    else:
        yield from _object(value, path)
        return
    if cls.__module__ not in ("builtins", "numpy"):  # a subclass may hold more
        yield from _walk([{**getattr(value, "__dict__", {})}, reduced(value)], path)


def _array(value: np.ndarray[Any, Any], path: tuple[int, ...]) -> Iterator[bytes]:
    yield f"{value.dtype} {value.shape}".encode()
    yield from _walk(value.dtype.metadata, path)
    if value.dtype == object:
        yield from _walk(value.tolist(), path)
    else:
        yield np.ascontiguousarray(value).tobytes()
    if isinstance(value.base, np.ndarray) and value.base.nbytes > value.nbytes:
        yield from _array(value.base, path)  # anybody may look at the rest of it


def _object(value: Any, path: tuple[int, ...]) -> Iterator[bytes]:
    if isinstance(value, type):
        yield f"{value.__module__} {value.__qualname__}".encode()
        if getattr(sys.modules.get(value.__module__), value.__name__, None) is not value:  # made by a function
            held = {name: part for name, part in vars(value).items() if not name.startswith("__")}
            yield from _walk(held, path)
    elif isinstance(value, types.FunctionType):
        yield value.__qualname__.encode()
        yield from _walk([getattr(value, name) for name in ENCLOSED], path)
        yield from _walk(value.__code__.co_consts, path)
        yield value.__code__.co_code
    elif isinstance(value, types.CodeType):
        yield value.co_code
        yield from _walk(value.co_consts, path)
    elif isinstance(value, types.CellType):
        try:
            yield from _walk(value.cell_contents, path)
        except ValueError:
            yield b"an empty cell"
    elif isinstance(value, types.MethodType):
        yield from _walk([value.__func__, value.__self__], path)
    elif isinstance(value, types.BuiltinFunctionType | types.ModuleType):
        yield str(getattr(value, "__qualname__", value.__name__)).encode()
        if isinstance(value, types.BuiltinFunctionType):
            yield from _walk(value.__self__, path)
    elif isinstance(value, types.GeneratorType):
        yield from _walk([value.__qualname__, {**value.gi_frame.f_locals} if value.gi_frame else None], path)
    elif callable(getattr(value, "to_numpy", None)):  # pandas, polars
        yield from _walk([value.to_numpy(), *(getattr(value, name, None) for name in LABELS)], path)
    else:
        state = dict(getattr(value, "__dict__", {}))
        slots = (slot for cls in type(value).__mro__ for slot in _slots(cls))
        state |= {slot: getattr(value, slot) for slot in slots if hasattr(value, slot)}
        pickled = reduced(value)
        if not state and pickled is None:
            yield without_addresses(repr(value)).encode()
        yield from _walk([state, pickled], path)


def _slots(cls: type) -> tuple[str, ...]:
    slots = vars(cls).get("__slots__", ())
    return (slots,) if isinstance(slots, str) else tuple(slots)
