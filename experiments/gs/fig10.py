"""Figure 10 of gs: MRE against datasets, a panel an epsilon, all mechanisms."""

import pandas as pd
from matplotlib.figure import Figure

from dpbench.engine.frame import summarise
from dpbench.figures import shapes, style


def numbers(trials: pd.DataFrame) -> pd.DataFrame:
    return summarise(trials, ["epsilon", "dataset", "mechanism"])


def draw(numbers: pd.DataFrame) -> Figure:
    return shapes.bars(
        numbers,
        panel="epsilon",
        group="dataset",
        series="mechanism",
        value="mre",
        error="mre_se",
        ylabel="MRE (%)",
        title=lambda e: f"ε = {style.epsilon_name(e)}",
        percent=True,
    )
