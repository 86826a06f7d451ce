"""Figure 9 of analytics: precision of the top K items against K, a panel a dataset."""

import pandas as pd
from matplotlib.figure import Figure

from dpbench.figures import records, shapes


def numbers(trials: pd.DataFrame) -> pd.DataFrame:
    table = records.by_dataset(trials)
    long = records.top_k(table)
    order = {key: i for i, key in enumerate(zip(table["dataset"], table["mechanism"], strict=True))}
    place = [order[key] for key in zip(long["dataset"], long["mechanism"], strict=True)]
    return long.assign(place=place).sort_values(["place", "k"]).drop(columns="place")


def draw(numbers: pd.DataFrame) -> Figure:
    figure = shapes.lines(
        numbers,
        panel="dataset",
        x="k",
        series="mechanism",
        value="precision",
        error="precision_se",
        xlabel="K",
        ylabel="Precision (%)",
        label=records.label,
        logx=True,
        percent=True,
        columns=2,
    )
    for ax in figure.axes:
        ax.set_ylim(-3, 105)
    return figure
