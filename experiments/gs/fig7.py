"""Figure 7 of gs: MAE of GS-S with column, row and no sampling against epsilon, one panel per dataset."""

import pandas as pd
from matplotlib.figure import Figure

from dpbench.figures import shapes, style
from dpbench.figures.captions import Stated
from dpbench.storage.frame import summarise

CAPTION = "56 % less: than the error without sampling here, as the paper's text says of its own"


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
        logy=True,
        stated=_saved(numbers),
    )


def _saved(numbers: pd.DataFrame) -> list[Stated]:
    """The text says: on Document at ε = 0.1, column sampling saves 56 % of the error without sampling."""
    plain = numbers[(numbers["mechanism.sampling"] == "none") & (numbers["epsilon"] == 0.1)]
    at = {"dataset": "document", "epsilon": 0.1, "mechanism.sampling": "column"}
    errors = plain[plain["dataset"] == "document"]["mae"]
    return [Stated("gs/column-saves", (1 - 0.56) * value, "56 % less", at) for value in errors]
