"""Filter-priority sampling, of sparse: error against the threshold θ, at samples of n entries."""

import pandas as pd
from matplotlib.figure import Figure

from dpbench.figures import queries, style


def numbers(trials: pd.DataFrame) -> pd.DataFrame:
    table = queries.by_setting(trials, ["mechanism", "mechanism.theta"]).rename(columns={"mechanism.theta": "theta"})
    return table.assign(series=table["mechanism"].map(style.name))


def draw(numbers: pd.DataFrame) -> Figure:
    return queries.curves(numbers, x="theta", xlabel="θ", logx=False, logy=False)
