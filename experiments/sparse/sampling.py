"""Threshold and priority sampling, of sparse: error against the size of the sample."""

import pandas as pd
from matplotlib.figure import Figure

from dpbench.figures import queries, style


def numbers(trials: pd.DataFrame) -> pd.DataFrame:
    table = queries.by_setting(trials, ["mechanism", "mechanism.ratio"])
    return table.assign(series=table["mechanism"].map(style.name))


def draw(numbers: pd.DataFrame) -> Figure:
    return queries.curves(numbers, x="entries", xlabel="size of the sample", logx=False, logy=False)
