"""Stable identifiers: every value has one canonical spelling, which is hashed. (`dpbench.codes` does the same for code.)

Imports nothing of ours. Imported by the cache of datasets, by `codes` and by the engine.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
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


def parameters(instance: Any, of: type | None = None) -> dict[str, Any]:
    """The parameters that differ from the class's defaults, or from those of another class, `of`, with the same fields.

    Writing out a default is the same as leaving it out, and a new field with a default changes no identity.
    """
    if not dataclasses.is_dataclass(instance):
        return {}
    given = {}
    for field in dataclasses.fields(of or instance):
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
