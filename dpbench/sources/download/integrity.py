"""Whether a file that came is whole and what its name says; archives become their content."""

from __future__ import annotations

import gzip
import hashlib
import lzma
import re
import struct
import tarfile
import zipfile
import zlib
from pathlib import Path

TARS = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")
STEP = 1 << 20
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


class Unfit(Exception):
    """The content is not the whole file; the message says what it is instead."""


def check(path: Path, name: str, *, measured: bool) -> None:
    """Raise Unfit unless the content is a whole file of the form that `name` says.

    `measured`: a length or a checksum vouches that all of it came. Else only a form that knows its own end is taken.
    """
    with path.open("rb") as file:
        start = file.read(STEP)
    if not start:
        raise Unfit("it is empty")
    if PAGE.match(start) and not name.lower().endswith((".html", ".htm")):
        raise Unfit("it is a web page (HTML), as a portal or a login sends it")
    form = _form(path, name, start)
    try:
        if form == "zip":
            _check_zip(path)
        elif form == "tar":
            _check_tar(path)
        elif form == "gzip":
            with gzip.GzipFile(path) as content:
                _check_content(content, name.lower().removesuffix(".gz"))
        elif not measured:
            raise Unfit("the server told no length and the card knows no checksum, so it may be half of it")
    except UNREADABLE as error:
        if _of_the_system(error):
            raise
        raise Unfit(f"as {form} it cannot be read to its end ({_words(error)})") from None


def unpack(path: Path) -> None:
    """An archive becomes its content; a single gzip file stays as it is, because readers take it.

    Raises Unfit, and removes the archive, when it cannot be unpacked.
    """
    with path.open("rb") as file:
        form = _form(path, path.name, file.read(2))
    try:
        if form == "zip":
            with zipfile.ZipFile(path) as archive:
                archive.extractall(path.parent)
        elif form == "tar":
            with tarfile.open(path) as archive:
                archive.extractall(path.parent, filter="data")
        else:
            return
    except UNREADABLE as error:
        if _of_the_system(error):  # a full disk is not the archive's fault
            raise
        path.unlink(missing_ok=True)
        raise Unfit(f"it cannot be unpacked ({_words(error)})") from None
    path.unlink()


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


def _check_zip(path: Path) -> None:
    with zipfile.ZipFile(path) as archive:
        if not any(not entry.is_dir() for entry in archive.infolist()):
            raise Unfit("the archive is empty")
        if bad := archive.testzip():
            raise zipfile.BadZipFile(f"bad checksum of {bad}")


def _check_tar(path: Path) -> None:
    with tarfile.open(path) as archive:
        if not any(entry.isfile() for entry in archive.getmembers()):
            raise Unfit("the archive is empty")
        # tarfile takes a damaged or missing header for the end; a whole archive has a block of zeros there.
        assert archive.fileobj is not None
        archive.fileobj.seek(archive.offset)
        if archive.fileobj.read(tarfile.BLOCKSIZE) != bytes(tarfile.BLOCKSIZE):
            raise tarfile.ReadError("it does not end as an archive does")
        while archive.fileobj.read(STEP):  # compressed ones have their checksum at the very end
            pass


def _check_content(file: gzip.GzipFile, name: str) -> None:
    """Read gzip's content to its end, where its checksum is compared."""
    start = file.read(STEP)
    if not start:
        raise Unfit("its content is empty")
    if PAGE.match(start) and not name.endswith((".html", ".htm")):
        raise Unfit("its content is a web page (HTML), as a portal or a login sends it")
    while file.read(STEP):
        pass


def _of_the_system(error: BaseException) -> bool:
    """Whether the system failed (it gives a number), not the content."""
    return isinstance(error, OSError) and error.errno is not None


def _words(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__
