"""Which configuration folders of the user's own count: those given by `--config-dir`, and `conf` of the current folder.

Imported by the verbs and by the door for Python; imports words and paths only.
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
    """The folders, those given first; their classes can be imported from there, too. UserError when one is not there."""
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
    """Whether a folder holds configuration of ours that is not ours itself: other programs have a `conf`, too."""
    if os.path.realpath(folder) == os.path.realpath(CONF):
        return False
    return any((folder / group).is_dir() for group in KNOWN)
