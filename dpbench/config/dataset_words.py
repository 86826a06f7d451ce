"""What a dataset of a run is read from, and errors for overrides about it that would have no effect.

Imported by `checks`.
"""

from __future__ import annotations

import dataclasses

from dpbench.config.catalogue import DatasetEntry
from dpbench.config.entries import source_class
from dpbench.config.origins import Origins, key_of
from dpbench.errors import UserError, nearest, one_of, placed
from dpbench.sources.base import SOURCES
from dpbench.sources.cards import fetched, load

# Keys of the dataset's entry that are not parameters of a class.
OWN_KEYS = ("kind", "source", "generator", "files", "path", "missing", "sizes", "bound")
GENERATE, LEAVE_OUT = "generate", "leave_out"


def with_source(entry: DatasetEntry, origins: Origins) -> DatasetEntry:
    """The entry, read from files if a path is given: `path` implies files."""
    if entry.source != "generator" or not entry.path or _takes_path(entry):
        return entry
    key = f"dataset.{entry.name}"
    if not entry.files:
        raise UserError(
            f"{key}.path={entry.path} has no effect: {entry.name} is generated, and no files of it are read"
        )
    documents = origins.experiments
    stated = origins.given("dataset", entry.name, "source")
    stated |= any(document.has("dataset", entry.name, "source") for document in documents)
    if stated or not (
        origins.given("dataset", entry.name, "path")
        or any(document.has("dataset", entry.name, "path") for document in documents)
    ):
        place = origins.place("dataset", entry.name, "path")
        contradiction = f"{key}.source=generator and {key}.path={entry.path} contradict each other"
        raise placed(place, f"{contradiction}: leave out one of them")
    return dataclasses.replace(entry, source="files")


def where_missing(entry: DatasetEntry, origins: Origins) -> tuple[DatasetEntry, str]:
    """The entry, generated if its files are missing and it allows that; and the reason if it is left out.

    Files that are named but do not exist are always an error.
    """
    key = f"dataset.{entry.name}"
    if not entry.missing:
        return entry, ""
    one_of(f"{key}.missing", entry.missing, (GENERATE, LEAVE_OUT))
    if entry.missing == GENERATE and not entry.generator:
        raise placed(
            origins.place("dataset", entry.name, "missing"),
            f"{key}.missing={GENERATE} is not valid: {entry.name} has no generator: expected {LEAVE_OUT}",
        )
    if entry.source != "files":
        if word := origins.word("dataset", entry.name, "missing"):
            raise UserError(f"{key_of(word)} has no effect: {entry.name} is generated")
        return entry, ""
    if entry.path or fetched(entry.name):
        return entry, ""
    if entry.missing == GENERATE:
        return entry.generated(), ""
    get = f", or: python -m dpbench data get {entry.name}" if load(entry.name).files else ""
    return entry, f"its files are missing: give {key}.path=FOLDER{get}"


def _takes_path(entry: DatasetEntry) -> bool:
    """Whether the generator itself has a parameter `path`, as a user's own source may."""
    return bool(entry.generator) and "path" in (SOURCES.parameters(entry.generator) or ())


def check_dataset_words(entry: DatasetEntry, scale: str, origins: Origins) -> None:
    """Raise for an override of a dataset without effect, such as `sizes` of another scale, or sizes of files."""
    taken = SOURCES.parameters(source_class(entry))
    key = f"dataset.{entry.name}"
    for word in origins.words:
        parts = key_of(word).split(".")
        if parts[:2] != ["dataset", entry.name] or len(parts) < 3:
            continue
        name = parts[2]
        if name == "sizes":
            inside = parts[3] if len(parts) > 3 else ""
            if entry.source == "files":
                raise UserError(
                    f"{key_of(word)} has no effect: {entry.name} is read from files, which have their own sizes"
                )
            if inside and inside != scale:
                better = f"{key}.{'.'.join(parts[4:]) or 'PARAMETER'}=VALUE"
                raise UserError(f"{key_of(word)} has no effect at scale={scale}: give {better}, or scale={inside}")
        elif name not in OWN_KEYS and taken is not None and name not in taken:
            how = "read from files" if entry.source == "files" else "generated"
            valid = [parameter for parameter in taken if parameter not in OWN_KEYS]
            raise UserError(f"{key_of(word)} has no effect: {entry.name} is {how}: {nearest(name, valid)}")
