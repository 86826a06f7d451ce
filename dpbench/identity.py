"""What a result is named by: one spelling for every value, the code that can run, and ids made of both.

Any module may import it. Which code can run, and how it is read, is in `code_reader`.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import os
import sys
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from dpbench import code_reader
from dpbench.code_reader import CORE

# --- values -----------------------------------------------------------------------------------------------------------


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
    for entry in dataclasses.fields(of or instance):
        value = getattr(instance, entry.name)
        default = entry.default
        if entry.default_factory is not dataclasses.MISSING:
            default = entry.default_factory()
        if default is dataclasses.MISSING or canonical(value) != canonical(default):
            given[entry.name] = canonical(value)
    return given


def class_path(cls: type) -> str:
    """The dotted path by which a worker imports the class."""
    return f"{cls.__module__}.{cls.__qualname__}"


# --- code -------------------------------------------------------------------------------------------------------------


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


def code_of(*things: Any, files: Iterable[str] = ()) -> Code:
    """The code of classes, instances or functions, of all that they hold and import, and of some files of dpbench."""
    roots = code_reader.Roots()
    for thing in things:
        roots.add(f"an object of {type(thing).__qualname__}", thing)
    own = {str(getattr(thing, "__module__", "")).partition(".")[0] for thing in things}
    key = frozenset(roots.names), frozenset(own), frozenset(files), tuple(sys.path)
    reached = _REACHED.get(key)
    if reached is None or not reached[0].is_current():
        read = code_reader.Reached(*key[:3])
        reached = read, _code(read, code_reader.Roots())
        if not read.missing:
            _REACHED[key] = reached
    return _code(reached[0], roots) if roots.live or roots.reasons else reached[1]


_REACHED: dict[Any, tuple[code_reader.Reached, Code]] = {}


def _code(reached: code_reader.Reached, roots: code_reader.Roots) -> Code:
    versions = {name: code_reader.version(name) for name in sorted(reached.distributions)}
    versions["python"] = f"{sys.version_info[0]}.{sys.version_info[1]}"
    modules = dict(sorted({**reached.modules, **roots.live}.items()))
    reasons = tuple(dict.fromkeys([*reached.reasons, *roots.reasons]))
    return Code(digest({"modules": modules, "distributions": versions}), modules, versions, not reasons, reasons)


# --- settings ---------------------------------------------------------------------------------------------------------

MOST = 4  # differences named in a message
SCHEMA = 2  # version of the stored rows
SESSION = "DPBENCH_SESSION"


def setting_code(source: Any, mechanism: Any, task: Any) -> Code:
    """The code that builds the data, releases, scores, and that seeds and measures all this.

    Each is a class or an instance. An instance also counts the code of its parameters, such as a mechanism inside a
    mechanism. For data that was given and not built, `source` is the class of the data.
    """
    return code_of(source, mechanism, task, files=CORE)


def setting_id(key: str, seed: int, fingerprint: str, code: Code, files: str = "", schema: int = SCHEMA) -> str:
    """The id under which the trials of a setting are stored. `files`: a digest of the files that its parts declare."""
    return digest([key, seed, fingerprint, code.digest, schema, *filter(None, [files, _session(code)])])


def _session(code: Code) -> str:
    """Code without source may have changed since: its results are valid only for this process and its workers."""
    return "" if code.resumable else os.environ.setdefault(SESSION, uuid.uuid4().hex)


def session() -> str:
    """The name of this process if any result depends on it, otherwise empty: its workers must know it."""
    return os.environ.get(SESSION, "")


def join(name: str) -> None:
    """Work for another process: code without source is then identified by that process."""
    if name:
        os.environ[SESSION] = name


def differences(ours: Code, modules: Mapping[str, str], distributions: Mapping[str, str]) -> str:
    """How another process's code differs from ours, in a few words."""
    words = []
    for name in sorted({*ours.distributions, *distributions}):
        here, there = (versions.get(name) for versions in (ours.distributions, distributions))
        if here != there:
            words.append(f"{name} {there or 'is missing'} instead of {here}" if here else f"{name} {there} as well")
    words += sorted(name for name in {*ours.modules, *modules} if ours.modules.get(name) != modules.get(name))
    words = words or list(ours.reasons) or ["the files that its mechanism or task reads"]
    return ", ".join(words[:MOST]) + (f" and {len(words) - MOST} more" if len(words) > MOST else "")
