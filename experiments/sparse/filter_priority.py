"""Filter-priority sampling, of sparse: error against the threshold θ, at samples of n entries."""

import pandas as pd
from matplotlib.figure import Figure

from dpbench.figures import captions, queries, style
from dpbench.figures.captions import Stated


def numbers(trials: pd.DataFrame) -> pd.DataFrame:
    table = queries.by_setting(trials, ["mechanism", "mechanism.theta"]).rename(columns={"mechanism.theta": "theta"})
    return table.assign(series=table["mechanism"].map(style.name))


def draw(numbers: pd.DataFrame) -> Figure:
    figure = queries.curves(numbers, x="theta", xlabel="θ", logx=False, logy=False)
    captions.span(figure.axes[1], 0.3, 6, Stated("sparse/filter-priority-relative-error", 0.003, "0.3 to 6 %"))
    queries.finish(figure)
    return figure
