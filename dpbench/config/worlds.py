"""The worlds of a dataset, as its YAML describes them, and which of them are chosen. Imported by the catalogue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dpbench.documents import Locate, nowhere
from dpbench.errors import placed, unknown
from dpbench.model.world import ALL, DEFAULT, World, default_of

KEYS = ("says", "constrained_by", "set")


def read_worlds(name: str, given: Any, scales: Sequence[str], place: Locate = nowhere) -> dict[str, World]:
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
            if inner not in KEYS:
                raise unknown(f"key in {at}:", str(inner), KEYS, where)
        numbers = body.get("constrained_by") or ()
        if not isinstance(numbers, list | tuple) or not all(isinstance(number, str) for number in numbers):
            expected = "expected a list of claims and published statistics"
            raise placed(where, f"{at}.constrained_by={numbers!r} is not valid: {expected}")
        if key in (DEFAULT, ALL):
            raise placed(where, f"{at} is not valid: {key!r} has a meaning of its own: expected another name")
        worlds[str(key)] = World(str(key), body["says"], tuple(numbers), _changes(at, body.get("set"), scales, where))
    plain = [world.name for world in worlds.values() if not world.parameters]
    if worlds and len(plain) != 1:
        found = ", ".join(plain) or "none"
        message = f"dataset.{name}.worlds: expected one world without `set`, the default one: found {found}"
        raise placed(place("worlds"), message)
    return worlds


def _changes(at: str, given: Any, scales: Sequence[str], where: str) -> dict[str, Mapping[str, Any]]:
    """`set: {top: 0.1}`, or parameters for every scale: `set: {smoke: {...}, laptop: {...}, paper: {...}}`."""
    if not given:
        return {}
    if not isinstance(given, Mapping):
        raise placed(where, f"{at}.set={given!r} is not valid: expected parameters, or parameters by scale")
    if not {*given} & {*scales}:
        return {scale: {str(k): v for k, v in given.items()} for scale in scales}
    if {*given} != {*scales} or not all(isinstance(part, Mapping) for part in given.values()):
        raise placed(where, f"{at}.set is not valid: expected parameters for each of {', '.join(scales)}")
    return {scale: {str(k): v for k, v in given[scale].items()} for scale in scales}


def chosen_worlds(name: str, given: Any, worlds: Mapping[str, World], place: Locate = nowhere) -> tuple[str, ...]:
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
