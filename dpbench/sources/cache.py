"""Built datasets on disk: made once, verified, memory-mapped, shared by all workers.

One folder a dataset: an .npy file an array and `meta.json` with their checksums, written aside and renamed, so that a
folder that exists is whole. Imported by the engine and by the `data` verb.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import uuid
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dpbench import fingerprints
from dpbench.data.base import KINDS, Data, arrays_of, scalars_of
from dpbench.paths import cache
from dpbench.sources.base import SOURCES, SkippedLines, Source
from dpbench.sources.streams import data_stream

LAYOUT = 1  # version of the folder's layout


@dataclass(frozen=True)
class DatasetSpec:
    """A dataset before it is built: a source class, its parameters and the data seed. Small enough to send anywhere."""

    name: str
    source: str
    params: dict[str, Any] = field(default_factory=dict)
    seed: int = 0

    def make_source(self) -> Source:
        return SOURCES.make(self.source, **self.params)

    def describe(self) -> dict[str, Any]:
        """What decides the data, canonically. Neither the display name nor the place of files is part of it: the same
        files elsewhere are the same data, with the same noise, and other files have another fingerprint."""
        source = self.make_source()
        cls = fingerprints.class_path(type(source))
        params = {k: v for k, v in fingerprints.parameters(source).items() if k != "path"}
        return {"source": source.name or cls, "params": params, "seed": self.seed}

    def folder(self) -> Path:
        source = self.make_source()
        version = fingerprints.code_version(type(source))
        place = self.params.get("path")
        key = fingerprints.digest([self.describe(), place, source.stamp(), version, LAYOUT], size=8)
        return cache() / "data" / f"{self.name}-{key}"


class Built(NamedTuple):
    """What a cached folder holds."""

    data: Data
    fingerprint: str
    skipped: list[str]
    """Warnings of lines that were skipped when it was read from files."""


class Damaged(Exception):
    """A cached folder does not hold what its checksums say."""


def open_dataset(
    spec: DatasetSpec, *, verify: bool = True, tell: bool = True, say: Callable[[str], None] = lambda _: None
) -> tuple[Data, str]:
    """The dataset and its fingerprint, from the cache or built now. `verify` reads every byte against its checksum.

    `tell` warns of lines that were skipped when it was built, now or ever before: a worker leaves that to its parent.
    """
    folder = spec.folder()
    built = None
    if folder.is_dir():
        try:
            built = _load(folder, verify)
        except Damaged as problem:
            say(f"{spec.name}: cached data is damaged ({problem}); building it again")
            shutil.rmtree(folder, ignore_errors=True)
    if built is None:
        say(f"building {spec.name}")
        _save(*_build(spec), folder, spec.params.get("path"))
        built = _load(folder, verify=False)
    for skipped in built.skipped if tell else ():
        warnings.warn(skipped, SkippedLines, stacklevel=2)
    return built.data, built.fingerprint


def _build(spec: DatasetSpec) -> tuple[Data, list[str]]:
    """The dataset, made in memory, and what it warned of lines it skipped."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", SkippedLines)
        data = spec.make_source().build(data_stream(spec))
    for other in caught:
        if not issubclass(other.category, SkippedLines):
            warnings.warn_explicit(other.message, other.category, other.filename, other.lineno)
    return data, [str(w.message) for w in caught if issubclass(w.category, SkippedLines)]


def peek(spec: DatasetSpec) -> str | None:
    """The fingerprint of a dataset that is built already, without opening it; None when it is not."""
    try:
        return str(json.loads((spec.folder() / "meta.json").read_text())["fingerprint"])
    except (OSError, ValueError, KeyError):
        return None


def origins(name: str) -> set[Path | None]:
    """Where what is cached of a dataset came from: the files it was read from, as far as they are still there, and None
    for a generator."""
    found: set[Path | None] = set()
    for meta in (cache() / "data").glob(f"{name}-*/meta.json"):
        with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
            path = json.loads(meta.read_text())["path"]
            found |= {None} if path is None else {Path(path)} if Path(path).exists() else set()
    return found


def _file_digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()


def _save(data: Data, skipped: list[str], folder: Path, path: str | None = None) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    _sweep_leftovers(folder.parent)
    aside = folder.parent / f".tmp-{os.getpid()}-{uuid.uuid4().hex[:8]}"
    aside.mkdir()
    try:
        arrays = arrays_of(data) | {name: getattr(data, name) for name in data.derived}
        for name, array in arrays.items():
            np.save(aside / f"{name}.npy", array)
        checksums = {name: _file_digest(aside / f"{name}.npy") for name in sorted(arrays)}
        scalars = fingerprints.canonical(scalars_of(data))
        meta = {
            "kind": data.kind,
            "scalars": scalars,
            "arrays": checksums,
            "fingerprint": fingerprints.digest([data.kind, scalars, {n: checksums[n] for n in arrays_of(data)}]),
            "statistics": fingerprints.canonical(data.statistics()),
            "skipped": skipped,
            "path": path and os.path.abspath(os.path.expanduser(path)),
        }
        (aside / "meta.json").write_text(json.dumps(meta, indent=1))
        with contextlib.suppress(OSError):  # somebody else built the same in the meantime: theirs is as good
            os.rename(aside, folder)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _sweep_leftovers(parent: Path) -> None:
    """Remove what builds that were killed on this machine left aside."""
    for path in parent.glob(".tmp-*-*"):
        try:
            os.kill(int(path.name.split("-")[1]), 0)
        except ProcessLookupError:
            shutil.rmtree(path, ignore_errors=True)
        except (ValueError, PermissionError):
            pass


def _load(folder: Path, verify: bool) -> Built:
    try:
        meta = json.loads((folder / "meta.json").read_text())
        cls, derived = KINDS[meta["kind"]], set(KINDS[meta["kind"]].derived)
        arrays = {}
        for name, checksum in meta["arrays"].items():
            path = folder / f"{name}.npy"
            if verify and _file_digest(path) != checksum:
                raise Damaged(f"checksum of {path.name}")
            arrays[name] = np.load(path, mmap_mode="r", allow_pickle=False)
        scalars = {k: tuple(v) if isinstance(v, list) else v for k, v in meta["scalars"].items()}
        fingerprint, skipped = str(meta["fingerprint"]), [str(told) for told in meta.get("skipped", ())]
        data = cls(**{n: a for n, a in arrays.items() if n not in derived}, **scalars)
    except (OSError, ValueError, KeyError, TypeError, EOFError) as error:
        raise Damaged(f"{type(error).__name__}: {error}") from error
    for name in derived:
        data.__dict__[name] = arrays[name]  # takes the place of the cached property
    return Built(data, fingerprint, skipped)
