"""Where a run was made: versions, commit and machine. Imported by `run` only; looks only at this process."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

from dpbench.paths import PACKAGE

PACKAGES = (
    "dpbench-repro",
    "numpy",
    "scipy",
    "numba",
    "pandas",
    "pyarrow",
    "clarabel",
    "joblib",
    "hydra-core",
    "matplotlib",
)


@dataclass(frozen=True)
class Environment:
    """What else may influence numbers and times."""

    python: str = ""
    platform: str = ""
    processor: str = ""
    cores: int = 0
    commit: str = ""
    """Commit of dpbench's checkout; empty for an installed wheel."""
    versions: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def here(cls) -> Environment:
        """The environment of this process."""
        return cls(
            python=platform.python_version(),
            platform=platform.platform(),
            processor=platform.machine(),
            cores=os.cpu_count() or 1,
            commit=_commit(),
            versions=_versions(),
        )

    def lines(self) -> dict[str, str]:
        """As a table of names and texts."""
        shown = {
            "Python": self.python,
            "platform": self.platform,
            "cores": str(self.cores or ""),
            "commit": self.commit,
        }
        return {name: text for name, text in shown.items() if text} | dict(self.versions)


@cache
def _versions() -> dict[str, str]:
    versions = {}
    for package in PACKAGES:
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return versions


@cache
def _commit() -> str:
    """The checkout's commit, with a plus if files differ from it. Those in `results` do not count: they are written by runs."""
    if not (PACKAGE.parent / ".git").exists():
        return ""
    head = git("rev-parse", "--short=12", "HEAD")
    if head is None or head.returncode:
        return ""
    return head.stdout.strip() + "+" * differs(":(exclude)results")


def differs(*paths: str) -> bool:
    """Whether files of the checkout differ from its commit: all files, or those that these patterns of git allow."""
    status = git("diff", "--quiet", "HEAD", "--", ".", *paths)
    return status is None or status.returncode != 0


def git(*words: str, seconds: float = 10) -> subprocess.CompletedProcess[str] | None:
    """A command of git in the checkout. None if there is no git, or if it takes longer."""
    command = ["git", "-C", str(PACKAGE.parent), *words]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=seconds)
    except (OSError, subprocess.SubprocessError):
        return None
