"""The user's own configuration folders: those given by `--config-dir`, and `conf` in the current folder.

Imported by the verbs and by the Python API; imports words and paths only.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from dpbench.config.words import add_folder
from dpbench.paths import CONF

HERE = "conf"
KNOWN = ("dataset", "mechanism", "task", "experiment", "scale", "runner", "claims")


def own_folders(given: Path | str | Sequence[Path | str] | None = None) -> list[Path]:
    """The folders, those given first. Classes in them can be imported. UserError if one does not exist."""
    listed = [given] if isinstance(given, Path | str) else list(given or ())
    folders = [Path(one) for one in listed]
    for folder in folders:
        add_folder(folder)
    here = Path(HERE)
    if is_own(here) and not any(os.path.realpath(folder) == os.path.realpath(here) for folder in folders):
        add_folder(here)
        folders.append(here)
    return folders


def is_own(folder: Path) -> bool:
    """Whether a folder holds a user's dpbench configuration: other programs have a `conf`, too."""
    if os.path.realpath(folder) == os.path.realpath(CONF):
        return False
    return any((folder / group).is_dir() for group in KNOWN)
