"""What the figures of sensitivity share: its two errors against epsilon, with both variants of DPSense."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from dpbench.figures import grids, style
from dpbench.storage.frame import summarise

SAMPLED = "DPSense, sampled rows"
ERRORS = {"mae": "MAE", "mre": "MRE"}


def error_numbers(trials: pd.DataFrame) -> pd.DataFrame:
    """Means over the trials, one row per dataset, mechanism and epsilon; DPSense with sampled rows is separate."""
    trials = trials.assign(mechanism=trials["mechanism"].mask(trials["mechanism.limit"] == "sample", SAMPLED))
    return summarise(trials, ["dataset", "mechanism", "epsilon"])


def errors(numbers: pd.DataFrame) -> Figure:
    """MAE and MRE against epsilon, one column of panels per dataset."""
    figure, axes = grids.by_metric(
        numbers, panel="dataset", x="epsilon", series="mechanism", metrics=ERRORS, xlabel="ε", label=_label, look=_look
    )
    style.legend_above(figure, list(axes.values()))
    return figure


def _look(mechanism: str, position: int) -> dict[str, str]:
    if mechanism == SAMPLED:
        return style.looks(["DPSense", SAMPLED])[SAMPLED]
    return style.look(mechanism, position)


def _label(mechanism: str) -> str:
    return style.name("dpsense", SAMPLED) if mechanism == SAMPLED else style.name(mechanism)
