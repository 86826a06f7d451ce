"""Everything that can be read from a release, bit for bit, so that two releases can be compared. Imported by the audit by replay.

Fields beyond the known ones count, also attributes that no field declares. Arrays are compared with their type and shape,
containers with the type and order of their items. An object without state that can be read is compared by its type.
"""

from __future__ import annotations

import dataclasses
import hashlib
import types
from collections.abc import Iterator, Mapping
from collections.abc import Set as AnySet
from typing import Any

import numpy as np

from dpbench.data import Release

DEPTH = 12
"""Deepest nesting that is followed."""
HIDDEN = ("_memo",)
"""Attributes of releases that hold nothing but what was computed from the others."""


def published(release: Any) -> dict[str, bytes]:
    """What is published, by name: the parts, and whatever else can be read from the release."""
    if not isinstance(release, Release):
        shown = {"release": as_bytes(release)}
        if callable(getattr(release, "published", None)):
            shown["published()"] = as_bytes(release.published())
        return shown
    private = release.private_fields()
    shown = {name: part.tobytes() for name, part in release.parts().items()}
    known = {each.name for each in dataclasses.fields(release)}
    for name in (*known, *vars(release)):
        if name not in (*release.numbers, "chosen", *private, *HIDDEN) and not _computed(type(release), name):
            shown[name] = as_bytes(getattr(release, name))
    return shown


def _computed(cls: type, name: str) -> bool:
    """Whether an attribute is the stored result of a `cached_property`, which is computed from the fields."""
    return type(getattr(cls, name, None)).__name__ == "cached_property"


def as_bytes(value: Any) -> bytes:
    """A value as bytes: equal values of equal types give equal bytes."""
    found = hashlib.sha256()
    for part in _walk(value, 0):
        found.update(len(part).to_bytes(8, "little") + part)
    return found.digest()


def _walk(value: Any, depth: int) -> Iterator[bytes]:
    yield type(value).__qualname__.encode()
    if depth > DEPTH:
        return
    if isinstance(value, np.ndarray) and value.dtype != object:
        yield f"{value.dtype} {value.shape}".encode()
        yield np.ascontiguousarray(value).tobytes()
    elif isinstance(value, np.generic):
        yield value.tobytes()
    elif isinstance(value, str | int | float | complex | bool | None):
        yield repr(value).encode()
    elif isinstance(value, bytes | bytearray | memoryview):
        yield bytes(value)
    elif isinstance(value, Mapping):
        for key, part in value.items():
            yield from _walk(key, depth + 1)
            yield from _walk(part, depth + 1)
    elif isinstance(value, AnySet):
        yield from sorted(as_bytes(part) for part in value)
    elif isinstance(value, list | tuple | np.ndarray):
        for part in value:
            yield from _walk(part, depth + 1)
    elif isinstance(value, types.FunctionType | types.MethodType | type):
        yield repr(getattr(value, "__qualname__", "")).encode()
    elif callable(getattr(value, "to_numpy", None)):  # pandas, polars
        yield from _walk(value.to_numpy(), depth + 1)
    else:
        state = dict(getattr(value, "__dict__", {}))
        slots = (slot for cls in type(value).__mro__ for slot in getattr(cls, "__slots__", ()))
        state |= {slot: getattr(value, slot) for slot in slots if hasattr(value, slot)}
        yield from _walk(state, depth + 1)
