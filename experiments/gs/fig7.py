"""Figure 7 of gs: MAE of GS-S with column, row and no sampling against epsilon, one panel per dataset."""

import pandas as pd
from matplotlib.figure import Figure

from dpbench.figures import shapes, style
from dpbench.results.frame import summarise


def numbers(trials: pd.DataFrame) -> pd.DataFrame:
    return summarise(trials, ["dataset", "mechanism.sampling", "epsilon"])


def draw(numbers: pd.DataFrame) -> Figure:
    return shapes.lines(
        numbers,
        panel="dataset",
        x="epsilon",
        series="mechanism.sampling",
        value="mae",
        error="mae_se",
        xlabel="ε",
        ylabel="MAE",
        ticks=style.epsilon_name,
        columns=2,
        zero=True,
    )
