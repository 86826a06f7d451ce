"""The layout of a results folder, and how files come into it and are set aside. Imported by the other modules of results.

runs/EXPERIMENT@SCALE.json      what was run (sealed)
trials/AB/ID/FIRST-LAST.CHECKSUM.parquet   the trials of one setting
figures/, report.html, mlflow.db           what is made from them
damaged/                        files that did not hold what they should
"""

from __future__ import annotations

import contextlib
import os
import socket
import time
import uuid
from pathlib import Path

OLD_AGE = 24 * 3600.0  # seconds after which what is left aside is nobody's any more


def run_files(results: Path) -> list[Path]:
    """The run files of a folder."""
    root = results / "runs"
    return sorted(path for path in root.glob("**/*@*.json") if not path.name.startswith(".")) if root.is_dir() else []


def is_old(results: Path) -> bool:
    """Whether a folder was written by a version before run files: its plans and trials are not read."""
    return (results / "plans").is_dir() and not (results / "runs").is_dir()


def write_aside(path: Path, content: bytes) -> None:
    """Write a whole file: under a name of its own first, then renamed into place."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".tmp-{_host()}-{os.getpid()}-{uuid.uuid4().hex[:8]}")
    try:
        with aside.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(aside, path)
    finally:
        with contextlib.suppress(OSError):
            aside.unlink(missing_ok=True)


def set_aside(results: Path, path: Path) -> Path | None:
    """Move a file that does not hold what it should to `damaged/`; None where nothing may be moved."""
    target = results / "damaged" / f"{path.parent.name}-{path.name}-{uuid.uuid4().hex[:6]}"
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        os.replace(path, target)
    except OSError:  # a folder that one may only read
        return None
    return target


def sweep(folder: Path) -> None:
    """Remove what processes that are gone left aside in a folder."""
    for path in folder.glob(".tmp-*"):
        host, _, rest = path.name.removeprefix(".tmp-").rpartition("-")[0].rpartition("-")
        with contextlib.suppress(OSError):
            if (host == _host() and not _alive(rest)) or time.time() - path.stat().st_mtime > OLD_AGE:
                path.unlink(missing_ok=True)


def _alive(pid: str) -> bool:
    try:
        os.kill(int(pid), 0)
    except (ProcessLookupError, ValueError):
        return False
    except PermissionError:
        return True
    return True


def _host() -> str:
    return "".join(c if c.isalnum() else "_" for c in socket.gethostname())
