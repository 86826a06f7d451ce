"""One dataset as a folder: one .npy file per array and a sealed `meta.json` with the checksum of each.

Written to a temporary folder and renamed, so a folder that exists is complete. Imported by the cache only.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dpbench import fingerprints
from dpbench.data.base import KINDS, Data, arrays_of, fields_of, scalars_of
from dpbench.seals import Broken, file_digest, seal, unseal
from dpbench.sources import asides
from dpbench.sources.inputs import Input

META = "meta.json"


class Damaged(Exception):
    """A folder does not hold what was stored. The message says what is wrong."""


@dataclass(frozen=True)
class StoredArray:
    """One .npy file: the checksum of all its bytes, header included, and the content of its header."""

    checksum: str
    dtype: str
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Meta:
    """What `meta.json` holds."""

    kind: str
    scalars: dict[str, Any]
    arrays: dict[str, StoredArray]
    statistics: dict[str, float]
    skipped: tuple[str, ...] = ()
    """Warnings about lines that were skipped when the files were read."""
    path: str | None = None
    """The file or folder that a reader was given."""
    files: tuple[Input, ...] = ()
    """The files it was made from."""

    @property
    def fingerprint(self) -> str:
        """Identifies the data: its kind, sizes and the arrays that are not derived from others. It is never read from the
        file but computed from the checksums, so verifying these verifies it too."""
        derived = KINDS[self.kind].derived
        checksums = {name: array.checksum for name, array in self.arrays.items() if name not in derived}
        return fingerprints.digest([self.kind, self.scalars, checksums])

    def text(self) -> str:
        body = dataclasses.asdict(self)
        return seal({**body, "fingerprint": self.fingerprint})


def read_meta(folder: Path) -> Meta:
    """The description of a stored dataset. Raises Damaged."""
    try:
        body = unseal((folder / META).read_bytes())
        told = body.pop("fingerprint")
        body["arrays"] = {name: StoredArray(**array) for name, array in body["arrays"].items()}
        body["files"] = tuple(Input(**one) for one in body["files"])
        meta = Meta(**{**body, "skipped": tuple(body["skipped"])})
        if told != meta.fingerprint:
            raise Damaged(f"{META}: its fingerprint does not match its checksums")
    except Broken as problem:
        raise Damaged(f"{META}: {problem}") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise Damaged(f"{META}: {type(error).__name__}: {error}") from None
    return meta


def write_meta(folder: Path, meta: Meta) -> None:
    """Replace the description of a stored dataset."""
    aside = folder / asides.name(asides.TEMPORARY)
    aside.write_text(meta.text())
    os.replace(aside, folder / META)


def save(data: Data, folder: Path, **facts: Any) -> Meta:
    """Store a dataset, replacing what is there. `facts` are further fields of Meta."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    asides.sweep(folder.parent)
    aside = folder.parent / asides.name(asides.TEMPORARY)
    aside.mkdir()
    try:
        arrays = arrays_of(data) | {name: getattr(data, name) for name in data.derived}
        for name, array in arrays.items():
            np.save(aside / f"{name}.npy", array)
        stored, seen = {}, {}
        for name in sorted(arrays):
            path, array = aside / f"{name}.npy", arrays[name]
            stored[name] = StoredArray(file_digest(path), array.dtype.str, tuple(array.shape))
            seen[name] = _seen(path, stored[name])
        scalars, statistics = (fingerprints.canonical(values) for values in (scalars_of(data), data.statistics()))
        meta = Meta(data.kind, scalars, stored, statistics, **facts)
        (aside / META).write_text(meta.text())
        old = asides.set_aside(folder, asides.OLD) if folder.is_dir() else None
        with contextlib.suppress(OSError):  # another process stored the same data in the meantime
            os.rename(aside, folder)
            _verified[folder] = seen
        if old is not None:
            shutil.rmtree(old, ignore_errors=True)
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return meta


def load(folder: Path, *, verify: bool) -> tuple[Meta, Data]:
    """A stored dataset, memory-mapped. `verify` compares every byte with its checksum, once per process.

    Raises Damaged.
    """
    try:
        place = folder.stat().st_ino
        meta = read_meta(folder)
        cls = KINDS[meta.kind]
        if verify:
            _verify(folder, meta)
        arrays = {}
        for name, stored in meta.arrays.items():
            array = np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False)
            if (array.dtype.str, array.shape) != (stored.dtype, tuple(stored.shape)):
                raise Damaged(f"{name}.npy holds {array.dtype.str} {array.shape}, not {stored.dtype} {stored.shape}")
            arrays[name] = array
        scalars = {k: tuple(v) if isinstance(v, list) else v for k, v in meta.scalars.items()}
        data = cls(**fields_of({n: a for n, a in arrays.items() if n not in cls.derived}), **scalars)
        if folder.stat().st_ino != place:
            raise Damaged("it was replaced while it was opened")
    except (OSError, ValueError, KeyError, TypeError, EOFError) as error:
        raise Damaged(f"{type(error).__name__}: {error}") from error
    for name in cls.derived:
        data.__dict__[name] = arrays[name]  # replaces the cached property
    return meta, data


Seen = tuple[str, int, int, int, int]
_verified: dict[Path, dict[str, Seen]] = {}


def _verify(folder: Path, meta: Meta) -> None:
    """Hash the files that this process has not hashed yet or that were modified since."""
    known = _verified.setdefault(folder, {})
    for name, stored in meta.arrays.items():
        path = folder / f"{name}.npy"
        seen = _seen(path, stored)
        if known.get(name) == seen:
            continue
        if file_digest(path) != stored.checksum:
            raise Damaged(f"checksum of {path.name}")
        known[name] = seen


def _seen(path: Path, stored: StoredArray) -> Seen:
    found = path.stat()
    return stored.checksum, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
