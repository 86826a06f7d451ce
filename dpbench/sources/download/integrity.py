"""Check that a downloaded file is complete and in the format of its name, and unpack archives."""

from __future__ import annotations

import errno
import gzip
import hashlib
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

from dpbench.sources import asides
from dpbench.sources.download.archives import STEP, Budget, Refused, Unfit, counted, members, shown

TARS = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")
ARCHIVES = ("zip", "tar")
LOCK = ".lock"  # held in the folder during a download
KEPT_FREE = 1 << 30  # bytes of disk space that unpacking leaves free
# A web page may begin with an XML declaration and comments.
PAGE = re.compile(rb"(\xef\xbb\xbf|\s|<\?xml.*?\?>|<!--.*?-->)*<(!doctype\s+html|html|head|body)\b", re.I | re.S)
# Everything that the standard library raises for archives it cannot unpack.
UNREADABLE = (
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    OSError,
    RuntimeError,  # encrypted; includes NotImplementedError: an unknown method
    ValueError,
    LookupError,
)


def check(path: Path, name: str, *, measured: bool, stated: int | None = None) -> None:
    """Raise Unfit unless the content is a complete file in the format of `name`, and Refused if it is too large.

    `measured`: a length or a checksum confirms that all of it arrived. Otherwise only formats that mark their own end are
    accepted. `stated`: size stated on the card, in bytes.
    """
    with path.open("rb") as file:
        start = file.read(STEP)
    if not start:
        raise Unfit("it is empty")
    if PAGE.match(start) and not name.lower().endswith((".html", ".htm")):
        raise Unfit("it is a web page (HTML), perhaps of a portal or a login")
    form = _form(path, name, start)
    try:
        budget = Budget(path.stat().st_size, stated)
        if form in ARCHIVES:
            _check_archive(path, form, budget)
        elif form == "gzip":
            with gzip.GzipFile(path) as content:
                _check_content(content, name.lower().removesuffix(".gz"), budget)
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
    aside = path.parent / asides.name(asides.TEMPORARY)
    try:
        aside.mkdir()
        _write(path, form, Budget(path.stat().st_size, stated), aside)
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


def _write(path: Path, form: str, budget: Budget, folder: Path) -> None:
    """Write all members into an empty folder."""
    room = shutil.disk_usage(folder).free - KEPT_FREE
    for member in members(path, form, budget):
        place = folder / member.name
        if member.target is not None:
            content = _copied(folder / member.target, member.name, budget)
        elif member.content is not None:
            content = member.content
        else:
            place.mkdir(parents=True, exist_ok=True)
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        with place.open("wb") as out:
            for piece in content:
                if budget.used > room:
                    raise OSError(errno.ENOSPC, f"{shown(max(0, room))} of disk space may be used, it needs more")
                out.write(piece)


def _copied(target: Path, name: str, budget: Budget) -> Iterator[bytes]:
    """The content of the file that a link points to: links are unpacked as copies."""
    if not target.is_file():
        raise Refused(f"{name[:200]!r} in it is a link to a file that is not in it")
    with target.open("rb") as file:
        yield from counted(file, budget)


def _move(aside: Path, folder: Path) -> None:
    """Move the unpacked files into the folder, beside the existing ones."""
    for path in sorted(aside.rglob("*")):
        place = folder / path.relative_to(aside)
        if path.is_dir():
            place.mkdir(exist_ok=True)
        elif place != folder / LOCK:
            os.replace(path, place)


def sha256(path: Path) -> str:
    """The SHA-256 of a file in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _form(path: Path, name: str, start: bytes) -> str:
    """The format of a file. The name decides before the content: half a zip archive is not recognised by its content."""
    low = name.lower()
    if low.endswith(TARS):
        return "tar"
    if low.endswith(".gz") or start.startswith(b"\x1f\x8b"):
        return "gzip"
    return "zip" if low.endswith(".zip") or zipfile.is_zipfile(path) else ""


def _check_archive(path: Path, form: str, budget: Budget) -> None:
    """Read every member to its end, where its checksum is compared."""
    filled = False
    for member in members(path, form, budget):
        for _ in member.content or ():
            pass
        filled |= member.content is not None
    if not filled:
        raise Unfit("the archive is empty")


def _check_content(file: gzip.GzipFile, name: str, budget: Budget) -> None:
    """Read gzip's content to its end, where its checksum is compared."""
    pieces = counted(file, budget)
    start = next(pieces, b"")
    if not start:
        raise Unfit("its content is empty")
    if PAGE.match(start) and not name.endswith((".html", ".htm")):
        raise Unfit("its content is a web page (HTML), perhaps of a portal or a login")
    for _ in pieces:
        pass


def _of_the_system(error: BaseException) -> bool:
    """Whether the system failed (the error has a number), not the content, where a file may also be listed as a folder."""
    contradicts = isinstance(error, IsADirectoryError | NotADirectoryError | FileExistsError)
    return isinstance(error, OSError) and error.errno is not None and not contradicts


def _words(error: BaseException) -> str:
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return " ".join(text.split()) or type(error).__name__
