"""Records which files are opened while a dataset is built, by Python's audit hook. The author of a source does nothing.

Files that a build opens just to run (modules, libraries and their files, our caches) do not count. Files that C code
opens raise no event: `inputs` finds them by the source's parameters. Imported by the cache.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import sysconfig
import threading
from collections.abc import Iterable, Iterator
from types import FrameType
from typing import Any
from weakref import WeakSet

from dpbench.paths import PACKAGE, cache

SYSTEM = ("/dev", "/proc", "/sys", "/etc", "/usr/share/zoneinfo")
COMPILED = (".pyc", ".nbi", ".nbc", ".so", ".pyd", ".dll", ".dylib")  # of Python and of numba
INSTALLED = {"site-packages", "dist-packages", "__pycache__"}
LISTS = ("os.listdir", "os.scandir")


class Recorder:
    """What was opened for reading and what was listed, each under its full path."""

    def __init__(self) -> None:
        self.thread = threading.current_thread()
        self.others = WeakSet(threading.enumerate())
        self.read: dict[str, os.stat_result] = {}
        """Files as they were when they were first opened."""
        self.written: set[str] = set()
        self.listed: set[str] = set()
        self.relative: dict[str, str] = {}
        """How a path was given, if it is relative to the working folder."""

    def concerns(self, thread: threading.Thread) -> bool:
        """Whether a thread works for this build: it runs the build, or was started during it."""
        return thread is self.thread or thread not in self.others

    def note(self, event: str, args: tuple[Any, ...], frame: FrameType | None) -> None:
        """Record one audit event."""
        given = "." if event in LISTS and args[0] is None else args[0]
        if not isinstance(given, str | bytes | os.PathLike):
            return  # an already open file, given by its number
        text = os.fsdecode(given)
        path = os.path.abspath(text)
        if event in LISTS:
            if os.path.isdir(path) and not ignored(path) and _asked_for(frame, listing=True):
                self.listed.add(path)
                self._keep(path, text)
        elif event == "open" and _writes(args[1], args[2]):
            self.written.add(path)
        elif path in self.read or path in self.written:  # what the build itself wrote is not an input
            return
        elif os.path.isfile(path) and not ignored(path) and _asked_for(frame):
            self.read[path] = os.stat(path)
            self._keep(path, text)

    def _keep(self, path: str, text: str) -> None:
        if not os.path.isabs(text):
            self.relative[path] = text


@contextlib.contextmanager
def recording() -> Iterator[Recorder]:
    """Record what this thread, and every thread started meanwhile, opens inside the block."""
    _install()
    recorder = Recorder()
    _active.append(recorder)
    try:
        yield recorder
    finally:
        _active.remove(recorder)


def also(paths: Iterable[str]) -> None:
    """Count the files behind cached data that a build uses, as if the build had opened them."""
    concerned = [recorder for recorder in list(_active) if recorder.concerns(threading.current_thread())]
    for path in paths if concerned else ():
        if os.path.isfile(path):
            for recorder in concerned:
                recorder.read.setdefault(path, os.stat(path))


def ignored(path: str) -> bool:
    """Whether a file is part of the machinery: of the system, Python, a library, dpbench or its caches."""
    if path.endswith(COMPILED) or inside(path, SYSTEM) or inside(path, _own()) or inside(path, _stdlib()):
        return True
    return not INSTALLED.isdisjoint(path.split(os.sep))


_active: list[Recorder] = []


@functools.cache
def _install() -> None:
    """Install one hook per process, because hooks cannot be removed. It costs almost nothing when nothing is being built."""
    active, busy, events = _active, threading.local(), frozenset(("open", "sqlite3.connect", *LISTS))

    def hook(event: str, args: tuple[Any, ...]) -> None:
        if not active or event not in events or getattr(busy, "now", False):
            return
        busy.now = True  # what happens in the hook is not part of the build
        try:
            thread, frame = threading.current_thread(), sys._getframe(1)
            for recorder in list(active):
                if recorder.concerns(thread):
                    recorder.note(event, args, frame)
        except Exception:  # an exception would become an error of the code that opens the file
            pass
        finally:
            busy.now = False

    sys.addaudithook(hook)


def _writes(mode: Any, flags: Any) -> bool:
    """Whether a file is opened only for writing, or truncated. `os.open` gives flags and no mode."""
    if isinstance(mode, str):
        return not set(mode) & {"r", "+"} or "w" in mode
    return isinstance(flags, int) and (flags & (os.O_WRONLY | os.O_RDWR) == os.O_WRONLY or bool(flags & os.O_TRUNC))


def _asked_for(frame: FrameType | None, *, listing: bool = False) -> bool:
    """Whether the user's code (or ours) asked for it, directly or through a library, as opposed to the import of a module
    or what a library does while it is imported."""
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith("<frozen importlib") and frame.f_code.co_name != "get_data":
            return False
        if listing and file.endswith(os.path.join("importlib", "metadata", "__init__.py")):
            return False
        if not _library(file):
            return True
        frame = frame.f_back
    return True


@functools.cache
def _library(file: str) -> bool:
    if file.startswith("<frozen"):
        return True
    return inside(file, _stdlib()) or not INSTALLED.isdisjoint(file.split(os.sep))


@functools.cache
def _stdlib() -> tuple[str, ...]:
    return tuple({os.path.abspath(sysconfig.get_path(which)) for which in ("stdlib", "platstdlib")})


def _own() -> tuple[str, ...]:
    """Our package and our caches. Downloads are not included: they are data."""
    numba = os.environ.get("NUMBA_CACHE_DIR")
    return (str(PACKAGE), str(cache() / "data"), str(cache() / "numba"), *((os.path.abspath(numba),) if numba else ()))


def inside(path: str, folders: tuple[str, ...]) -> bool:
    """Whether a path is one of the folders, or below one."""
    return any(path == folder or path.startswith(folder + os.sep) for folder in folders)
