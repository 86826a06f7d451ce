"""A user's folder with own code and configuration, for tests on the command line."""

from __future__ import annotations

import shutil
from pathlib import Path

import pandas as pd

from dpbench.model.run import Run

from support.paths import ROOT

ENTRIES = {
    "dataset/small": "small: {kind: incidence, source: generator, generator: strangers.Small}\n",
    "mechanism/noisy": "noisy: {class: strangers.Noisy}\n",
    "mechanism/flaky": "flaky: {class: strangers.Flaky}\n",
    "mechanism/deadly": "deadly: {class: strangers.Deadly}\n",
    "mechanism/held": "held: {class: strangers.Held}\n",
    "mechanism/slow": "slow: {class: strangers.Slow}\n",
}
RUN = ("run", "--config-dir", "mine", "dataset=[small]", "tracking=none", "figure=false", "scale=smoke")


def make_home(folder: Path) -> Path:
    """strangers.py and a configuration folder `mine`."""
    shutil.copy(ROOT / "tests" / "strangers.py", folder)
    for name, text in ENTRIES.items():
        path = folder / "mine" / f"{name}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def only_run(results: Path) -> Run:
    """The one run of a results folder."""
    (run,) = Run.all(results).values()
    return run


def trials(results: Path) -> pd.DataFrame:
    """Every stored number of the one run of a results folder, but the time it took."""
    return only_run(results).trials().drop(columns="seconds")
