"""sensitivity, Section 4.1: truncation and noise against θ if all rows have 20 ones. At θ = 20 nothing is truncated."""

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from dpbench.figures import style
from dpbench.storage.frame import summarise


def numbers(trials: pd.DataFrame) -> pd.DataFrame:
    by = ["dataset", "mechanism.theta", "epsilon"]
    table = summarise(trials, by).rename(columns={"mechanism.theta": "theta"})
    expected = trials.groupby(by, sort=False)["diagnostic.predicted_mae"].mean().to_numpy()
    noise = table["theta"] / table["epsilon"]
    return table.assign(noise=noise, truncation=expected - noise)


def draw(numbers: pd.DataFrame) -> Figure:
    figure, (ax,) = style.panels(1, width=4.6, height=2.8)
    part = numbers.sort_values("theta")
    ax.errorbar(
        part["theta"], part["mae"], yerr=part["mae_se"], marker="o", capsize=2, color=style.COLOURS[0], label="MAE"
    )
    ax.plot(
        part["theta"], part["truncation"], "--", color=style.COLOURS[1], label="truncation, by the quality function"
    )
    ax.plot(part["theta"], part["noise"], ":", color=style.COLOURS[2], label="noise, θ/ε")
    ax.set_ylim(bottom=0)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_xlabel("θ")
    ax.set_ylabel("error of a count")
    style.legend_above(figure, [ax])
    return figure
