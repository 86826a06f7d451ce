"""Filtering, of sparse: absolute and relative error of one- and two-sided filters against the size of the summary."""

import pandas as pd
from matplotlib.figure import Figure

from dpbench.figures import captions, queries
from dpbench.figures.captions import Stated


def numbers(trials: pd.DataFrame) -> pd.DataFrame:
    table = queries.by_setting(trials, ["mechanism.two_sided", "mechanism.theta"])
    return table.assign(series=table["mechanism.two_sided"].map({True: "Two-sided filter", False: "One-sided filter"}))


def draw(numbers: pd.DataFrame) -> Figure:
    figure = queries.curves(numbers, x="entries", xlabel="size of the summary", logx=False)
    stated = Stated("sparse/two-sided-one-percent", 0.01, "around 1 % while most non-zeros are kept")
    captions.cross(figure.axes[1], 0.97, 1, stated, side="above-left", transform=figure.axes[1].get_yaxis_transform())
    queries.finish(figure)
    return figure
