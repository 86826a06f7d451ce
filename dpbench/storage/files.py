"""Files that are written atomically, read safely, set aside and swept. Imported by everything that stores files.

A results folder holds:

runs/EXPERIMENT@SCALE.json      what was run (sealed)
trials/AB/ID/FIRST-LAST.CHECKSUM.parquet   the trials of one setting
audit.json                      what the audit of the mechanisms found (sealed)
figures/, report.html, mlflow.db           what is made from them
failures/RUN-KIND-HASH.txt      the traceback of each distinct failure
damaged/                        files that did not hold what they should

It may come from somebody else: a link in it that leads elsewhere is never followed. A temporary file or folder is named
`.tmp-MACHINE-PID-RANDOM`, so that what dead processes left is found; other processes may be writing: nothing young is removed.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import platform
import shutil
import stat
import time
import uuid
from collections.abc import Iterable
from pathlib import Path

from dpbench.errors import Failed, UserError

LARGEST = 256 << 20  # bytes of one stored file: a larger one is not ours, and could fill the memory of its reader
YOUNG, DAY = 600.0, 24 * 3600.0  # seconds; a temporary file that is older than one day is abandoned, whoever wrote it
TEMPORARY, OLD, DAMAGED = ".tmp", ".old", ".damaged"


# Which files belong to a results folder.


def is_inside(results: Path, path: Path) -> bool:
    """Whether a path stays in the results folder: no part of it below the folder is a link."""
    try:
        parts = path.relative_to(results).parts
    except ValueError:
        return False
    part_of_path = os.fspath(results)
    for part in parts:
        part_of_path = os.path.join(part_of_path, part)
        if part == os.pardir or os.path.islink(part_of_path):
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


# Reading and writing.


def read_whole(path: Path, *, links: bool = False) -> bytes:
    """The bytes of a stored file. ValueError: it is no file (or, with `links`, a link to one), or larger than any of ours."""
    status = path.stat() if links else path.lstat()
    if not stat.S_ISREG(status.st_mode):
        raise ValueError("it is not a file")
    if status.st_size > LARGEST:
        raise ValueError(f"it has {status.st_size} bytes, and no file of dpbench more than {LARGEST}")
    return path.read_bytes()


def write_atomic(path: Path, content: bytes) -> None:
    """Write a file under a temporary name, then rename it: a file that exists is complete."""
    if len(content) > LARGEST:
        raise Failed(f"{path} would have {len(content)} bytes: expected at most {LARGEST}")
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = temporary(path.parent)
    try:
        with aside.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(aside, path)
    finally:
        with contextlib.suppress(OSError):
            aside.unlink(missing_ok=True)


def file_digest(path: str | os.PathLike[str]) -> str:
    """The hexadecimal digest of a file's bytes."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()


def files_digest(paths: Iterable[str | os.PathLike[str]]) -> str:
    """One digest of the content of several files, in the order given. A folder counts with all its files and their names.

    The location of the files does not matter: the same content elsewhere has the same digest.
    """
    parts: list[object] = []
    for given in paths:
        path = Path(given).expanduser()
        try:
            if path.is_dir():
                inside = sorted(file for file in path.rglob("*") if file.is_file())
                parts.append([[file.relative_to(path).as_posix(), file_digest(file)] for file in inside])
            else:
                parts.append(file_digest(path))
        except OSError as error:
            raise UserError(f"{path}: cannot be read: {error.strerror}: expected a file or a folder") from None
    return hashlib.blake2b(json.dumps(parts).encode(), digest_size=16).hexdigest()


# Setting aside.


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


def set_folder_aside(folder: Path, kind: str = DAMAGED) -> Path | None:
    """Rename a folder of the cache out of the way. None if it is gone already: another process did the same."""
    aside = temporary(folder.parent, kind)
    try:
        os.rename(folder, aside)
    except FileNotFoundError:
        return None
    with contextlib.suppress(OSError):
        os.utime(aside)  # its age is counted from now
    return aside


# Temporary files and folders.


def temporary(folder: Path, kind: str = TEMPORARY) -> Path:
    """A new name for a file or folder that this process writes, or sets aside, in `folder`."""
    return folder / f"{kind}-{_machine()}-{os.getpid()}-{uuid.uuid4().hex[:8]}"


def sweep(results: Path) -> None:
    """Remove temporary files that dead processes left anywhere in a results folder."""
    for root in (results / "runs", results / "trials", results / "failures"):
        if root.is_dir() and is_inside(results, root):
            for folder, _, names in os.walk(root):  # follows no links
                _sweep(Path(folder), names)


def sweep_folder(folder: Path) -> None:
    """Remove what dead processes left directly in a folder of the cache. Damaged folders are kept for a day: somebody may want
    to see what happened."""
    with contextlib.suppress(OSError):
        _sweep(folder, os.listdir(folder))


def untouched(path: Path, seconds: float = DAY) -> bool:
    """Whether neither a file or folder nor anything directly in it was changed for so long."""
    try:
        entries = path.iterdir() if path.is_dir() and not path.is_symlink() else ()
        times = [entry.lstat().st_mtime for entry in (path, *entries)]
    except OSError:  # another process is working on it
        return False
    return time.time() - max(times) > seconds


def _sweep(folder: Path, names: Iterable[str]) -> None:
    for name in names:
        kind, _, rest = name.partition("-")
        if kind not in (TEMPORARY, OLD, DAMAGED):
            continue
        machine, _, pid = rest.rpartition("-")[0].partition("-")
        dead = machine == _machine() and pid.isdecimal() and not alive(int(pid)) and kind != DAMAGED
        path = folder / name
        if untouched(path, YOUNG if dead else DAY):
            with contextlib.suppress(OSError):
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


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


@functools.cache
def _machine() -> str:
    """Identifies where a process id means something: the host, since it was started, and the container."""
    parts = [platform.node()]
    with contextlib.suppress(OSError):  # no Linux: no namespaces either
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text().strip())
        parts.append(os.readlink("/proc/self/ns/pid"))
    return hashlib.blake2b("\n".join(parts).encode(), digest_size=8).hexdigest()
