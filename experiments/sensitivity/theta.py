"""sensitivity: the θ that DPSense and DPSense-S choose against epsilon, by the share of the budget spent on the choice.

Lines are medians, with the middle 90 % of the trials for DPSense; crosses are the θ with the highest quality.
"""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpbench.figures import style
from dpbench.figures.grids import plain_numbers, plain_ticks

LINES = {"dpsense": "-", "dpsense_s": "--"}


def numbers(trials: pd.DataFrame) -> pd.DataFrame:
    groups = trials.groupby(["dataset", "mechanism", "mechanism.share", "epsilon"], sort=False)
    theta = groups["chosen.theta"]
    table = pd.DataFrame({"theta": theta.median(), "theta_p5": theta.quantile(0.05), "theta_p95": theta.quantile(0.95)})
    table["best_theta"] = groups["diagnostic.best_theta"].median()
    table["alpha"] = groups["chosen.alpha"].median()
    table["mae"] = groups["metric.mae"].mean()
    return table.reset_index().rename(columns={"mechanism.share": "share"})


def draw(numbers: pd.DataFrame) -> Figure:
    datasets = list(dict.fromkeys(numbers["dataset"]))
    figure, axes = style.panels(len(datasets), columns=3, width=2.9, height=2.5)
    for ax, dataset in zip(axes, datasets, strict=True):
        panel(ax, numbers[numbers["dataset"] == dataset].sort_values("epsilon"))
        ax.set_title(style.name(dataset))
        ax.set_xlabel("ε")
    for ax in axes[::3]:
        ax.set_ylabel("chosen θ")
    style.legend_above(figure, axes, columns=4)
    return figure


def panel(ax: Axes, numbers: pd.DataFrame) -> None:
    shares = sorted(numbers["share"].unique())
    for mechanism, line in LINES.items():
        for i, share in enumerate(shares):
            part = numbers[(numbers["mechanism"] == mechanism) & (numbers["share"] == share)]
            x, look = part["epsilon"], {"color": style.COLOURS[i], "marker": style.MARKERS[i], "markersize": 4}
            ax.loglog(x, part["theta"], line, label=f"{style.name(mechanism)}, share {share:g}", **look)
            if mechanism == "dpsense":
                ax.fill_between(x, part["theta_p5"], part["theta_p95"], color=style.COLOURS[i], alpha=0.1, linewidth=0)
    best = numbers[(numbers["mechanism"] == "dpsense") & (numbers["share"] == shares[-1])]
    ax.loglog(best["epsilon"], best["best_theta"], "kx", markersize=5, label=f"highest q, share {shares[-1]:g}")
    plain_ticks(ax, sorted(numbers["epsilon"].unique()))
    plain_numbers(ax)
