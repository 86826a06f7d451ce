"""A trial that did not finish: why, and where in the user's own code. Imported by the worker and by the modules that guard it."""

from __future__ import annotations

import errno
import os
import re
import sysconfig
import traceback
from collections.abc import Iterable

from dpbench.model.trial import Failure

DPBENCH = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
INSTALLED = ("site-packages", "dist-packages")
TYPED = ("<stdin>", "<ipython-input")  # user's code that has no file
MEMORY = "MemoryError"
DUMPED = re.compile(
    r'^  File "(.*)", line (\d+) in (.*)$', re.MULTILINE
)  # the format of `faulthandler`, innermost first

Frame = tuple[str, int]
"""A file and a line."""


def of_error(trial: int, error: BaseException) -> Failure:
    """The failure of a trial that raised."""
    kind = MEMORY if out_of_memory(error) else type(error).__name__
    frames = [(frame.filename, frame.lineno or 0) for frame in traceback.extract_tb(error.__traceback__)]
    details = storable("".join(traceback.format_exception(error)))
    return Failure(trial, describe(error), details, kind, place(reversed(frames)))


def of_dump(trial: int, reason: str, dump: str) -> Failure:
    """The failure of a trial whose process was ended, with the output of `faulthandler`, if any."""
    found = DUMPED.findall(_running(dump))
    lines = [f'  File "{file}", line {line}, in {name}\n' for file, line, name in reversed(found)]
    details = f"Traceback (most recent call last):\n{''.join(lines)}{reason}\n" if lines else ""
    return Failure(trial, reason, details, reason, place((file, int(line)) for file, line, _ in found), True)


def _running(dump: str) -> str:
    """The part of a dump that is about the thread of the trial."""
    threads = re.split(r"^(?=(?:Current thread|Thread) 0x)", dump, flags=re.MULTILINE)
    return next((thread for thread in threads if "in run_chunk\n" in thread), "")


def describe(error: BaseException) -> str:
    """An error in one line, as text that can be shown and stored."""
    try:
        message = " ".join(str(error).split())
    except Exception as problem:
        message = f"its message cannot be read ({type(problem).__name__})"
    return storable(f"{type(error).__name__}: {message}")


def storable(text: str) -> str:
    """The same text, with halves of surrogate pairs, which no file and no terminal accepts, as escapes."""
    return text.encode(errors="backslashreplace").decode()


def out_of_memory(error: BaseException | None) -> bool:
    """Whether an error is a memory error, or was raised while handling one."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM):
            return True
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return False


def place(frames: Iterable[Frame]) -> str:
    """The first of these frames, innermost first, that is the user's own code; else the first of ours."""
    ours = ""
    for file, line in frames:
        if _is_users(file):
            return f"{file}:{line}"
        if not ours and _is_below(file, DPBENCH):
            ours = f"{file}:{line}"
    return ours


def _is_users(file: str) -> bool:
    if file.startswith("<"):
        return file.startswith(TYPED)
    if any(part in INSTALLED for part in file.split(os.sep)) or _is_below(file, DPBENCH):
        return False
    return not any(_is_below(file, sysconfig.get_path(name)) for name in ("stdlib", "platstdlib"))


def _is_below(file: str, folder: str) -> bool:
    return os.path.abspath(file).startswith(folder.rstrip(os.sep) + os.sep)
