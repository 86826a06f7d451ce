"""sensitivity, Section 4.4: MAE of DPSense and the θ it chooses against epsilon, with integer and with real candidates."""

import pandas as pd
from matplotlib.figure import Figure

from dpbench.figures import grids, style
from dpbench.storage.frame import summarise


def numbers(trials: pd.DataFrame) -> pd.DataFrame:
    by = ["dataset", "mechanism.step", "epsilon"]
    theta = trials.groupby(by, sort=False)["chosen.theta"].agg(theta="mean", theta_se="sem").reset_index()
    return summarise(trials, by).merge(theta, on=by).rename(columns={"mechanism.step": "step"})


def draw(numbers: pd.DataFrame) -> Figure:
    figure, axes = grids.by_metric(
        numbers,
        panel="dataset",
        x="epsilon",
        series="step",
        metrics={"mae": "MAE", "theta": "chosen θ"},
        xlabel="ε",
        label=lambda step: f"θ a multiple of {step:g}",
        look=lambda _, i: {"color": style.COLOURS[i], "marker": style.MARKERS[i], "linestyle": style.LINES[i]},
    )
    style.legend_above(figure, list(axes.values()))
    return figure
