"""Generated data and original files side by side in one figure. Imported by `draw`; reads stored runs only."""

from __future__ import annotations

import pandas as pd

from dpbench.figures import style
from dpbench.model.run import Run
from dpbench.storage import frame


def with_files(run: Run, trials: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """The trials of a run on generated data and of the same experiment on original files, and one note per run on files.

    A script requests this by `BESIDE_FILES = True`. Datasets read from files have `style.FILES` after their names. A run with
    other parameters is not the same experiment, and is left out.
    """
    if run.original_datasets:
        return trials, []
    parts, notes = [trials], []
    for other in Run.each(run.results, run.scale).values():
        names = set(trials["dataset"]) & set(other.original_datasets)
        if other.name != run.name or other.altered or not names:
            continue
        on_files = frame.trials(other)
        if len(on_files):
            on_files = on_files[on_files["dataset"].isin(names)]
            parts.append(on_files.assign(dataset=on_files["dataset"] + style.FILES))
            read = {name: other.datasets[name].read for name in sorted(names)}
            shown = ", ".join(f"{name}{style.FILES}: {what}" for name, what in read.items())
            notes.append(f"{shown}, {other.describe_trials()}")
    return pd.concat(parts, ignore_index=True), notes


def recorded(numbers: pd.DataFrame) -> list[str]:
    """The note on datasets of original files among the numbers of a record."""
    names = dict.fromkeys(numbers["dataset"]) if "dataset" in numbers else {}
    shown = [str(name) for name in names if str(name).endswith(style.FILES)]
    return [f"{', '.join(shown)}: original files"] if shown else []
