"""The source code as one file, from which a reviewer installs exactly what ran. Imported by `artifact`."""

from __future__ import annotations

import subprocess
from pathlib import Path

from dpbench import __version__
from dpbench.paths import PACKAGE
from dpbench.reproduce.locked import NAME
from dpbench.results.environment import Environment

FILE = f"{NAME}-{__version__}.tar.gz"


def write_source(folder: Path) -> Path | None:
    """Write the checkout's commit into `folder`. None if there is no checkout, or if its files differ from the commit."""
    commit = Environment.here().commit
    if not commit or commit.endswith("+"):
        return None
    target = folder.resolve() / FILE
    target.parent.mkdir(parents=True, exist_ok=True)
    words = [
        "git",
        "-C",
        str(PACKAGE.parent),
        "archive",
        f"--prefix={NAME}-{__version__}/",
        f"--output={target}",
        "HEAD",
    ]
    done = subprocess.run(words, capture_output=True, timeout=120)
    return target if done.returncode == 0 else None
