"""Whether a file that came is whole and what its name says; archives become their content."""

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
LOCK = ".lock"  # held in the folder while files come
KEPT_FREE = 1 << 30  # bytes of the disk that unpacking leaves free
# An XML declaration and comments may precede a page.
PAGE = re.compile(rb"(\xef\xbb\xbf|\s|<\?xml.*?\?>|<!--.*?-->)*<(!doctype\s+html|html|head|body)\b", re.I | re.S)
# All that the standard library's unpackers raise for content they cannot take.
UNREADABLE = (
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    OSError,
    RuntimeError,  # encrypted; NotImplementedError is one too: an unknown method
    ValueError,
    LookupError,
)


def check(path: Path, name: str, *, measured: bool, stated: int | None = None) -> None:
    """Raise Unfit unless the content is a whole file of the form that `name` says, and Refused when it is too much.

    `measured`: a length or a checksum vouches that all of it came. Else only a form that knows its own end is taken.
    `stated`: bytes that the card states.
    """
    with path.open("rb") as file:
        start = file.read(STEP)
    if not start:
        raise Unfit("it is empty")
    if PAGE.match(start) and not name.lower().endswith((".html", ".htm")):
        raise Unfit("it is a web page (HTML), as a portal or a login sends it")
    form = _form(path, name, start)
    try:
        budget = Budget(path.stat().st_size, stated)
        if form in ARCHIVES:
            _check_archive(path, form, budget)
        elif form == "gzip":
            with gzip.GzipFile(path) as content:
                _check_content(content, name.lower().removesuffix(".gz"), budget)
        elif not measured:
            raise Unfit("the server told no length and the card knows no checksum, so it may be half of it")
    except UNREADABLE as error:
        if _of_the_system(error):
            raise
        raise Unfit(f"as {form} it cannot be read to its end ({_words(error)})") from None


def unpack(path: Path, *, stated: int | None = None) -> None:
    """An archive becomes its content; a single gzip file stays as it is, because readers take it.

    Raises Unfit, and removes the archive, when it cannot be unpacked or becomes too much. Nothing is left of it then.
    """
    with path.open("rb") as file:
        form = _form(path, path.name, file.read(2))
    if form not in ARCHIVES:
        return
    aside = path.parent / asides.name(asides.TEMPORARY)
    try:
        aside.mkdir()
        _write(path, form, Budget(path.stat().st_size, stated), aside)
        path.unlink()  # first: one of its files may have its name
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
                    raise OSError(errno.ENOSPC, f"{shown(max(0, room))} may be used of the disk, it needs more")
                out.write(piece)


def _copied(target: Path, name: str, budget: Budget) -> Iterator[bytes]:
    """The content of the file that a link stands for: there are no links in what we unpack."""
    if not target.is_file():
        raise Refused(f"{name[:200]!r} in it is a link to something that is not in it")
    with target.open("rb") as file:
        yield from counted(file, budget)


def _move(aside: Path, folder: Path) -> None:
    """Move what was unpacked to where it belongs, beside what is there."""
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
    """The name decides before the content: half a zip archive is not recognised as one."""
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
        raise Unfit("its content is a web page (HTML), as a portal or a login sends it")
    for _ in pieces:
        pass


def _of_the_system(error: BaseException) -> bool:
    """Whether the system failed (it gives a number), not the content, in which a file may be a folder too."""
    contradicts = isinstance(error, IsADirectoryError | NotADirectoryError | FileExistsError)
    return isinstance(error, OSError) and error.errno is not None and not contradicts


def _words(error: BaseException) -> str:
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return " ".join(text.split()) or type(error).__name__
