"""Filtering, of sparse: absolute and relative error of one- and two-sided filters against the size of the summary."""

import pandas as pd
from matplotlib.figure import Figure

from dpbench.figures import queries


def numbers(trials: pd.DataFrame) -> pd.DataFrame:
    table = queries.by_setting(trials, ["mechanism.two_sided", "mechanism.theta"])
    return table.assign(series=table["mechanism.two_sided"].map({True: "Two-sided filter", False: "One-sided filter"}))


def draw(numbers: pd.DataFrame) -> Figure:
    return queries.curves(numbers, x="entries", xlabel="size of the summary", logx=False)
