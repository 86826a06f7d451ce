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

from dpbench import identity
from dpbench.code_reader import BUILDING
from dpbench.data.base import Data
from dpbench.identity import code_of
from dpbench.model.setting import Dataset
from dpbench.paths import cache
from dpbench.sources import facts, inputs, stored
from dpbench.sources.base import SOURCES, SkippedLines, Source
from dpbench.sources.facts import StoredFacts
from dpbench.sources.recording import also, recording
from dpbench.sources.stored import DamagedFolder, Meta, ReplacedFolder
from dpbench.sources.streams import data_stream
from dpbench.storage.files import set_folder_aside, temporary

LAYOUT = 2  # version of the folder's layout
ATTEMPTS = 10  # to open a dataset that other processes keep replacing
GIVEN = "given"  # the source of data objects passed by a program


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
    folder: Path = Path()

    def unchanged(self) -> bool:
        """Whether its files were not overwritten since they were verified. Cheap: asked for every chunk."""
        return stored.unchanged(self.folder)


class OtherData(Exception):
    """The data that is here, or that can be built here, is not the data that was asked for."""


def keep(data: Data, name: str = "") -> Dataset:
    """Store a data object of a program in the cache, under its content.

    `name` is how it is shown (default: its kind and the beginning of its fingerprint).
    """
    aside = temporary(cache() / "data")
    fingerprint = stored.save(data, aside).fingerprint
    name = name or f"{data.kind}-{fingerprint[:6]}"
    dataset = Dataset(name, GIVEN, {"content": fingerprint}, kind=data.kind, fingerprint=fingerprint)
    path = folder(dataset)
    with contextlib.suppress(OSError):  # the same content is already there
        os.rename(aside, path)
    shutil.rmtree(aside, ignore_errors=True)
    return dataset


def make_source(dataset: Dataset) -> Source:
    return SOURCES.make(dataset.source, **dataset.params)


def describe(dataset: Dataset) -> dict[str, Any]:
    """What determines the data, in canonical form. The display name and the location of files are not part of it: the same
    files elsewhere are the same data, with the same noise, and different files have a different fingerprint."""
    source = make_source(dataset)
    cls = identity.class_path(type(source))
    params = {k: v for k, v in identity.parameters(source).items() if k != "path"}
    return {"source": source.name or cls, "params": params, "seed": dataset.seed}


def folder(dataset: Dataset) -> Path:
    """Where the built dataset is, or will be."""
    source = make_source(dataset)
    version = code_of(type(source), files=BUILDING).digest
    key = identity.digest([describe(dataset), inputs.places_of(source), version, LAYOUT], size=8)
    return cache() / "data" / f"{dataset.name}-{key}"


def open_dataset(
    dataset: Dataset,
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
    path = folder(dataset)
    with _lock(path):
        opened = _cached_or_built(dataset, path, verify, expected, say)
    if expected is not None and opened.fingerprint != expected:
        raise OtherData(f"{dataset.name}: the data here has the fingerprint {opened.fingerprint}, expected {expected}")
    for skipped in opened.skipped if tell else ():
        warnings.warn(skipped, SkippedLines, stacklevel=2)
    return opened


_locks: dict[Path, threading.Lock] = {}


def _lock(path: Path) -> threading.Lock:
    """Lets the threads of a process build a dataset only once. Several processes may build it: the first result is kept."""
    return _locks.setdefault(path, threading.Lock())


def _cached_or_built(
    dataset: Dataset, path: Path, verify: bool, expected: str | None, say: Callable[[str], None]
) -> Opened:
    """Other processes may store, replace or set aside the same folder at any moment: then start again."""
    attempts = ATTEMPTS
    while True:
        attempts -= 1
        try:
            opened = _cached(dataset, path, verify, expected, say) if path.is_dir() else None
            return _built(dataset, path, verify, say) if opened is None else opened
        except DamagedFolder:
            if not attempts:
                raise


def _cached(
    dataset: Dataset, path: Path, verify: bool, expected: str | None, say: Callable[[str], None]
) -> Opened | None:
    try:
        meta, data = stored.load(path, verify=verify)
    except ReplacedFolder:
        raise
    except DamagedFolder as problem:
        aside = set_folder_aside(path)
        say(f"{dataset.name}: cached data is damaged ({problem}){f', kept as {aside.name}' if aside else ''}")
        return None
    if meta.fingerprint != expected:
        change, files = inputs.compare(meta.files, inputs.declared_by(make_source(dataset)))
        if change:
            say(f"building {dataset.name} again: {change}")
            return None
        if files != meta.files:
            with contextlib.suppress(OSError):  # so that nothing has to be hashed next time
                stored.write_meta(path, replace(meta, files=files))
        also(file.path for file in files)
    return _opened(path, meta, data, verify)


def _built(dataset: Dataset, path: Path, verify: bool, say: Callable[[str], None]) -> Opened:
    if not path.is_dir():  # otherwise the user has been told that it is built again
        say(f"building {dataset.name}")
    given = dataset.params.get("path")
    given_path = os.path.abspath(os.path.expanduser(given)) if isinstance(given, str) and given else None
    data, more = _build(dataset)
    saved = stored.save(data, path, path=given_path, **more)
    meta, data = stored.load(path, verify=verify)
    if meta.fingerprint != saved.fingerprint:
        raise ReplacedFolder("another process stored other data")
    return _opened(path, meta, data, verify)


def _opened(path: Path, meta: Meta, data: Data, verified: bool) -> Opened:
    data.store_facts(StoredFacts(path / facts.FOLDER, meta.fingerprint))
    files = tuple(dict.fromkeys(Path(file.path).name for file in meta.files))
    return Opened(data, meta.fingerprint, verified, meta.statistics, meta.skipped, files, path)


def _build(dataset: Dataset) -> tuple[Data, dict[str, Any]]:
    """The dataset in memory, and facts about it: warnings about skipped lines and the files it was made from."""
    with warnings.catch_warnings(record=True) as caught, recording() as recorder:
        warnings.simplefilter("always", SkippedLines)
        source = make_source(dataset)
        declared = inputs.declared_by(source)
        data = source.build(data_stream(describe(dataset)))
    for other in caught:
        if not issubclass(other.category, SkippedLines):
            warnings.warn_explicit(other.message, other.category, other.filename, other.lineno)
    skipped = tuple(str(w.message) for w in caught if issubclass(w.category, SkippedLines))
    return data, {"skipped": skipped, "files": inputs.collect(source, recorder, declared)}


def peek(dataset: Dataset) -> str | None:
    """The fingerprint of a dataset that is already built, without opening it; None if it must be built."""
    try:
        meta = stored.read_meta(folder(dataset))
    except DamagedFolder:
        return None
    change, _ = inputs.compare(meta.files, inputs.declared_by(make_source(dataset)))
    return None if change else meta.fingerprint


def statistics(dataset: Dataset) -> dict[str, float]:
    """The statistics of a dataset that is already built; empty if it is not."""
    try:
        return stored.read_meta(folder(dataset)).statistics
    except DamagedFolder:
        return {}


def origins(name: str) -> set[Path | None]:
    """Where the cached data of a dataset came from: the files it was read from, if they still exist, and None
    for a generator."""
    paths: set[Path | None] = set()
    for meta in (cache() / "data").glob(f"{name}-*/{stored.META}"):
        with contextlib.suppress(DamagedFolder):
            path = stored.read_meta(meta.parent).path
            paths |= {None} if path is None else {Path(path)} if Path(path).exists() else set()
    return paths
