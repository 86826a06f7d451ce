"""The source code as one file, from which a reviewer installs exactly what ran. Imported by `artifact`."""

from __future__ import annotations

from pathlib import Path

from dpbench import __version__
from dpbench.reproduce.locked import NAME
from dpbench.results.environment import Environment, differs, git

FILE = f"{NAME}-{__version__}.tar.gz"


def write_source(folder: Path) -> Path | None:
    """Write the checkout's commit into `folder`. None if there is no checkout, or if its files differ from the commit."""
    if not Environment.here().commit or differs():
        return None
    target = folder.resolve() / FILE
    target.parent.mkdir(parents=True, exist_ok=True)
    done = git("archive", f"--prefix={NAME}-{__version__}/", f"--output={target}", "HEAD", seconds=120)
    return target if done is not None and done.returncode == 0 else None
