"""Figure 8 of gs: real and estimated L1 error against the group size w, with the real and the estimated best w.

The trials with `w=auto` give the size that GS chooses (`gs_mean`: by the sample scaled with the mean row); those with a
fixed w give the two curves.
"""

import pandas as pd
from matplotlib.figure import Figure

from dpbench.figures import style

TUNED = {"gs": "tuned", "gs_mean": "mean_row"}


def numbers(trials: pd.DataFrame) -> pd.DataFrame:
    auto = trials["mechanism.w"] == "auto"
    fixed = trials[~auto].assign(w=trials["mechanism.w"].where(~auto, 0).astype(int))
    curves = fixed.groupby(["dataset", "w"], sort=False)[["metric.l1", "chosen.estimated_l1"]].agg(["mean", "sem"])
    curves.columns = ["real_l1", "real_l1_se", "estimated_l1", "estimated_l1_se"]
    curves = curves.reset_index()
    best = curves.loc[curves.groupby("dataset")["real_l1"].idxmin()].set_index("dataset")
    curves["best_w"] = curves["dataset"].map(best["w"])
    for mechanism, name in TUNED.items():
        chosen = trials[auto & (trials["mechanism"] == mechanism)].groupby("dataset")
        curves[f"{name}_w"] = curves["dataset"].map(chosen["chosen.w"].median())
        real = curves["dataset"].map(chosen["metric.l1"].mean())
        curves[f"{name}_excess"] = real / curves["dataset"].map(best["real_l1"]) - 1
    return curves


def draw(numbers: pd.DataFrame) -> Figure:
    datasets = list(dict.fromkeys(numbers["dataset"]))
    figure, axes = style.panels(len(datasets), columns=2, width=3.9, height=2.8)
    real, estimated, mean = style.COLOURS[0], style.COLOURS[1], style.COLOURS[2]
    for ax, dataset in zip(axes, datasets, strict=True):
        part = numbers[numbers["dataset"] == dataset].sort_values("w")
        ax.loglog(part["w"], part["real_l1"], color=real, marker="o", markersize=3, label="Real")
        ax.loglog(part["w"], part["estimated_l1"], color=estimated, marker="s", markersize=3, label="Estimated")
        row = part.iloc[0]
        ax.axvline(row["best_w"], color=real, linestyle=":", label="Real best w")
        if pd.notna(row["tuned_w"]):
            ax.axvline(row["tuned_w"], color=estimated, linestyle="--", label="Estimated best w")
        if pd.notna(row["mean_row_w"]):
            ax.axvline(row["mean_row_w"], color=mean, linestyle="-.", label="Estimated by the mean row")
        # What choosing by an estimate costs: the paper's measure of the tuning.
        costs = [_percent(row[f"{name}_excess"]) for name in TUNED.values() if pd.notna(row[f"{name}_excess"])]
        ax.set_title(f"{style.name(dataset)}: tuned w costs {' / '.join(costs)}" if costs else style.name(dataset))
        ax.set_xlabel("w")
    for ax in axes[::2]:
        ax.set_ylabel("L1 norm")
    style.legend_above(figure, axes, columns=5)
    return figure


def _percent(excess: float) -> str:
    return f"{excess:+,.{1 if abs(excess) < 0.1 else 0}%}"
