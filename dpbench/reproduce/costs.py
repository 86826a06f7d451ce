"""What a run costs: the memory of a process with all its workers, and the disk space of its files.

Imported by `carry_out` and `make_record`.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path

from dpbench.model.run import Run
from dpbench.storage.store import Store

SECONDS = 1.0
"""Seconds between two measurements of memory."""
PROC = Path("/proc")


class Meter:
    """Measures once per second the memory of this process and its workers together. Linux only."""

    def __init__(self) -> None:
        self._peak: int | None = None
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Meter:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def peak(self) -> int | None:
        """The peak in bytes since the last call; None if it cannot be measured."""
        self._look()
        peak, self._peak = self._peak, None
        return peak

    def _watch(self) -> None:
        while not self._over.wait(SECONDS):
            self._look()

    def _look(self) -> None:
        held = memory_of(os.getpid())
        if held is not None:
            self._peak = max(held, self._peak or 0)


def memory_of(pid: int) -> int | None:
    """Bytes of memory of a process and all its descendants; shared pages are counted once, in parts."""
    sizes = [size for process in (pid, *_descendants(pid)) if (size := _proportional(process)) is not None]
    return sum(sizes) if sizes else None


def _descendants(pid: int) -> Iterator[int]:
    children: dict[int, list[int]] = {}
    for entry in PROC.glob("[0-9]*/stat"):
        try:
            parent = int(entry.read_text().rpartition(")")[2].split()[1])
        except (OSError, IndexError, ValueError):  # the process has just ended
            continue
        children.setdefault(parent, []).append(int(entry.parent.name))
    waiting = [pid]
    while waiting:
        for child in children.get(waiting.pop(), ()):
            yield child
            waiting.append(child)


def _proportional(pid: int) -> int | None:
    """The proportional set size: shared pages divided by the number of processes that share them."""
    try:
        text = (PROC / str(pid) / "smaps_rollup").read_text()
    except OSError:
        return None
    line = next((line for line in text.splitlines() if line.startswith("Pss:")), "")
    return int(line.split()[1]) * 1024 if line else None


def disk_of(run: Run, data: list[Path]) -> int:
    """Bytes of the stored trials of a run and of these folders of cached data."""
    store = Store(run.results)
    trials = [store.folder(name) for name in {setting.id for setting in run.settings}]
    return sum(file.stat().st_size for folder in (*trials, *data) for file in folder.rglob("*") if file.is_file())
