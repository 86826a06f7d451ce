"""sensitivity: MAE of DPSense with a fixed θ beside the error predicted by q, ac(D) - q(D, θ), one panel per dataset.

The paper says that q approximates the utility very well; `excess` is the cost of relying on it: how far the MAE at q's
best θ is above the lowest.
"""

import pandas as pd
from matplotlib.figure import Figure

from dpbench.figures import style
from dpbench.figures.grids import plain_numbers
from dpbench.results.frame import moments


def numbers(trials: pd.DataFrame) -> pd.DataFrame:
    columns = {"metric.mae": "mae", "diagnostic.predicted_mae": "expected_mae"}
    mean, error = moments(trials, ["dataset", "mechanism.theta"], list(columns))
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
    figure, axes = style.panels(len(datasets), columns=3, width=2.9, height=2.4)
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
        ax.set_title(f"{style.name(dataset)}, {abs(excess):.1%} above the lowest", fontsize=9)
        ax.set_xlabel("θ")
        plain_numbers(ax)
    for ax in axes[::3]:
        ax.set_ylabel("MAE")
    style.legend_above(figure, axes)
    return figure
