"""Figure 5 of analytics: precision of the top K items by HPA's popularity estimate."""

import pandas as pd
from matplotlib.figure import Figure

from dpbench.engine.frame import summarise
from dpbench.figures import records, shapes


def numbers(trials: pd.DataFrame) -> pd.DataFrame:
    return records.top_k(summarise(trials, ["dataset"]))


def draw(numbers: pd.DataFrame) -> Figure:
    figure = shapes.lines(
        numbers,
        x="k",
        series="dataset",
        value="precision",
        error="precision_se",
        xlabel="K",
        ylabel="Precision (%)",
        logx=True,
        percent=True,
    )
    figure.axes[0].set_ylim(0, 105)
    return figure
