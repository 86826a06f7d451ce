"""The files a dataset was made from, stored with it by size, times and content, and whether they have changed since.

They are found in two ways: files that Python opened while the dataset was built (`recording`), and files that the source
declares by `files()`, or by parameters and module constants that name files, because files opened by C code are not
recorded. One file too many costs a hash; one too few would give old numbers for new data. Imported by the cache.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpbench.identity import digest
from dpbench.sources.recording import Recorder, ignored, inside
from dpbench.storage.files import file_digest

MOST_FILES = 50_000  # in a folder that a parameter names; a larger folder has that name only by chance
MOST_BYTES = 8 << 30  # hashed at most of declared files that were not seen to be opened; the rest is compared by times
RESULTS = ("trials", "plans", "runs")  # a folder with two of these is a results folder, never a dataset


@dataclass(frozen=True)
class Input:
    """One file or listed folder as it was when the dataset was built."""

    path: str
    size: int = 0
    mtime_ns: int = 0
    ctime_ns: int = 0
    digest: str = ""
    """Digest of the content, or of the names in a folder. Empty if unknown: then any new time counts as a change."""
    folder: bool = False
    declared: bool = False
    """Whether the source declares it; otherwise it was recorded when it was opened."""
    relative: str = ""
    """The path as it was opened, if it is relative to the working folder."""
    made: bool = False
    """Written by the build itself, so its content does not matter."""

    def now(self) -> Input | None:
        """This input with its current times if the content is unchanged; None if it changed or is gone."""
        if self.made:
            return self
        try:
            if self.folder:
                return self if _listing(self.path) == self.digest else None
            stat = os.stat(self.path)
            same = (stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns) == (self.size, self.mtime_ns, self.ctime_ns)
            if not same and (stat.st_size != self.size or not self.digest or file_digest(self.path) != self.digest):
                return None
            if self.relative and not self._same_here():
                return None
        except OSError:
            return None
        return self if same else dataclasses.replace(self, mtime_ns=stat.st_mtime_ns, ctime_ns=stat.st_ctime_ns)

    def _same_here(self) -> bool:
        """Whether the current working folder has the same content under that name, or nothing (a worker elsewhere)."""
        here = os.path.abspath(self.relative)
        if here == self.path or not os.path.isfile(here):
            return True
        return os.path.getsize(here) == self.size and file_digest(here) == self.digest


def collect(source: Any, recorder: Recorder, declared: Mapping[str, os.stat_result]) -> tuple[Input, ...]:
    """The inputs of a dataset that was just built. `declared`: the declared files before the build."""
    own_code = {os.path.abspath(file) for file in _module_files()}
    inputs, unseen = [], 0
    for path in sorted({*declared, *recorder.read, *recorder.written}):
        seen = path in recorder.read
        if path in own_code or not os.path.isfile(path):  # covered by the code's identity, or removed by the build
            continue
        if path in recorder.written and not seen:
            inputs.append(Input(path, declared=True, made=True))
            continue
        before = declared[path] if path in declared else recorder.read[path]
        unseen += 0 if seen else before.st_size
        sure = seen or unseen <= MOST_BYTES
        relative = recorder.relative.get(path, "")
        inputs.append(_input(path, before, sure=sure, declared=path in declared, relative=relative))
    for path in sorted(recorder.listed) if getattr(source, "files", None) is None else ():
        if os.path.isdir(path) and not inside(path, tuple(places_of(source))):
            inputs.append(Input(path, digest=_listing(path), folder=True))
    return tuple(inputs)


def _listing(folder: str) -> str:
    """Digest of the names in a folder that could be data files."""
    names = [name for name in os.listdir(folder) if not name.startswith(".") and not name.endswith((".py", "__"))]
    return digest(sorted(name for name in names if not _holds_results(os.path.join(folder, name))))


def _input(path: str, before: os.stat_result, *, sure: bool, declared: bool, relative: str) -> Input:
    content = file_digest(path) if sure else ""
    after = os.stat(path)
    if (after.st_size, after.st_mtime_ns) != (before.st_size, before.st_mtime_ns):
        content = ""  # it changed while it was read: the earlier times make sure that it is read again
    times = before.st_size, before.st_mtime_ns, before.st_ctime_ns
    return Input(path, *times, digest=content, declared=declared, relative=relative)


def compare(inputs: tuple[Input, ...], declared: Mapping[str, Any]) -> tuple[str, tuple[Input, ...]]:
    """What has changed, in a few words (empty: nothing), and the inputs with their current times."""
    then = {file.path for file in inputs if file.declared}
    for path in sorted(declared.keys() - then):
        return f"{os.path.basename(path)} is new", inputs
    today = []
    for file in inputs:
        now = file.now()
        if now is None or (file.declared and not file.made and file.path not in declared):
            return f"{os.path.basename(file.path)} {'changed' if os.path.exists(file.path) else 'is gone'}", inputs
        today.append(now)
    return "", tuple(today)


def declared_by(source: Any) -> dict[str, os.stat_result]:
    """The files that a source declares, by their full paths."""
    own = getattr(source, "files", None)
    own = own() if callable(own) else own
    files = [os.path.abspath(path) for path in ([own] if isinstance(own, str | os.PathLike) else own or ())]
    for path in places_of(source):
        if os.path.isfile(path):
            files.append(path)
        elif own is None:
            files += _files_in(path)
    files += _constants(type(source))
    loaded = {os.path.abspath(file) for file in _module_files()} if files else set()
    data = (path for path in files if path not in loaded and not ignored(path) and os.path.isfile(path))
    return {path: os.stat(path) for path in data}


def places_of(source: Any) -> list[str]:
    """The full paths of all files and folders that parameters of the source name. Of our own sources only `path` counts:
    other parameters may equal the name of some file by accident."""
    fields = [f.name for f in dataclasses.fields(source)] if dataclasses.is_dataclass(source) else list(vars(source))
    fields = ["path"] if type(source).__module__.startswith("dpbench.") else fields
    values = (value for name in fields for value in _words(getattr(source, name, None)))
    paths = {os.path.abspath(os.path.expanduser(value)) for value in values if _could_be(value)}
    return sorted(path for path in paths if os.path.exists(path))


def _words(value: Any) -> Iterator[str]:
    """Every string and path in a parameter."""
    if isinstance(value, str | os.PathLike):
        yield os.fsdecode(value)
    elif isinstance(value, Mapping | list | tuple | set | frozenset):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _words(item)


def _could_be(word: str) -> bool:
    return 0 < len(word) < 4096 and word.isprintable()


def _files_in(folder: str) -> list[str]:
    """All files of a folder, except hidden ones and results; empty if the folder is too large to be a dataset."""
    files: list[str] = []
    if folder == os.path.dirname(folder):  # the root folder: "/" is a separator here, not a path
        return files
    for path, folders, names in os.walk(folder):
        if _holds_results(path) or ignored(path):
            folders.clear()
            continue
        folders[:] = [name for name in folders if not name.startswith(".")]
        files += [os.path.join(path, name) for name in names if not name.startswith(".") and not name.endswith(".py")]
        if len(files) > MOST_FILES:
            return []
    return files


def _holds_results(folder: str) -> bool:
    return sum(os.path.isdir(os.path.join(folder, name)) for name in RESULTS) > 1


def _constants(cls: type) -> list[str]:
    """The files that the modules of a user's class name: by a string in the code, or by a module-level value."""
    paths = set()
    for name in {base.__module__ for base in cls.__mro__}:
        module = sys.modules.get(name)
        file = getattr(module, "__file__", None)
        if module is None or not file or not file.endswith(".py") or ignored(os.path.abspath(file)):
            continue
        folder = os.path.dirname(os.path.abspath(file))
        held = [value for value in vars(module).values() if isinstance(value, str | Path)]
        for word in {*_literals(file, os.stat(file).st_mtime_ns), *map(str, held)}:
            if _could_be(word):
                paths |= {os.path.abspath(os.path.join(start, word)) for start in (os.getcwd(), folder)}
    return sorted(path for path in paths if os.path.isfile(path))


@functools.cache
def _literals(file: str, _mtime: int) -> frozenset[str]:
    try:
        tree = ast.parse(Path(file).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return frozenset()
    return frozenset(n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str))


def _module_files() -> list[str]:
    # Not by getattr: some modules import others on attribute access.
    files = (getattr(module, "__dict__", {}).get("__file__") for module in list(sys.modules.values()))
    return [file for file in files if isinstance(file, str)]
