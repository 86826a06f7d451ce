"""The memory of a release: the peak of what it allocates, measured by one more release per mechanism and dataset.

Measured after the trials, in this process, with a seed of its own: no stored number changes. Kept in `memory.json` of the
results folder (sealed), by setting. Imported by `rounds`, which measures, and `tables`, which shows it.
"""

from __future__ import annotations

import sys
import tracemalloc
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dpbench.errors import Damaged
from dpbench.mechanisms.base import MECHANISMS
from dpbench.model.run import Run
from dpbench.model.setting import Dataset, Setting
from dpbench.sources.cache import open_dataset
from dpbench.storage import seals
from dpbench.storage.files import inside, is_inside, read_whole, set_aside, write_atomic

FILE = "memory.json"
PROCESS = Path("/proc/self")


@dataclass(frozen=True)
class MemoryFile:
    """The content of `memory.json`."""

    schema: int
    peaks: Mapping[str, int]
    """Bytes by the id of a setting."""


SCHEMA = 1


def measure(run: Run) -> None:
    """Measure the first setting of every mechanism on every dataset, on its first draw, unless that is known."""
    known = stored(run.results)
    wanted: dict[str, Setting] = {}
    for setting in run.settings:
        use = setting.dataset
        wanted.setdefault(repr((use.name, use.world, use.params, setting.mechanism, setting.task)), setting)
    new = dict(_peaks(setting for setting in wanted.values() if setting.id not in known))
    if new:
        body = seals.plain(MemoryFile(SCHEMA, {**known, **new}))
        write_atomic(inside(run.results, run.results / FILE), seals.seal(body).encode())


def _peaks(settings: Iterable[Setting]) -> Iterable[tuple[str, int]]:
    opened: tuple[Dataset | None, object] = (None, None)
    for setting in settings:
        if opened[0] != setting.dataset:
            opened = setting.dataset, open_dataset(setting.dataset, tell=False).data
        mechanism = setting.mechanism.make(MECHANISMS)
        try:
            yield setting.id, peak_of(mechanism, opened[1], setting.epsilon)
        except Exception:  # its trials have failed as well, which is reported; its memory is shown as not known
            continue


def peak_of(mechanism: object, data: object, epsilon: float) -> int:
    """The most bytes that one release has allocated at the same time, without the data.

    Python counts the arrays of numpy, but not those that a compiled kernel makes for itself. The system counts all pages, but
    not those that the process still has from earlier releases. The larger number counts.
    """

    def release() -> None:
        mechanism.release(data, epsilon=epsilon, rng=np.random.default_rng(0))  # type: ignore[attr-defined]

    release()  # kernels are compiled and the data is read now
    traced = tracemalloc.is_tracing()
    tracemalloc.start()
    try:
        tracemalloc.reset_peak()
        held, pages = tracemalloc.get_traced_memory()[0], _pages_reset()
        release()
        counted = tracemalloc.get_traced_memory()[1] - held
        return max(0, counted, _pages("VmHWM") - pages)
    finally:
        if not traced:
            tracemalloc.stop()


def _pages_reset() -> int:
    """The bytes of memory that this process has now; its peak begins anew. Only Linux tells."""
    try:
        (PROCESS / "clear_refs").write_text("5")
    except OSError:
        return sys.maxsize
    return _pages("VmRSS")


def _pages(name: str) -> int:
    try:
        lines = (PROCESS / "status").read_text().splitlines()
    except OSError:
        return 0
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith(f"{name}:")), 0)


def stored(results: Path) -> Mapping[str, int]:
    """What was measured, by the id of a setting; empty if nothing was. A damaged file is reported, set aside and left out."""
    path = results / FILE
    if not path.exists():
        return {}
    try:
        if not is_inside(results, path):
            raise ValueError("it is a link")
        file = seals.decode(MemoryFile, seals.checked(read_whole(path)))
        if file.schema != SCHEMA:
            raise ValueError("it was written by another version of dpbench")
    except (OSError, ValueError) as error:
        moved = set_aside(results, path)
        where = f"it is now {moved}" if moved else "it cannot be moved"
        warnings.warn(f"{path} is damaged ({error}) and skipped, {where}", Damaged, stacklevel=2)
        return {}
    return file.peaks
