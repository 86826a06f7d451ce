"""sensitivity: MAE and MRE against epsilon, a column a dataset, for sensitivity control and what it is compared with.

DPSense limits rows by scaling, as the paper does, and by sampling, which it says is much the same.
"""

import pandas as pd
from matplotlib.figure import Figure

from dpbench.figures import grids, style
from dpbench.results.frame import summarise

SAMPLED = "DPSense, sampled rows"


def numbers(trials: pd.DataFrame) -> pd.DataFrame:
    trials = trials.assign(mechanism=trials["mechanism"].mask(trials["mechanism.limit"] == "sample", SAMPLED))
    return summarise(trials, ["dataset", "mechanism", "epsilon"])


def look(mechanism: str, position: int) -> dict[str, str]:
    if mechanism == SAMPLED:
        return {"color": style.look("dpsense", 0)["color"], "marker": "", "linestyle": ":"}
    return style.look(mechanism, position)


def label(mechanism: str) -> str:
    return style.name("dpsense", SAMPLED) if mechanism == SAMPLED else style.name(mechanism)


def draw(numbers: pd.DataFrame) -> Figure:
    metrics = {"mae": "MAE", "mre": "MRE"}
    figure, axes = grids.by_metric(
        numbers, panel="dataset", x="epsilon", series="mechanism", metrics=metrics, xlabel="ε", label=label, look=look
    )
    style.legend_above(figure, list(axes.values()), columns=7)
    return figure
