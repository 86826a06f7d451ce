"""The layout of a results folder, and how files are written into it and set aside. Imported by everything that writes into one.

runs/EXPERIMENT@SCALE.json      what was run (sealed)
trials/AB/ID/FIRST-LAST.CHECKSUM.parquet   the trials of one setting
audit.json                      what the audit of the mechanisms found (sealed)
figures/, report.html, mlflow.db           what is made from them
failures/RUN-KIND-HASH.txt      the traceback of each distinct failure
damaged/                        files that did not hold what they should

A results folder may come from somebody else: a link in it that leads elsewhere is never followed.
"""

from __future__ import annotations

import contextlib
import os
import socket
import stat
import time
import uuid
from pathlib import Path

from dpbench.errors import Failed

LARGEST = 256 << 20  # bytes of one stored file: a larger one is not ours, and could fill the memory of its reader
OLD_AGE = 24 * 3600.0  # seconds after which temporary files are considered abandoned


def run_files(results: Path) -> list[Path]:
    """The run files of a folder."""
    root = results / "runs"
    if not root.is_dir():
        return []
    inside(results, root)
    return sorted(path for path in root.glob("**/*@*.json") if not path.name.startswith("."))


def is_inside(results: Path, path: Path) -> bool:
    """Whether a path stays in the results folder: no part of it below the folder is a link."""
    try:
        parts = path.relative_to(results).parts
    except ValueError:
        return False
    place = os.fspath(results)
    for part in parts:
        place = os.path.join(place, part)
        if part == os.pardir or os.path.islink(place):
            return False
    return True


def inside(results: Path, path: Path) -> Path:
    """`path`, to read or to write in a results folder. Raises Failed when a link in the folder leads elsewhere."""
    if not is_inside(results, path):
        raise Failed(f"{path} is or goes through a link: links in a results folder are not followed; remove it")
    return path


def is_old(results: Path) -> bool:
    """Whether a folder was written by a version before run files: its plans and trials are not read."""
    return (results / "plans").is_dir() and not (results / "runs").is_dir()


def read_whole(path: Path) -> bytes:
    """The bytes of a stored file. ValueError: it is not a regular file, or is larger than any of ours."""
    found = path.lstat()
    if not stat.S_ISREG(found.st_mode):
        raise ValueError("it is not a file")
    if found.st_size > LARGEST:
        raise ValueError(f"it has {found.st_size} bytes, and no file of dpbench more than {LARGEST}")
    return path.read_bytes()


def write_aside(path: Path, content: bytes) -> None:
    """Write a file atomically: under a temporary name first, then renamed."""
    if len(content) > LARGEST:
        raise Failed(f"{path} would have {len(content)} bytes: expected at most {LARGEST}")
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
    """Move a file that does not hold what it should to `damaged/`; None if it cannot be moved."""
    target = results / "damaged" / f"{path.parent.name}-{path.name[:150]}-{uuid.uuid4().hex[:16]}"
    if not (is_inside(results, target.parent) and is_inside(results, path.parent)):
        return None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        os.replace(path, target)
    except OSError:  # a read-only folder
        return None
    return target


def sweep(results: Path) -> None:
    """Remove temporary files that dead processes left anywhere in a results folder."""
    for root in (results / "runs", results / "trials", results / "failures"):
        if root.is_dir() and is_inside(results, root):
            for folder, _, names in os.walk(root):  # follows no links
                _sweep(Path(folder), names)


def _sweep(folder: Path, names: list[str]) -> None:
    for path in (folder / name for name in names if name.startswith(".tmp-")):
        host, _, rest = path.name.removeprefix(".tmp-").rpartition("-")[0].rpartition("-")
        with contextlib.suppress(OSError):
            if (
                host == _host() and rest.isdecimal() and not alive(int(rest))
            ) or time.time() - path.stat().st_mtime > OLD_AGE:
                path.unlink(missing_ok=True)


def alive(pid: int) -> bool:
    """Whether a process of this machine runs. A zombie does not count."""
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (OSError, IndexError):  # no Linux
        return True


def _host() -> str:
    return "".join(c if c.isalnum() else "_" for c in socket.gethostname())
