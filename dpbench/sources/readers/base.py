"""The contract of a reader: where its files are and how they are named.

Imported by every reader. A reader takes a file, or a folder with files named as the format names them.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import ClassVar

from dpbench.errors import UserError, one_of
from dpbench.sources.base import Source
from dpbench.sources.readers.parsing import ON_BAD_LINE, BadLines


@dataclass(frozen=True, kw_only=True)
class Reader(Source):
    """Base of the readers of original files. `build` reads them completely or fails."""

    path: str
    """A file, or a folder that holds files with the format's usual names."""
    on_bad_line: str = "error"
    """`error`: stop at the first bad line. `skip`: leave bad lines out and count them in a warning."""

    what: ClassVar[str] = ""
    """What the files are, for messages."""
    names: ClassVar[tuple[str, ...]] = ()
    """File names in a folder, lower case with * for anything; `.gz` may follow."""
    many: ClassVar[bool] = False
    """Whether several files are read as one dataset."""

    def __post_init__(self) -> None:
        one_of("on_bad_line", self.on_bad_line, ON_BAD_LINE)
        if not isinstance(self.path, str) or not self.path:
            raise UserError(f"path={self.path!r} is not valid: expected {self.what}")
        if "kind" in self.__dataclass_fields__:
            one_of("kind", getattr(self, "kind"), self.kinds)  # noqa: B009 (only readers of several kinds have it)

    def files(self) -> list[Path]:
        """The files to read, in order. The cache compares their content with what it was built from."""
        return find(self.path, self.names, self.what, many=self.many)

    def bad_lines(self) -> BadLines:
        return BadLines(self.on_bad_line)


def find(path: str, patterns: tuple[str, ...], what: str, *, many: bool = False) -> list[Path]:
    """`path` itself, or the files in it with one of these names; more than one only if the format consists of many.

    Archives often unpack into a subfolder: if only a subfolder has such files, they are used.
    """
    given = Path(os.path.expanduser(path))
    try:
        return _found(given, patterns, what, many)
    except OSError as error:
        raise UserError(f"{error.filename or given}: cannot be read: {error.strerror}: expected {what}") from None


def _found(given: Path, patterns: tuple[str, ...], what: str, many: bool) -> list[Path]:
    if not given.exists():
        raise UserError(f"{given}: there is no such file or folder: expected {what}")
    if given.is_file():
        return [given]
    if not given.is_dir():  # a pipe can be read only once, and may never end
        raise UserError(f"{given} is neither a file nor a folder: expected {what}")
    inside = (_named(folder, patterns) for folder in sorted(given.iterdir()) if folder.is_dir())
    files = _named(given, patterns) or next((listed for listed in inside if listed), [])
    if not files:
        names = [_shown(entry) for entry in sorted(given.iterdir())]
        there = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "") if names else "nothing"
        raise UserError(f"{given}: expected {what}, named {' or '.join(patterns)} (or .gz); there is {there}")
    if len(files) > 1 and not many:
        choice = ", ".join(f.name for f in files[:5])
        raise UserError(f"{given}: {len(files)} files could be {what}: give the path of one of {choice}")
    return files


def _shown(entry: Path) -> str:
    """A name, marked if it is not a file."""
    return f"{entry.name}/" if entry.is_dir() else entry.name if entry.is_file() else f"{entry.name} (not a file)"


def folder_file(path: str, name: str, what: str) -> Path:
    """The file of this name in a folder; for formats of several files, each with a name of its own."""
    if os.path.isfile(os.path.expanduser(path)):
        raise UserError(f"{path} is a file: expected {what}")
    return find(path, (name,), what)[0]


def _named(folder: Path, patterns: tuple[str, ...]) -> list[Path]:
    """The files of a folder whose names match. A plain file is preferred to its gzip copy; hidden files are ignored."""
    names = sorted(name for name in os.listdir(folder) if not name.startswith("."))
    fitting = [n for n in names if any(fnmatchcase(n.lower(), p + end) for p in patterns for end in ("", ".gz"))]
    plain = [n for n in fitting if not (n.endswith(".gz") and n.removesuffix(".gz") in fitting)]
    return [folder / n for n in plain if (folder / n).is_file()]
