"""Everything that can be read from a release, bit for bit, so that two releases can be compared. Imported by the audit by replay.

Fields beyond the known ones count, also attributes that no field declares, and how a release is shown and pickled where its class
is not ours. No method of such a class is believed: which fields are public follows from their declaration. How values become
bytes is in values.py.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

from dpbench.auditing.foreign import is_foreign
from dpbench.auditing.values import as_bytes, reduced, without_addresses
from dpbench.data import Release

FORM = "form of "
"""Names of what is left if the numbers agree: types, shapes, orders, and how the release is printed, pickled and shown."""


def published(release: Any) -> dict[str, bytes]:
    """What is published, by name: the numbers, what else can be read from the release, and last its form."""
    if not isinstance(release, Release):
        shown = {"release": as_bytes(release)}
        if callable(getattr(release, "published", None)):
            shown["published()"] = as_bytes(release.published())
        return shown
    found = {name: part.tobytes() for name, part in Release.parts(release).items()}
    found |= {name: as_bytes(value) for name, value in beyond(release).items()}
    found |= {f"{FORM}{name}": as_bytes(getattr(release, name)) for name in ("chosen", *type(release).numbers)}
    found[f"{FORM}the release"] = as_bytes(type(release))
    if is_foreign(type(release)):
        found |= {f"{FORM}{name}": as_bytes(value) for name, value in _handed_over(release)}
    return found


def beyond(release: Release) -> dict[str, Any]:
    """What can be read besides the numbers: fields that are not declared private, and attributes that no field declares."""
    fields = dataclasses.fields(release)
    private = {each.name for each in fields if each.metadata.get("private")}
    names = {**dict.fromkeys(each.name for each in fields), **vars(release)}.keys() - {
        "chosen",
        *release.numbers,
        *private,
    }
    return {name: getattr(release, name) for name in sorted(names) if not _computed(type(release), name)}


def _handed_over(release: Release) -> Iterator[tuple[str, Any]]:
    """What is pickled, copied, printed and shown in a notebook, as a study has it and as a secure release has it."""
    secure = release.publishable()
    yield "the secure release", vars(secure)
    for how, each in (("", release), ("the secure ", secure)):
        yield f"{how}pickle", reduced(each)
        yield f"{how}print", [without_addresses(text) for text in (repr(each), str(each), f"{each}")]
        for name in dir(type(each)):
            if name.startswith("_repr_") and name.endswith("_"):
                yield f"{how}{name}", without_addresses(str(getattr(each, name)()))


def _computed(cls: type, name: str) -> bool:
    """Whether an attribute is the stored result of a `cached_property` of ours, which is computed from the fields."""
    owner = next((base for base in cls.__mro__ if name in vars(base)), None)
    return owner is not None and not is_foreign(owner) and type(vars(owner)[name]).__name__ == "cached_property"
