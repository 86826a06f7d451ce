"""Built datasets on disk: made once, verified, memory-mapped, shared by all workers.

A dataset is identified by its source, parameters, seed and code. It is built again when the content of a file that it was
made from has changed. Imported by the engine and by the `data` verb.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dpbench import fingerprints
from dpbench.codes import code_of
from dpbench.data.base import Data
from dpbench.data.shelf import FOLDER as SHELF
from dpbench.data.shelf import Shelf
from dpbench.paths import cache
from dpbench.sources import asides, inputs, stored
from dpbench.sources.base import SOURCES, SkippedLines, Source
from dpbench.sources.recording import also, recording
from dpbench.sources.spec import DatasetSpec
from dpbench.sources.stored import Damaged, Meta
from dpbench.sources.streams import data_stream

LAYOUT = 2  # version of the folder's layout
GIVEN = "given"  # the source of data objects passed by a program
STREAMS = "dpbench.sources.streams"  # its code is part of the identity of built data


@dataclass(frozen=True)
class Opened:
    """A dataset, ready to use."""

    data: Data
    fingerprint: str
    """Identifies the content; computed from the checksums of the files."""
    verified: bool
    """Whether this process has checked every byte against these checksums, which proves `fingerprint`."""
    statistics: dict[str, float]
    skipped: tuple[str, ...] = ()
    """Warnings about lines that were skipped when the files were read."""
    files: tuple[str, ...] = ()
    """Names of the files it was made from."""


class OtherData(Exception):
    """The data that is here, or that can be built here, is not the data that was asked for."""


def keep(data: Data, name: str = "") -> tuple[DatasetSpec, str]:
    """Store a data object of a program in the cache, under its content. Returns its spec for workers and its fingerprint.

    `name` is how it is shown (default: its kind and the beginning of its fingerprint).
    """
    aside = cache() / "data" / asides.name(asides.TEMPORARY)
    fingerprint = stored.save(data, aside).fingerprint
    spec = DatasetSpec(name or f"{data.kind}-{fingerprint[:6]}", GIVEN, {"content": fingerprint})
    place = folder(spec)
    with contextlib.suppress(OSError):  # the same content is already there
        os.rename(aside, place)
    shutil.rmtree(aside, ignore_errors=True)
    return spec, fingerprint


def make_source(spec: DatasetSpec) -> Source:
    return SOURCES.make(spec.source, **spec.params)


def describe(spec: DatasetSpec) -> dict[str, Any]:
    """What determines the data, in canonical form. The display name and the location of files are not part of it: the same
    files elsewhere are the same data, with the same noise, and different files have a different fingerprint."""
    source = make_source(spec)
    cls = fingerprints.class_path(type(source))
    params = {k: v for k, v in fingerprints.parameters(source).items() if k != "path"}
    return {"source": source.name or cls, "params": params, "seed": spec.seed}


def folder(spec: DatasetSpec) -> Path:
    """Where the built dataset is, or will be."""
    source = make_source(spec)
    version = code_of(type(source), STREAMS).digest
    key = fingerprints.digest([describe(spec), inputs.places_of(source), version, LAYOUT], size=8)
    return cache() / "data" / f"{spec.name}-{key}"


def open_dataset(
    spec: DatasetSpec,
    *,
    verify: bool = True,
    expected: str | None = None,
    tell: bool = True,
    say: Callable[[str], None] = lambda _: None,
) -> Opened:
    """The dataset, from the cache or built now.

    `verify` checks every byte against its checksum, once per process and file. `expected` is a fingerprint: cached data
    that has it is used even if the source's files changed since; other data raises OtherData. `tell` repeats the warnings
    about lines skipped when the data was built; a worker leaves that to its parent.
    """
    place = folder(spec)
    with _lock(place):
        opened = _cached(spec, place, verify, expected, say) if place.is_dir() else None
        if opened is None:
            opened = _built(spec, place, verify, say)
    if expected is not None and opened.fingerprint != expected:
        raise OtherData(f"{spec.name}: the data here has the fingerprint {opened.fingerprint}, expected {expected}")
    for skipped in opened.skipped if tell else ():
        warnings.warn(skipped, SkippedLines, stacklevel=2)
    return opened


_locks: dict[Path, threading.Lock] = {}


def _lock(place: Path) -> threading.Lock:
    """Lets the threads of a process build a dataset only once. Several processes may build it: the first result is kept."""
    return _locks.setdefault(place, threading.Lock())


def _cached(
    spec: DatasetSpec, place: Path, verify: bool, expected: str | None, say: Callable[[str], None]
) -> Opened | None:
    try:
        meta, data = stored.load(place, verify=verify)
    except Damaged as problem:
        aside = asides.set_aside(place)
        say(f"{spec.name}: cached data is damaged ({problem}){f', kept as {aside.name}' if aside else ''}")
        return None
    if meta.fingerprint != expected:
        change, files = inputs.compare(meta.files, inputs.declared_by(make_source(spec)))
        if change:
            say(f"building {spec.name} again: {change}")
            return None
        if files != meta.files:
            with contextlib.suppress(OSError):  # so that nothing has to be hashed next time
                stored.write_meta(place, replace(meta, files=files))
        also(one.path for one in files)
    return _opened(place, meta, data, verify)


def _built(spec: DatasetSpec, place: Path, verify: bool, say: Callable[[str], None]) -> Opened:
    if not place.is_dir():  # otherwise the user has been told that it is built again
        say(f"building {spec.name}")
    given = spec.params.get("path")
    path = os.path.abspath(os.path.expanduser(given)) if isinstance(given, str) and given else None
    data, facts = _build(spec)
    stored.save(data, place, path=path, **facts)
    return _opened(place, *stored.load(place, verify=verify), verify)


def _opened(place: Path, meta: Meta, data: Data, verified: bool) -> Opened:
    data.put_shelf(Shelf(place / SHELF, meta.fingerprint))
    files = tuple(dict.fromkeys(Path(one.path).name for one in meta.files))
    return Opened(data, meta.fingerprint, verified, meta.statistics, meta.skipped, files)


def _build(spec: DatasetSpec) -> tuple[Data, dict[str, Any]]:
    """The dataset in memory, and facts about it: warnings about skipped lines and the files it was made from."""
    with warnings.catch_warnings(record=True) as caught, recording() as recorder:
        warnings.simplefilter("always", SkippedLines)
        source = make_source(spec)
        declared = inputs.declared_by(source)
        data = source.build(data_stream(describe(spec)))
    for other in caught:
        if not issubclass(other.category, SkippedLines):
            warnings.warn_explicit(other.message, other.category, other.filename, other.lineno)
    skipped = tuple(str(w.message) for w in caught if issubclass(w.category, SkippedLines))
    return data, {"skipped": skipped, "files": inputs.collect(source, recorder, declared)}


def peek(spec: DatasetSpec) -> str | None:
    """The fingerprint of a dataset that is already built, without opening it; None if it must be built."""
    try:
        meta = stored.read_meta(folder(spec))
    except Damaged:
        return None
    change, _ = inputs.compare(meta.files, inputs.declared_by(make_source(spec)))
    return None if change else meta.fingerprint


def statistics(spec: DatasetSpec) -> dict[str, float]:
    """The statistics of a dataset that is already built; empty if it is not."""
    try:
        return stored.read_meta(folder(spec)).statistics
    except Damaged:
        return {}


def origins(name: str) -> set[Path | None]:
    """Where the cached data of a dataset came from: the files it was read from, if they still exist, and None
    for a generator."""
    found: set[Path | None] = set()
    for meta in (cache() / "data").glob(f"{name}-*/{stored.META}"):
        with contextlib.suppress(Damaged):
            path = stored.read_meta(meta.parent).path
            found |= {None} if path is None else {Path(path)} if Path(path).exists() else set()
    return found
