"""What the processes of pytest-xdist share in one session."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest


def session_folder(factory: pytest.TempPathFactory) -> Path:
    """The folder of all processes of this session."""
    own = factory.getbasetemp()
    return own.parent if "PYTEST_XDIST_WORKER" in os.environ else own


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """A folder that the first process makes, and the others wait for. Nobody changes it."""
    folder = session_folder(factory) / f"shared-{name}"
    done = folder / ".made"
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            folder.mkdir(exist_ok=True)
            make(folder)
            done.touch()
    return folder
