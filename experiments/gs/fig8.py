"""Figure 8 of gs: real and estimated L1 error against the group size w, with the real and the estimated best w.

The trials with `w=auto` give the size that GS chooses; those with a fixed w give the two curves.
"""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from dpbench.figures import style


def numbers(trials: pd.DataFrame) -> pd.DataFrame:
    fixed = trials[trials["mechanism.w"] != "auto"].copy()
    fixed["w"] = fixed["mechanism.w"].astype(int)
    curves = fixed.groupby(["dataset", "w"], sort=False)[["l1", "info.estimated_l1"]].agg(["mean", "sem"])
    curves.columns = ["real_l1", "real_l1_se", "estimated_l1", "estimated_l1_se"]
    curves = curves.reset_index()
    tuned = trials[trials["mechanism.w"] == "auto"].groupby("dataset")
    curves["tuned_w"] = curves["dataset"].map(tuned["info.w"].median())
    curves["tuned_real_l1"] = curves["dataset"].map(tuned["l1"].mean())
    best = curves.loc[curves.groupby("dataset")["real_l1"].idxmin()].set_index("dataset")
    curves["best_w"] = curves["dataset"].map(best["w"])
    curves["excess"] = curves["tuned_real_l1"] / curves["dataset"].map(best["real_l1"]) - 1
    return curves


def draw(numbers: pd.DataFrame) -> Figure:
    datasets = list(dict.fromkeys(numbers["dataset"]))
    figure, axes = style.panels(len(datasets), columns=2, width=3.6, height=2.7)
    for ax, dataset in zip(axes, datasets, strict=True):
        part = numbers[numbers["dataset"] == dataset].sort_values("w")
        ax.loglog(part["w"], part["real_l1"], color=style.COLOURS[0], marker="o", markersize=3, label="Real")
        ax.loglog(part["w"], part["estimated_l1"], color=style.COLOURS[1], marker="s", markersize=3, label="Estimated")
        best, tuned, excess = part[["best_w", "tuned_w", "excess"]].iloc[0]
        ax.axvline(best, color=style.COLOURS[0], linestyle=":", label="Real best w")
        ax.axvline(tuned, color=style.COLOURS[1], linestyle="--", label="Estimated best w")
        # What choosing by the estimate costs: the paper's measure of the tuning.
        cost = f" (tuned w: {excess:+,.{1 if abs(excess) < 0.1 else 0}%})" if np.isfinite(excess) else ""
        ax.set_title(style.name(dataset) + cost)
        ax.set_xlabel("w")
    for ax in axes[::2]:
        ax.set_ylabel("L1 norm")
    style.legend_above(figure, axes)
    return figure
