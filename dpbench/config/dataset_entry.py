"""A dataset as its YAML describes it: what is generated or read, at which sizes, in which worlds, with which declared bound.

Read by the catalogue, changed by overrides, and turned into datasets of a run by `entries`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dpbench.documents import Locate, kind_of, nowhere
from dpbench.errors import placed, unknown
from dpbench.model.world import ALL, DEFAULT, World, default_of

SCALES = ("smoke", "laptop", "paper")
WORDS = ("kind", "source", "generator", "files", "missing")
"""The keys that hold one word."""
OWN_KEYS = (*WORDS, "path", "sizes", "bound", "world", "worlds")
"""All keys that are not parameters of a class."""
WORLD_KEYS = ("says", "constrained_by", "set")


@dataclass(frozen=True)
class DatasetEntry:
    """A dataset as its YAML describes it: a generator with sizes by scale, a reader of original files, or both."""

    name: str
    kind: str = ""
    source: str = ""
    """`generator` or `files`: which of the two is taken."""
    generator: str = ""
    files: str = ""
    path: str | None = None
    missing: str = ""
    """What to do if its files are missing: `generate` the data instead, or `leave_out` the dataset. Empty: an error."""
    sizes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Parameters of the generator by scale."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Parameters at every scale, of the generator or of the reader."""
    bounds: Mapping[str, int] = field(default_factory=dict)
    """Declared limit on the columns of one row, by scale, and under `files` for the original files."""
    worlds: Mapping[str, World] = field(default_factory=dict)
    """Its worlds by name; empty if there is only one stand-in, or none."""
    world: tuple[str, ...] = ()
    """The worlds that are taken, by name: usually the default one alone. Original files have none."""

    @classmethod
    def of(cls, name: str, body: Any, place: Locate = nowhere) -> DatasetEntry:
        """The entry of a YAML file or a composed configuration, its structure checked."""
        if not isinstance(body, Mapping):
            raise placed(place(), f"dataset {name!r}: expected kind, source and so on, found a {kind_of(body)}")
        words: dict[str, str] = {}
        for key in WORDS:
            value = body.get(key)
            if value is not None and not isinstance(value, str):
                raise placed(place(key), f"dataset.{name}.{key}={value!r} is not valid: expected a name")
            words[key] = value or ""
        path = body.get("path")
        if not (path is None or isinstance(path, str | int | float)) or isinstance(path, bool):
            raise placed(place("path"), f"dataset.{name}.path={path!r} is not valid: expected one file or folder")
        worlds = _worlds(name, body.get("worlds"), place)
        return cls(
            name,
            **words,
            path=None if path is None or path == "" else str(path),
            sizes=_sizes(name, body.get("sizes"), place),
            parameters={str(key): value for key, value in body.items() if key not in OWN_KEYS},
            bounds=_bounds(name, body.get("bound"), place),
            worlds=worlds,
            world=_chosen_worlds(name, body.get("world"), worlds, place),
        )

    def bound(self, scale: str) -> int | None:
        """The declared limit on the columns of one row, for a scale or for files; None: not declared."""
        return self.bounds.get("files" if self.source == "files" else scale)

    @property
    def default_world(self) -> str:
        """The name of its default world, which changes nothing; empty if it has no worlds."""
        return default_of(self.worlds.values())

    def in_worlds(self, chosen: str) -> DatasetEntry:
        """The same in another world, `default` or `all`."""
        return self.changed({"world": chosen})

    def changed(self, given: Mapping[str, Any]) -> DatasetEntry:
        """The same with some keys replaced, as by overrides."""
        own = {key: getattr(self, key) for key in (*WORDS, "path", "sizes", "worlds")}
        body = {**own, "bound": self.bounds, "world": [*self.world], **self.parameters}
        return DatasetEntry.of(self.name, body | dict(given))

    def from_files(self, path: Path | str | None = None) -> DatasetEntry:
        """The same, read from original files: from `path`, or from what `data get` fetched."""
        return self.changed({"source": "files", "path": None if path is None else str(path), "missing": ""})

    def generated(self) -> DatasetEntry:
        """The same, built by its generator."""
        return self.changed({"source": "generator", "path": None, "missing": ""})


def _sizes(name: str, sizes: Any, place: Locate) -> dict[str, Mapping[str, Any]]:
    if sizes is None:
        return {}
    if not isinstance(sizes, Mapping):
        expected = "expected parameters by scale"
        raise placed(place("sizes"), f"dataset.{name}.sizes={sizes!r} is not valid: {expected}")
    for scale, size in sizes.items():
        if scale not in SCALES:
            raise unknown(f"scale in dataset.{name}.sizes:", scale, SCALES, place("sizes", str(scale)))
        if size is not None and not isinstance(size, Mapping):
            expected = "expected parameters"
            raise placed(place("sizes", scale), f"dataset.{name}.sizes.{scale}={size!r} is not valid: {expected}")
    return {str(scale): {str(k): v for k, v in (size or {}).items()} for scale, size in sizes.items()}


def _bounds(name: str, bound: Any, place: Locate) -> dict[str, int]:
    """`bound: 100`, or one number per scale and one for `files`."""
    if bound is None:
        return {}
    valid = (*SCALES, "files")
    given = bound if isinstance(bound, Mapping) else dict.fromkeys(valid, bound)
    for scale, number in given.items():
        if scale not in valid:
            raise unknown(f"scale in dataset.{name}.bound:", scale, valid, place("bound", str(scale)))
        if not isinstance(number, int) or isinstance(number, bool) or number < 1:
            expected = "expected a whole number, 1 or more: the most columns that one row may hold"
            raise placed(place("bound"), f"dataset.{name}.bound={number!r} is not valid: {expected}")
    return {str(scale): number for scale, number in given.items()}


# Worlds.


def _worlds(name: str, given: Any, place: Locate = nowhere) -> dict[str, World]:
    """`worlds:` by name; exactly one of them, the default, sets nothing."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise placed(place("worlds"), f"dataset.{name}.worlds={given!r} is not valid: expected worlds by name")
    worlds: dict[str, World] = {}
    for key, body in given.items():
        at, where = f"dataset.{name}.worlds.{key}", place("worlds", str(key))
        if isinstance(body, World):
            worlds[key] = body
            continue
        if not isinstance(body, Mapping) or not isinstance(body.get("says"), str):
            raise placed(where, f"{at}={body!r} is not valid: expected `says` with a sentence, constrained_by, set")
        for inner in body:
            if inner not in WORLD_KEYS:
                raise unknown(f"key in {at}:", str(inner), WORLD_KEYS, where)
        numbers = body.get("constrained_by") or ()
        if not isinstance(numbers, list | tuple) or not all(isinstance(number, str) for number in numbers):
            expected = "expected a list of claims and published statistics"
            raise placed(where, f"{at}.constrained_by={numbers!r} is not valid: {expected}")
        if key in (DEFAULT, ALL):
            raise placed(where, f"{at} is not valid: {key!r} has a meaning of its own: expected another name")
        worlds[str(key)] = World(str(key), body["says"], tuple(numbers), _changes(at, body.get("set"), where))
    plain = [world.name for world in worlds.values() if not world.parameters]
    if worlds and len(plain) != 1:
        found = ", ".join(plain) or "none"
        message = f"dataset.{name}.worlds: expected one world without `set`, the default one: found {found}"
        raise placed(place("worlds"), message)
    return worlds


def _changes(at: str, given: Any, where: str) -> dict[str, Mapping[str, Any]]:
    """`set: {top: 0.1}`, or parameters for every scale: `set: {smoke: {...}, laptop: {...}, paper: {...}}`."""
    if not given:
        return {}
    if not isinstance(given, Mapping):
        raise placed(where, f"{at}.set={given!r} is not valid: expected parameters, or parameters by scale")
    if not {*given} & {*SCALES}:
        return {scale: {str(k): v for k, v in given.items()} for scale in SCALES}
    if {*given} != {*SCALES} or not all(isinstance(part, Mapping) for part in given.values()):
        raise placed(where, f"{at}.set is not valid: expected parameters for each of {', '.join(SCALES)}")
    return {scale: {str(k): v for k, v in given[scale].items()} for scale in SCALES}


def _chosen_worlds(name: str, given: Any, worlds: Mapping[str, World], place: Locate = nowhere) -> tuple[str, ...]:
    """The worlds that `world: NAME`, a list, `default` or `all` choose."""
    default = default_of(worlds.values())
    listed = given if isinstance(given, list | tuple) else [] if given is None else [given]
    if listed and not worlds:
        problem = f"dataset.{name}.world={given} has no effect: {name} has no worlds"
        raise placed(place("world"), problem)
    chosen: dict[str, None] = {}
    for world in listed or ([default] if default else []):
        if world != ALL and world != DEFAULT and world not in worlds:
            raise unknown(f"world of {name}", str(world), [*worlds, DEFAULT, ALL], place("world"))
        chosen |= dict.fromkeys(worlds if world == ALL else [default if world == DEFAULT else world])
    return tuple(chosen)
