"""Runs as sealed files, and what is checked when one is read. Imported by `run` and by the record.

A run file may be damaged, or come from somebody else: every field must be present and of its type, every name valid, and
control characters, which could affect a terminal, are removed. Nothing named in it is imported, called or opened.
"""

from __future__ import annotations

import dataclasses
import functools
import re
import types
import typing
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from dpbench import seals
from dpbench.errors import Damaged
from dpbench.results.environment import Environment
from dpbench.results.folder import is_inside, read_whole, run_files, set_aside
from dpbench.results.run import Run, names, valid_name
from dpbench.results.setting import DatasetUse, Setting, Variant

SCHEMA = 5  # version of run files
_ID = re.compile(r"[0-9a-f]{32}")
T = TypeVar("T")
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def packed(run: Run) -> bytes:
    """A run as the content of its file."""
    body = {"schema": SCHEMA, **_plain(run)}
    body.pop("results")
    return seals.seal(body).encode()


def read_all(results: Path) -> Iterator[Run]:
    """Every run under a results folder. Damaged files are reported, set aside, and left out."""
    for path in run_files(results):
        try:
            run = _read(path, results)
        except FileNotFoundError:  # another reader has set it aside
            continue
        except OSError as error:  # a temporary disk error must not cost a good file
            warnings.warn(f"{path} cannot be read ({error.strerror}) and is skipped", Damaged, stacklevel=3)
        except ValueError as error:
            moved = set_aside(results, path)
            where = f"it is now {moved}" if moved else "it cannot be moved"
            text = f"{path} is damaged ({error}) and skipped, {where}: run the experiment again"
            warnings.warn(text, Damaged, stacklevel=3)
        else:
            yield run


def _read(path: Path, results: Path) -> Run:
    if not is_inside(results, path):
        raise ValueError("it is a link")
    body = seals.unseal(read_whole(path))
    if body.pop("schema", None) != SCHEMA or "results" in body:  # a file does not say where it is stored
        raise ValueError("it was written by another version of dpbench")
    run: Run = _made(Run, {**body, "results": results})
    for what, name in names(run):
        if not valid_name(name):
            raise ValueError(f"the {what} {name!r} is not valid")
    if run.path != path:
        raise ValueError("its name does not match the file name")
    for setting in run.settings:
        if not _ID.fullmatch(setting.id):
            raise ValueError(f"{setting.id!r} is not the id of a setting")
        if not {*setting.dataset.given} <= {*setting.dataset.params}:
            raise ValueError("a parameter of a dataset is missing")
    return run


def _plain(value: Any) -> Any:
    """In JSON form: dataclasses as objects, tuples as lists."""
    if dataclasses.is_dataclass(value):
        return {name: _plain(getattr(value, name)) for name in _stored(value.__class__)}
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


def made(cls: type[T], body: Any) -> T:
    """An instance from its stored form, checked; a field that older files lack has its default. ValueError says what is wrong."""
    return cls(**_values(cls, _completed(cls, body)))


def _completed(cls: Any, body: Any) -> Any:
    if not isinstance(body, dict):
        return body
    found = dict(body)
    for field in dataclasses.fields(cls):
        if field.name in body or field.name not in _stored(cls):
            continue
        if field.default is not dataclasses.MISSING:
            found[field.name] = _plain(field.default)
        elif field.default_factory is not dataclasses.MISSING:
            found[field.name] = _plain(field.default_factory())
    return found


def _made(cls: type, body: Any) -> Any:
    return cls(**_values(cls, body))


def _values(cls: type, body: Any) -> dict[str, Any]:
    """The fields of an instance: every one there, of its type, and no other."""
    hints = _hints(cls)
    if not isinstance(body, dict) or body.keys() != hints.keys():
        raise ValueError(f"it lacks or adds fields of {cls.__name__}")
    return {name: _value(body[name], hint, f"{cls.__name__}.{name}") for name, hint in hints.items()}


@functools.cache
def _hints(cls: type) -> dict[str, Any]:
    known = typing.get_type_hints(cls)
    return {name: known[name] for name in _stored(cls)}


@functools.cache
def _stored(cls: Any) -> tuple[str, ...]:
    """The fields that are stored."""
    return tuple(field.name for field in dataclasses.fields(cls) if field.metadata.get("stored", True))


def _value(value: Any, hint: Any, where: str) -> Any:
    if hint in (Setting, Variant, DatasetUse, Environment):
        return _made(hint, value)
    if dataclasses.is_dataclass(hint):
        return made(typing.cast(type, hint), value)
    if types.NoneType in (parts := typing.get_args(hint)) and len(parts) == 2:  # a number or none
        return (
            None if value is None else _value(value, next(part for part in parts if part is not types.NoneType), where)
        )
    origin = typing.get_origin(hint) or hint
    if origin is tuple and isinstance(value, list):
        parts = typing.get_args(hint)
        if parts[-1] is Ellipsis:
            return tuple(_value(item, parts[0], where) for item in value)
        if len(parts) == len(value):
            return tuple(_value(item, part, where) for item, part in zip(value, parts, strict=True))
    elif origin in (str, bool, int) and type(value) is origin:
        return _CONTROL.sub("?", value) if origin is str else value
    elif (origin is float and type(value) in (float, int)) or (origin is Path and isinstance(value, Path)):
        return value
    elif isinstance(origin, type) and issubclass(origin, Mapping) and isinstance(value, dict):
        _, kind = typing.get_args(hint)
        return {_value(key, str, where): _value(item, kind, where) for key, item in value.items()}
    elif origin is types.UnionType:  # a parameter: whatever JSON can hold
        return _cleaned(value)
    raise ValueError(f"{where} has the wrong type")


def _cleaned(value: Any) -> Any:
    if isinstance(value, dict):
        return {_CONTROL.sub("?", key): _cleaned(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_cleaned(item) for item in value]
    return _CONTROL.sub("?", value) if isinstance(value, str) else value
