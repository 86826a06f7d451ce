"""One dataset as a folder: one .npy file per array and a sealed `meta.json` with the checksum of each.

Written to a temporary folder and renamed, so a folder that exists is complete. Imported by the cache only.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from dpbench import identity
from dpbench.data.base import KINDS, Data, arrays_of, fields_of, scalars_of
from dpbench.sources.inputs import Input
from dpbench.storage.files import OLD, file_digest, set_folder_aside, sweep_folder, temporary, write_atomic
from dpbench.storage.seals import Broken, seal, unseal

META = "meta.json"


class DamagedFolder(Exception):
    """A folder does not hold what was stored. The message says what is wrong."""


class ReplacedFolder(DamagedFolder):
    """Another process moved or replaced the folder while it was opened. Opening it again may succeed."""


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
        return identity.digest([self.kind, self.scalars, checksums])

    def text(self) -> str:
        body = dataclasses.asdict(self)
        return seal({**body, "fingerprint": self.fingerprint})


def read_meta(folder: Path) -> Meta:
    """The description of a stored dataset. Raises DamagedFolder."""
    try:
        body = unseal((folder / META).read_bytes())
        stated = body.pop("fingerprint")
        body["arrays"] = {name: StoredArray(**array) for name, array in body["arrays"].items()}
        body["files"] = tuple(Input(**file) for file in body["files"])
        meta = Meta(**{**body, "skipped": tuple(body["skipped"])})
        if stated != meta.fingerprint:
            raise DamagedFolder(f"{META}: its fingerprint does not match its checksums")
    except Broken as problem:
        raise DamagedFolder(f"{META}: {problem}") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DamagedFolder(f"{META}: {type(error).__name__}: {error}") from None
    return meta


def write_meta(folder: Path, meta: Meta) -> None:
    """Replace the description of a stored dataset."""
    write_atomic(folder / META, meta.text().encode())


def save(data: Data, folder: Path, **facts: Any) -> Meta:
    """Store a dataset. `facts` are further fields of Meta.

    Other processes may build the same dataset at the same time and open it at once. The first complete folder stays: if it
    holds the same arrays, at most its `meta.json` is updated. A folder with other content is replaced.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    sweep_folder(folder.parent)
    aside = temporary(folder.parent)
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
        scalars, statistics = (identity.canonical(values) for values in (scalars_of(data), data.statistics()))
        meta = Meta(data.kind, scalars, stored, statistics, **facts)
        (aside / META).write_text(meta.text())
        if not _agrees(folder, meta):
            old = set_folder_aside(folder, OLD)
            with contextlib.suppress(OSError):  # another process stored its folder in the meantime
                os.rename(aside, folder)
                _verified[folder] = seen
            if old is not None:
                shutil.rmtree(old, ignore_errors=True)
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return meta


def _agrees(folder: Path, meta: Meta) -> bool:
    """Whether a folder already holds these arrays. Its description then becomes `meta`."""
    try:
        present = read_meta(folder)
        if replace(present, skipped=meta.skipped, path=meta.path, files=meta.files) != meta:
            return False
        if present != meta:
            write_meta(folder, meta)
    except (DamagedFolder, OSError):
        return False
    return True


def load(folder: Path, *, verify: bool) -> tuple[Meta, Data]:
    """A stored dataset, memory-mapped. `verify` compares every byte with its checksum, once per process.

    Raises DamagedFolder, or ReplacedFolder if what was read belongs to two different folders.
    """
    try:
        opened = folder.stat().st_ino
    except OSError as error:
        raise ReplacedFolder(f"{type(error).__name__}: {error}") from None
    try:
        loaded = _load(folder, verify)
    except DamagedFolder as problem:
        if _inode(folder) != opened:
            raise ReplacedFolder(str(problem)) from None
        raise
    if _inode(folder) != opened:
        raise ReplacedFolder("it was replaced while it was opened")
    return loaded


def _inode(folder: Path) -> int | None:
    try:
        return folder.stat().st_ino
    except OSError:
        return None


def _load(folder: Path, verify: bool) -> tuple[Meta, Data]:
    try:
        meta = read_meta(folder)
        cls = KINDS[meta.kind]
        if verify:
            _verify(folder, meta)
        arrays = {}
        for name, stored in meta.arrays.items():
            array = np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False)
            if (array.dtype.str, array.shape) != (stored.dtype, tuple(stored.shape)):
                raise DamagedFolder(
                    f"{name}.npy holds {array.dtype.str} {array.shape}, not {stored.dtype} {stored.shape}"
                )
            arrays[name] = array
        scalars = {k: tuple(v) if isinstance(v, list) else v for k, v in meta.scalars.items()}
        data = cls(**fields_of({n: a for n, a in arrays.items() if n not in cls.derived}), **scalars)
    except (OSError, ValueError, KeyError, TypeError, EOFError) as error:
        raise DamagedFolder(f"{type(error).__name__}: {error}") from error
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
            raise DamagedFolder(f"checksum of {path.name}")
        known[name] = seen


def unchanged(folder: Path) -> bool:
    """Whether the files that this process has verified are still the same, by size and times. A map of one that was overwritten
    in place holds other data."""
    try:
        status = {name: (folder / f"{name}.npy").stat() for name in _verified.get(folder, {})}
    except OSError:  # replaced or set aside: a map of the old files still holds their content
        return True
    return all(
        found.st_ino != seen[1] or (found.st_size, found.st_mtime_ns, found.st_ctime_ns) == seen[2:]
        for found, seen in ((status[name], _verified[folder][name]) for name in status)
    )


def _seen(path: Path, stored: StoredArray) -> Seen:
    status = path.stat()
    return stored.checksum, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
