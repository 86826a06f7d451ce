"""Imputation, of sparse: error of one-sided filters against the threshold, by the value assumed for absent entries."""

import pandas as pd
from matplotlib.figure import Figure

from dpbench.figures import queries

TAKEN = {"zero": "Absent: 0", "half": "Absent: θ/2", "calibrated": "Absent: mean of stopped noise"}


def numbers(trials: pd.DataFrame) -> pd.DataFrame:
    keys = {"dataset.density": "density", "mechanism.theta": "theta", "mechanism.impute": "impute"}
    table = queries.by_setting(trials, list(keys)).rename(columns=keys)
    return table.assign(series=table["impute"].map(TAKEN))


def draw(numbers: pd.DataFrame) -> Figure:
    return queries.lines(
        numbers,
        panel="density",
        x="theta",
        xlabel="θ",
        title=lambda density: f"density {100 * density:g} %",
        logx=False,
        share_y=True,
    )
