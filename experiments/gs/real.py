"""gs on original files: MAE and MRE of every mechanism against epsilon, one panel per dataset and error."""

import pandas as pd
from matplotlib.figure import Figure

from dpbench.figures import grids, shapes, style
from dpbench.storage.frame import summarise

ERRORS = {"mae": "MAE", "mre": "MRE"}


def numbers(trials: pd.DataFrame) -> pd.DataFrame:
    return summarise(trials, ["dataset", "mechanism", "epsilon"])


def draw(numbers: pd.DataFrame) -> Figure:
    parts = [
        numbers.assign(panel=numbers["dataset"].map(style.name) + f": {error}", error=numbers[m], se=numbers[f"{m}_se"])
        for m, error in ERRORS.items()
    ]
    figure = shapes.lines(
        pd.concat(parts, ignore_index=True),
        panel="panel",
        x="epsilon",
        series="mechanism",
        value="error",
        error="se",
        xlabel="ε",
        ylabel="",
        ticks=style.epsilon_name,
        columns=4,
        logy=True,
        size=(1.75, 1.9),
    )
    for ax in figure.axes:
        grids.plain_numbers(ax)
    return figure
