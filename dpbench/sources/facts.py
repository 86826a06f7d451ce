"""Numbers derived from a dataset, stored beside it in the cache and shared by all processes that open it.

One small sealed file per number. A number is identified by the content of the data, by its key, and by the code that
computed it, so that a number of older data or code is never used. The cache gives each opened dataset its
`StoredFacts`, which `Data.fact` uses.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpbench.identity import code_of, digest
from dpbench.storage.files import write_atomic
from dpbench.storage.seals import Broken, seal, unseal

FOLDER = "facts"


@dataclass(frozen=True)
class StoredFacts:
    """The stored numbers of one dataset."""

    folder: Path
    fingerprint: str
    """Identifies the content of the data: a rebuilt dataset may differ but have the same path."""

    def get(self, key: Any, owner: type, compute: Callable[[], float]) -> float:
        """The number named by `key`: read if stored, otherwise computed and stored. `owner` is the class whose code computes it.

        If several processes ask at once, one computes and the others wait. If nothing can be written, each computes.
        """
        code = code_of(owner)
        if not code.resumable:
            return compute()
        name = digest([self.fingerprint, key, code.digest])
        path = self.folder / f"{name}.json"
        with self._alone(name):
            value = _read(path)
            if value is None:
                value = compute()
                with contextlib.suppress(OSError):
                    write_atomic(path, seal({"value": value}).encode())
        return value

    @contextlib.contextmanager
    def _alone(self, name: str) -> Iterator[None]:
        try:
            import fcntl

            self.folder.mkdir(exist_ok=True)
            lock = os.open(self.folder / f".{name}.lock", os.O_CREAT | os.O_WRONLY)
        except (ImportError, OSError):
            yield
            return
        try:
            with contextlib.suppress(OSError):  # some network file systems have no locks
                fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)


def _read(path: Path) -> float | None:
    try:
        value = unseal(path.read_bytes())["value"]
    except (OSError, Broken, KeyError):
        return None
    return value if isinstance(value, int | float) else None
