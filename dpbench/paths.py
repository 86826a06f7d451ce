"""Where conf, datasets and results are: beside the package in a checkout, inside it in a wheel."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

PACKAGE = Path(__file__).resolve().parent


def _resource(inside: str, beside: str) -> Path:
    # The wheel's own copy first: another package's top-level `conf` in site-packages must never be taken for ours.
    own = PACKAGE / inside
    return own if own.is_dir() else PACKAGE.parent / beside


CONF = _resource("conf", "conf")
EXPERIMENTS = _resource("experiments", "experiments")
CARDS = _resource("datasets", "datasets")
BASELINES = _resource("baselines", "results/baselines")
RECORD = (
    Path(chosen).expanduser().resolve()
    if (chosen := os.environ.get("DPBENCH_RECORD"))
    else _resource("record", "results/record")
)
"""The recorded reproduction: DPBENCH_RECORD, else the one that comes with dpbench."""


def cache() -> Path:
    """The folder of built and downloaded data: DPBENCH_CACHE, else datasets/cache of a checkout, else the user's cache."""
    if chosen := os.environ.get("DPBENCH_CACHE"):
        return Path(chosen).expanduser().resolve()
    if (PACKAGE.parent / "pyproject.toml").is_file():
        return PACKAGE.parent / "datasets" / "cache"
    return Path(platformdirs.user_cache_dir("dpbench"))


def results_above(folder: Path) -> Path | None:
    """The results folder that a folder is, or is inside; None if it is in none.

    Such a folder may come from somebody else: nobody's configuration, scripts or modules are taken from it.
    """
    folder = folder.resolve()
    return next((place for place in (folder, *folder.parents) if _holds_results(place)), None)


def _holds_results(folder: Path) -> bool:
    runs = folder / "runs"
    try:
        return runs.is_dir() and ((folder / "trials").is_dir() or any(runs.glob("**/*@*.json")))
    except OSError:  # a folder that cannot be read gives no configuration either
        return True
