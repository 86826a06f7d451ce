"""Threshold and priority sampling, of sparse: error against the size of the sample."""

import pandas as pd
from matplotlib.figure import Figure

from dpbench.figures import captions, queries, style
from dpbench.figures.captions import Stated


def numbers(trials: pd.DataFrame) -> pd.DataFrame:
    table = queries.by_setting(trials, ["mechanism", "mechanism.ratio"])
    return table.assign(series=table["mechanism"].map(style.name))


def draw(numbers: pd.DataFrame) -> Figure:
    figure = queries.curves(numbers, x="entries", xlabel="size of the sample", logx=False, logy=False)
    captions.span(figure.axes[1], 1, 7, Stated("sparse/sampling-relative-error", 0.01, "1 to 7 %"))
    queries.finish(figure)
    return figure
