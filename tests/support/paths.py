"""Where the checkout is, and where the original data are, if they are here at all."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
REAL = Path(os.environ.get("DPBENCH_TEST_DATA") or ROOT.parent / "shared" / "data")


def real_data(*names: str) -> Path:
    """A file or folder of the original data; the test is skipped when it is not on this machine."""
    path = REAL.joinpath(*names)
    if not path.exists():
        pytest.skip(f"{'/'.join(names)} of the original data is not here: set DPBENCH_TEST_DATA to its folder")
    return path


def copy_package(target: Path, part: str = "dpbench") -> None:
    """A part of the checkout, with its compiled modules: compiling all of them takes seconds in every process. A module
    that is changed afterwards is compiled from its text. Left out are the cache, and what is just being compiled."""
    shutil.copytree(ROOT / part, target / part, ignore=shutil.ignore_patterns("cache", "*.pyc.*"))
