"""Check that a downloaded file is complete and in the format of its name, and unpack archives."""

from __future__ import annotations

import errno
import gzip
import lzma
import os
import re
import shutil
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from dpbench.sources.download.archives import STEP, Unfit, UnpackLimit, UnsafeArchive, counted, members, shown
from dpbench.storage.files import temporary

TARS = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")
ARCHIVES = ("zip", "tar")
LOCK = ".lock"  # held in the folder during a download
KEPT_FREE = 1 << 30  # bytes of disk space that unpacking leaves free
# A web page may begin with an XML declaration and comments.
PAGE = re.compile(rb"(\xef\xbb\xbf|\s|<\?xml.*?\?>|<!--.*?-->)*<(!doctype\s+html|html|head|body)\b", re.I | re.S)
# Everything that the standard library raises for archives it cannot unpack. RuntimeError: encrypted, or an unknown method.
UNREADABLE: tuple[type[Exception], ...] = (zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError)
UNREADABLE += (struct.error, EOFError, OSError, RuntimeError, ValueError, LookupError)


def check(path: Path, name: str, *, measured: bool, stated: int | None = None) -> None:
    """Raise Unfit unless the content is a complete file in the format of `name`, and UnsafeArchive if it is too large.

    `measured`: a length or a checksum confirms that all of it arrived. Otherwise only formats that mark their own end are
    accepted. `stated`: size stated on the card, in bytes.
    """
    with path.open("rb") as file:
        start = file.read(STEP)
    _check_start(start, name, "it")
    form = _form(path, name, start)
    try:
        budget = UnpackLimit(path.stat().st_size, stated)
        # Everything is read to its end, where its checksum is compared.
        if form in ARCHIVES:
            contents = [sum(map(len, member.content)) for member in members(path, form, budget) if member.content]
            if not contents:
                raise Unfit("the archive is empty")
        elif form == "gzip":
            with gzip.GzipFile(path) as content:
                pieces = counted(content, budget)
                _check_start(next(pieces, b""), name.lower().removesuffix(".gz"), "its content")
                sum(map(len, pieces))
        elif not measured:
            raise Unfit("the server gave no length and the card has no checksum, so it may be incomplete")
    except UNREADABLE as error:
        if _of_the_system(error):
            raise
        raise Unfit(f"as {form} it cannot be read to its end ({_words(error)})") from None


def unpack(path: Path, *, stated: int | None = None) -> None:
    """Replace an archive by its content. A single gzip file stays as it is, because readers open it directly.

    If it cannot be unpacked or becomes too large, the archive and all it unpacked to are removed, and Unfit is raised.
    """
    with path.open("rb") as file:
        form = _form(path, path.name, file.read(2))
    if form not in ARCHIVES:
        return
    aside = temporary(path.parent)
    try:
        aside.mkdir()
        _write(path, form, UnpackLimit(path.stat().st_size, stated), aside)
        path.unlink()  # first, because one of its files may have the same name
        _move(aside, path.parent)
    except Unfit:
        path.unlink(missing_ok=True)
        raise
    except UNREADABLE as error:
        if _of_the_system(error):  # a full disk is not the archive's fault
            raise
        path.unlink(missing_ok=True)
        raise Unfit(f"it cannot be unpacked ({_words(error)})") from None
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _write(path: Path, form: str, budget: UnpackLimit, folder: Path) -> None:
    """Write all members into an empty folder."""
    room = shutil.disk_usage(folder).free - KEPT_FREE
    for member in members(path, form, budget):
        destination = folder / member.name
        if member.target is not None:
            content = _copied(folder / member.target, member.name, budget)
        elif member.content is not None:
            content = member.content
        else:
            destination.mkdir(parents=True, exist_ok=True)
            continue
        destination.parent.mkdir(parents=True, exist_ok=True)
        with destination.open("wb") as out:
            for piece in content:
                if budget.used > room:
                    raise OSError(errno.ENOSPC, f"{shown(max(0, room))} of disk space may be used, it needs more")
                out.write(piece)


def _copied(target: Path, name: str, budget: UnpackLimit) -> Iterator[bytes]:
    """The content of the file that a link points to: links are unpacked as copies."""
    if not target.is_file():
        raise UnsafeArchive(f"{name[:200]!r} in it is a link to a file that is not in it")
    with target.open("rb") as file:
        yield from counted(file, budget)


def _move(aside: Path, folder: Path) -> None:
    """Move the unpacked files into the folder, beside the existing ones."""
    for path in sorted(aside.rglob("*")):
        destination = folder / path.relative_to(aside)
        if path.is_dir():
            destination.mkdir(exist_ok=True)
        elif destination != folder / LOCK:
            os.replace(path, destination)


def _check_start(start: bytes, name: str, what: str) -> None:
    if not start:
        raise Unfit(f"{what} is empty")
    if PAGE.match(start) and not name.lower().endswith((".html", ".htm")):
        raise Unfit(f"{what} is a web page (HTML), perhaps of a portal or a login")


def _form(path: Path, name: str, start: bytes) -> str:
    """The format of a file. The name decides before the content: half a zip archive is not recognised by its content."""
    low = name.lower()
    if low.endswith(TARS):
        return "tar"
    if low.endswith(".gz") or start.startswith(b"\x1f\x8b"):
        return "gzip"
    return "zip" if low.endswith(".zip") or zipfile.is_zipfile(path) else ""


def _of_the_system(error: BaseException) -> bool:
    """Whether the system failed (the error has a number), not the content, where a file may also be listed as a folder."""
    contradicts = isinstance(error, IsADirectoryError | NotADirectoryError | FileExistsError)
    return isinstance(error, OSError) and error.errno is not None and not contradicts


def _words(error: BaseException) -> str:
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return " ".join(text.split()) or type(error).__name__
