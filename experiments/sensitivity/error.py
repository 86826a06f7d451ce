"""sensitivity: MAE and MRE against epsilon, a column a dataset, for sensitivity control and what it is compared with."""

import pandas as pd
from matplotlib.figure import Figure

from dpbench.engine.frame import summarise
from dpbench.figures import grids, style


def numbers(trials: pd.DataFrame) -> pd.DataFrame:
    return summarise(trials, ["dataset", "mechanism", "epsilon"])


def draw(numbers: pd.DataFrame) -> Figure:
    figure, axes = grids.by_metric(
        numbers, panel="dataset", x="epsilon", series="mechanism", metrics={"mae": "MAE", "mre": "MRE"}, xlabel="ε"
    )
    style.legend_above(figure, list(axes.values()))
    return figure
