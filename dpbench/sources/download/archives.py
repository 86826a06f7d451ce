"""Archives, read member by member within limits. The bytes that are really unpacked count, not the declared sizes.

Zip, and tar with any compression. Names must stay inside the folder, links become copies, and devices are refused.
Imported by `integrity`, which checks and unpacks with the same code.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import posixpath
import re
import stat
import tarfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

STEP = 1 << 20
RATIO = 200  # an archive may unpack to this many times its own size
STATED = 50  # or to this many times the size stated on the card
SMALLEST = 16 << 20  # every archive may unpack to this size
MEMBERS = 100_000
HEADER = 1 << 24  # largest header of a tar archive, in bytes
STREAM = 1 << 28  # most bytes of a tar archive besides its content: headers and padding
COMPRESSIONS: dict[bytes, Any] = {b"\x1f\x8b": gzip.GzipFile, b"BZh": bz2.BZ2File, b"\xfd7zXZ\x00": lzma.LZMAFile}
"""How a tar archive is opened, by its first bytes."""


class Unfit(Exception):
    """The content is not the complete file. The message says what it is instead."""


class UnsafeArchive(Unfit):
    """The content is complete, but not something that we unpack."""


def shown(size: float) -> str:
    """A size with its unit."""
    for unit in ("bytes", "KB", "MB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} GB"


class UnpackLimit:
    """How much an archive may still unpack to; raises UnsafeArchive when it exceeds that."""

    def __init__(self, size: int, stated: int | None = None) -> None:
        """`size` is the archive's own size, `stated` the one on its card, both in bytes."""
        self.most, self.why = RATIO * size, f"{RATIO} times its own size"
        if stated is not None and STATED * stated < self.most:
            self.most, self.why = STATED * stated, f"{STATED} times the size that its card states"
        if self.most < SMALLEST:
            self.most, self.why = SMALLEST, "the limit for a file of its size"
        self.used = self.members = 0

    def spend(self, size: int) -> None:
        self.used += size
        if self.used > self.most:
            raise self.exceeded()

    def member(self) -> None:
        self.members += 1
        if self.members > MEMBERS:
            raise UnsafeArchive(f"it has more than {MEMBERS:,} members")

    def exceeded(self) -> UnsafeArchive:
        return UnsafeArchive(f"it unpacks to more than {shown(self.most)}, {self.why}")


@dataclass(frozen=True)
class Member:
    """One entry of an archive. `name` is relative, without `..`; `content` is read once, or not at all."""

    name: str
    content: Iterator[bytes] | None = None
    """None: a folder, or a link."""
    target: str | None = None
    """For a link: the name of the member it points to."""


def members(path: Path, form: str, budget: UnpackLimit) -> Iterator[Member]:
    """The members of a zip or tar archive, in order."""
    return _zip(path, budget) if form == "zip" else _tar(path, budget)


def counted(file: Any, budget: UnpackLimit, step: int = STEP) -> Iterator[bytes]:
    """The content of an open file, piece by piece, within the budget."""
    while piece := file.read(step):
        budget.spend(len(piece))
        yield piece


def _zip(path: Path, budget: UnpackLimit) -> Iterator[Member]:
    with zipfile.ZipFile(path) as archive:
        for entry in archive.infolist():
            budget.member()
            name = _safe(entry.filename)
            if entry.is_dir():
                yield Member(name)
                continue
            with archive.open(entry) as file:
                if stat.S_ISLNK(entry.external_attr >> 16):
                    target = file.read(4096).decode("utf-8", "replace")
                    yield Member(name, target=_inside(name, target, posixpath.dirname(name)))
                    continue
                step = STEP
                if entry.compress_type == zipfile.ZIP_BZIP2:  # it unpacks all that it reads: 40 bytes may be 40 MB
                    step = file.MIN_READ_SIZE = 64  # type: ignore[attr-defined]
                yield Member(name, counted(file, budget, step))


def _tar(path: Path, budget: UnpackLimit) -> Iterator[Member]:
    with _decompressed(path) as raw, tarfile.open(fileobj=_Bounded(raw, budget), mode="r:") as archive:  # type: ignore[call-overload]
        for entry in archive:
            budget.member()
            name = _safe(entry.name)
            if entry.isdir():
                yield Member(name)
            elif entry.issym():
                yield Member(name, target=_inside(name, entry.linkname, posixpath.dirname(name)))
            elif entry.islnk():
                yield Member(name, target=_inside(name, entry.linkname, ""))
            elif entry.isreg():
                content = archive.extractfile(entry)
                assert content is not None
                with content:
                    yield Member(name, counted(content, budget))
            else:
                raise UnsafeArchive(f"{entry.name!r} in it is a device or a pipe")
        # tarfile takes a damaged or missing header for the end; a complete archive has a block of zeros there.
        file = archive.fileobj
        assert file is not None
        file.seek(archive.offset)
        if file.read(tarfile.BLOCKSIZE) != bytes(tarfile.BLOCKSIZE):
            raise tarfile.ReadError("it has no end-of-archive marker")
        while file.read(STEP):  # compressed archives have their checksum at the very end
            pass


def _decompressed(path: Path) -> IO[bytes]:
    """The uncompressed bytes of a tar archive, whatever its compression."""
    with path.open("rb") as file:
        start = file.read(6)
    opener = next((opener for mark, opener in COMPRESSIONS.items() if start.startswith(mark)), None)
    return path.open("rb") if opener is None else opener(path)


class _Bounded:
    """Limits what tarfile reads: not endlessly, and no header so large that it must be a decompression bomb."""

    def __init__(self, file: IO[bytes], budget: UnpackLimit) -> None:
        self.file, self.budget, self.end = file, budget, budget.most + STREAM

    def read(self, size: int = -1) -> bytes:
        if size < 0 or size > HEADER:
            raise UnsafeArchive("it has a header that does not end")
        piece = self.file.read(size)
        self._reached(self.file.tell())
        return piece

    def seek(self, position: int) -> int:
        self._reached(position)  # a compressed file is unpacked up to that position
        return self.file.seek(position)

    def tell(self) -> int:
        return self.file.tell()

    def close(self) -> None:
        self.file.close()

    def _reached(self, position: int) -> None:
        if position > self.end:
            raise self.budget.exceeded()


def _safe(name: str) -> str:
    """A member's name without empty parts; raises when it leads out of the folder, on any system."""
    parts = name.split("/")
    if name.startswith(("/", "\\")) or re.match(r"[A-Za-z]:", name) or ".." in re.split(r"[/\\]", name) or "\0" in name:
        raise UnsafeArchive(f"{name[:200]!r} in it is outside of its folder")
    return "/".join(part for part in parts if part not in ("", "."))


def _inside(name: str, target: str, folder: str) -> str:
    """The member that a link points to; raises if it points outside the archive."""
    path = posixpath.normpath(posixpath.join(folder, target))
    if target.startswith(("/", "\\")) or path.split("/")[0] == ".." or not target:
        raise UnsafeArchive(f"{name[:200]!r} in it is a link out of its folder")
    return path
