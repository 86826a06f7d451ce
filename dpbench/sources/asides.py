"""Folders set aside until they are complete or until somebody has looked at them, and the removal of old ones.

The name says which process made the folder: `.tmp-HOST-PID-RANDOM`. Processes of another host cannot be checked, so their
folders are left alone until they are a day old. Imported by the cache and by `data get`.
"""

from __future__ import annotations

import contextlib
import os
import platform
import re
import shutil
import time
import uuid
from pathlib import Path

DAY = 24 * 3600.0
TEMPORARY, DAMAGED, OLD = ".tmp", ".damaged", ".old"


def name(what: str) -> str:
    """A new name for a folder that this process sets aside."""
    return f"{what}-{host()}-{os.getpid()}-{uuid.uuid4().hex[:8]}"


def host() -> str:
    return re.sub(r"[^\w.]", "_", platform.node()) or "unknown"


def set_aside(folder: Path, what: str = DAMAGED) -> Path | None:
    """Rename a folder out of the way. None when it is gone already: another process did the same."""
    aside = folder.with_name(name(what))
    try:
        os.rename(folder, aside)
    except FileNotFoundError:
        return None
    with contextlib.suppress(OSError):
        os.utime(aside)  # its age is counted from now
    return aside


def sweep(parent: Path) -> None:
    """Remove what dead processes of this host left in `parent`, and every set-aside folder older than a day.

    Damaged folders are kept for that day, whichever process set them aside: somebody may want to see what happened.
    """
    for what in (TEMPORARY, DAMAGED, OLD):
        for path in parent.glob(f"{what}-*"):
            if stale(path) or (what != DAMAGED and _abandoned(path.name)):
                shutil.rmtree(path, ignore_errors=True)


def stale(path: Path) -> bool:
    """Whether neither the folder nor anything directly in it was touched for a day."""
    try:
        newest = max([path.stat().st_mtime, *(entry.stat().st_mtime for entry in os.scandir(path))])
    except OSError:  # another process is working on it
        return False
    return time.time() - newest > DAY


def _abandoned(made: str) -> bool:
    parts = made.rsplit("-", 2)
    if len(parts) != 3 or not parts[0].endswith(f"-{host()}"):
        return False
    try:
        os.kill(int(parts[1]), 0)
    except ProcessLookupError:
        return True
    except (ValueError, OSError, OverflowError):  # another user's process, or not a number
        return False
    return False
