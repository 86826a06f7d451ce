"""Objects that a program passes to a run, beside names: mechanisms and tasks as variants, data as datasets by content.

An object whose class can be imported and whose parameters are plain values is sent by name, as from the command line. Any
other object, such as one of a class in a notebook, is itself sent to the workers.
"""

from __future__ import annotations

import dataclasses
import hashlib
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from dpbench import identity
from dpbench.code_reader import MAIN
from dpbench.data import Data
from dpbench.data.plain import as_data
from dpbench.errors import Damaged, UserError
from dpbench.model.run import VALID_NAME, valid_name
from dpbench.model.setting import Dataset, Value, Variant
from dpbench.registry import Registry
from dpbench.sources import cache, stored
from dpbench.storage.files import set_folder_aside

PLAIN = (str, int, float, bool, type(None))


def named(group: str, given: Any) -> Iterator[tuple[str, Any]]:
    """What was given for a group, each with the name the user gave it, or none: one thing, a list, or {name: thing}."""
    if isinstance(given, Mapping):
        yield from ((str(name), thing) for name, thing in given.items())
    elif isinstance(given, str | Data | type) or hasattr(given, "shape") or not isinstance(given, Iterable):
        yield "", given
    else:
        for thing in given:
            pair = isinstance(thing, tuple) and len(thing) == 2 and isinstance(thing[0], str)
            yield (thing[0], thing[1]) if pair else ("", thing)


def dataset(name: str, data: Any) -> Dataset:
    """A data object as a dataset of a run: stored once under its content."""
    if not isinstance(data, Data) and not hasattr(data, "shape"):
        expected = "expected a name, or data such as dpbench.Incidence.from_pandas(frame, user=..., item=...)"
        raise UserError(f"dataset={data!r} is not valid: {expected}")
    data = as_data(data, ("incidence", "records"))
    _check_name(name, "dataset")
    return data.memo(("kept", name), lambda: _kept(data, name))


def _kept(data: Data, name: str) -> Dataset:
    """Store the data in the cache. It cannot be built again later, so a damaged copy that is there is replaced now."""
    dataset = cache.keep(data, name)
    try:
        stored.load(cache.folder(dataset), verify=True)
    except stored.DamagedFolder as problem:
        set_folder_aside(cache.folder(dataset))
        cache.keep(data, name)
        warnings.warn(f"{dataset.name}: cached data is damaged ({problem}) and written again", Damaged, stacklevel=2)
    return dataset


def variant(name: str, thing: Any, registry: Registry[Any]) -> Variant:
    """A mechanism or task object as a variant of a run."""
    what = registry.what
    if isinstance(thing, type):
        thing = _made(thing, what)
    if not callable(getattr(thing, registry.method, None)):
        raise UserError(f"{what}={thing!r} is not valid: expected a name, or an object with `{registry.method}`")
    cls = type(thing)
    path = _registered(cls, registry) or identity.class_path(cls)
    _check_name(name, what)
    name = name or getattr(cls, "name", "") or cls.__name__
    params = _parameters(thing)
    if _importable(path, cls, registry) and dataclasses.is_dataclass(thing) and _plain(thing):
        return Variant(name, path, params)
    return Variant(name, path, params, instance=thing)


def _check_name(name: str, what: str) -> None:
    if name and not valid_name(name):
        raise UserError(f"the name {name!r} of a {what} is not valid: expected {VALID_NAME}")


def _made(cls: type, what: str) -> Any:
    try:
        return cls()
    except TypeError as error:
        raise UserError(
            f"{what}={cls.__name__} is a class that needs parameters ({error}): give an object of it"
        ) from None


def _registered(cls: type, registry: Registry[Any]) -> str:
    """The name under which a class is registered; empty if it is not."""
    name = vars(cls).get("name", "")
    return name if isinstance(name, str) and name in registry.names() and registry.get(name) is cls else ""


def _importable(path: str, cls: type, registry: Registry[Any]) -> bool:
    """Whether a worker finds exactly this class under its path."""
    if cls.__module__ in MAIN or not re.fullmatch(r"[\w.]+", path):
        return False
    try:
        return registry.get(path) is cls
    except UserError:
        return False


def _plain(thing: Any) -> bool:
    return all(isinstance(getattr(thing, field.name), PLAIN) for field in dataclasses.fields(thing) if field.init)


def _parameters(thing: Any) -> dict[str, Value]:
    """The parameters that differ from the defaults. Other values than plain ones count by their content."""
    if dataclasses.is_dataclass(thing):
        values = {f.name: (getattr(thing, f.name), _default(f)) for f in dataclasses.fields(thing)}
    else:
        values = (
            {name: (value, dataclasses.MISSING) for name, value in vars(thing).items()}
            if hasattr(thing, "__dict__")
            else {}
        )
    plain = {name: (_value(value), _value(default)) for name, (value, default) in values.items()}
    return {name: value for name, (value, default) in plain.items() if value != default}


def _default(field: dataclasses.Field[Any]) -> Any:
    return field.default if field.default_factory is dataclasses.MISSING else field.default_factory()


def _value(value: Any) -> Any:
    if value is dataclasses.MISSING or isinstance(value, PLAIN):
        return value
    import cloudpickle

    try:
        content = cloudpickle.dumps(value)
    except Exception as error:
        raise UserError(f"a parameter of type {type(value).__name__} cannot be sent to workers: {error}") from None
    return f"{type(value).__name__} {hashlib.blake2b(content, digest_size=6).hexdigest()}"
