"""sensitivity: the θ that DPSense and DPSense-S choose against epsilon, by the share of the budget spent on the choice.

Lines are medians, with the middle 90 % of the trials; crosses are the θ with the highest value of DPSense's quality function.
"""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpbench.figures import style
from dpbench.figures.ticks import plain_numbers, plain_ticks
from dpbench.storage.frame import estimates

MECHANISMS = ("dpsense", "dpsense_s")
CAPTION = (
    "lines: medians over the trials; shaded: the middle 90 % of the trials, between the 5th and the 95th percentile"
)


def numbers(trials: pd.DataFrame) -> pd.DataFrame:
    by = ["dataset", "mechanism", "mechanism.share", "epsilon"]
    groups = trials.groupby(by, sort=False)
    theta = groups["chosen.theta"]
    table = pd.DataFrame({"theta": theta.median(), "theta_p5": theta.quantile(0.05), "theta_p95": theta.quantile(0.95)})
    table["best_theta"] = groups["diagnostic.best_theta"].median()
    table["alpha"] = groups["chosen.alpha"].median()
    table["mae"] = estimates(trials).groupby(by, sort=False)["metric.mae"].mean()
    return table.reset_index().rename(columns={"mechanism.share": "share"})


def draw(numbers: pd.DataFrame) -> Figure:
    datasets = list(dict.fromkeys(numbers["dataset"]))
    figure, axes = style.panels(len(datasets) * len(MECHANISMS), columns=2, width=3.5, height=1.5)
    for at, ax in enumerate(axes):
        dataset, mechanism = datasets[at // 2], MECHANISMS[at % 2]
        part = numbers[(numbers["dataset"] == dataset) & (numbers["mechanism"] == mechanism)]
        panel(ax, part.sort_values("epsilon"), mechanism)
        ax.set_title(f"{style.name(dataset)}: {style.name(mechanism)}", fontsize=8.5, pad=3)
        if at >= len(axes) - 2:
            ax.set_xlabel("ε")
        if at % 2 == 0:
            ax.set_ylabel("chosen θ")
    style.legend_above(figure, axes)
    return figure


def panel(ax: Axes, numbers: pd.DataFrame, mechanism: str) -> None:
    shares = sorted(numbers["share"].unique())
    for i, share in enumerate(shares):
        part = numbers[numbers["share"] == share]
        look = {"color": style.COLOURS[i], "marker": style.MARKERS[i], "linestyle": style.LINES[i], "markersize": 4}
        ax.loglog(part["epsilon"], part["theta"], label=f"share {share:g} of ε spent on the choice", **look)
        band = {"color": style.COLOURS[i], "alpha": 0.1, "linewidth": 0}
        ax.fill_between(part["epsilon"], part["theta_p5"], part["theta_p95"], **band)
    if mechanism == "dpsense":
        best = numbers[numbers["share"] == shares[-1]]
        ax.loglog(
            best["epsilon"], best["best_theta"], "kx", markersize=5, label=f"θ of the highest q, share {shares[-1]:g}"
        )
    plain_ticks(ax, sorted(numbers["epsilon"].unique()))
    plain_numbers(ax)
