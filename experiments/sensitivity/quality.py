"""sensitivity: MAE of DPSense with a fixed θ, and the error that the quality function predicts, ac(D) - q(D, θ), by dataset.

The paper says that q approximates the utility very well. `excess` is the cost of relying on q: how far the MAE at the θ with
the highest q is above the lowest MAE.
"""

import pandas as pd
from matplotlib.figure import Figure

from dpbench.figures import style
from dpbench.figures.ticks import plain_numbers, plain_ticks
from dpbench.storage.frame import estimates, moments


def numbers(trials: pd.DataFrame) -> pd.DataFrame:
    columns = {"metric.mae": "mae", "diagnostic.predicted_mae": "expected_mae"}
    mean, error = moments(estimates(trials), ["dataset", "mechanism.theta"], list(columns))
    table = mean.rename(columns=columns).assign(mae_se=error["metric.mae"])
    table = table.reset_index().rename(columns={"mechanism.theta": "theta"})
    best, liked = (
        table.loc[table.groupby("dataset")[c].idxmin()].set_index("dataset") for c in ("mae", "expected_mae")
    )
    table["best_theta"] = table["dataset"].map(best["theta"])
    table["liked_theta"] = table["dataset"].map(liked["theta"])
    table["excess"] = table["dataset"].map(liked["mae"] / best["mae"] - 1)
    return table


def draw(numbers: pd.DataFrame) -> Figure:
    datasets = list(dict.fromkeys(numbers["dataset"]))
    figure, axes = style.panels(len(datasets), columns=3, width=2.9, height=2.2)
    for ax, dataset in zip(axes, datasets, strict=True):
        part = numbers[numbers["dataset"] == dataset].sort_values("theta")
        ax.loglog(part["theta"], part["mae"], color=style.COLOURS[0], marker="o", markersize=3, label="MAE")
        ax.loglog(
            part["theta"],
            part["expected_mae"],
            color=style.COLOURS[1],
            linestyle="--",
            label="expected: average count - q",
        )
        liked, excess = part[["liked_theta", "excess"]].iloc[0]
        ax.axvline(liked, color=style.COLOURS[1], linestyle=":", label="θ of the highest q")
        ax.set_title(f"{style.name(dataset)}\n", fontsize=9.5)
        told = f"MAE at this θ: {100 * abs(excess):.1f} % above the lowest"
        ax.text(0.5, 1.03, told, transform=ax.transAxes, ha="center", va="bottom", fontsize=7)
        ax.set_xlabel("θ")
        most = part["theta"].max()
        places = (1, 3, 10, 30) if most <= 100 else (1, 10, 100, 1000) if most <= 3000 else (1, 100, 10000)
        plain_ticks(ax, [theta for theta in places if theta <= most])
        plain_numbers(ax)
    for ax in axes[::3]:
        ax.set_ylabel("MAE")
    style.legend_above(figure, axes)
    return figure
