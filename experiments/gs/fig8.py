"""Figure 8 of gs: real and estimated L1 error against the group size w, over every w, with the best w and the chosen ones.

`gs_sizes` gives the curves: the real error, and the two estimates by which GS can choose w: as printed (the sample times Δ), or
by the mean row. The cost of a choice is how far its real error exceeds the lowest; the paper judges the tuning by it. Releases
of `gs` with a fixed w are drawn as dots, as a check of the curve.
"""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpbench.figures import style
from dpbench.figures.ticks import plain_numbers
from dpbench.storage.frame import estimates

CURVES = {"real": "Real", "printed": "Estimated, as printed", "mean_row": "Estimated by the mean row"}
LINES = {"real": "-", "printed": "--", "mean_row": "-."}
CHOSEN = {"best_w": "real", "printed_w": "printed", "mean_row_w": "mean_row"}

PRICES = {"printed": "as printed", "mean_row": "mean row", "private": "private mean"}
CAPTION = (
    "above each panel: by how much the real error of the w that this estimate chooses exceeds the error of the best w, as a mean "
    "over the trials; the paper's text says 1 % to 3.4 % (gs/tuned-every-size)"
)


def numbers(trials: pd.DataFrame) -> pd.DataFrame:
    """One row per dataset, curve and w: the mean L1, its standard error, and what the dataset's choices of w cost."""
    trials = estimates(trials)
    study = trials[trials["mechanism"] == "gs_sizes"]
    parts = [_curve(study, curve) for curve in CURVES]
    fixed = trials[(trials["mechanism"] == "gs") & (trials["mechanism.w"] != "auto")]
    if len(fixed):
        released = fixed.assign(w=fixed["mechanism.w"].astype(int)).groupby(["dataset", "w"], sort=False)["metric.l1"]
        parts.append(released.agg(l1="mean", l1_se="sem").reset_index().assign(curve="released"))
    table = pd.concat(parts, ignore_index=True)
    groups = study.groupby("dataset")
    for name in CHOSEN:
        table[name] = table["dataset"].map(groups[f"diagnostic.{name}"].median())
    lowest = groups["diagnostic.best_l1"].mean()
    for name in ("printed", "mean_row"):
        table[f"{name}_excess"] = table["dataset"].map(groups[f"diagnostic.{name}_excess"].mean())
        table[f"{name}_excess_se"] = table["dataset"].map(groups[f"diagnostic.{name}_excess"].sem())
    private = trials[trials["mechanism"] == "gs_private"].groupby("dataset")["metric.l1"].mean()
    return table.assign(private_excess=table["dataset"].map(private / lowest - 1))


def _curve(study: pd.DataFrame, curve: str) -> pd.DataFrame:
    start = f"diagnostic.{curve}_l1_at_"
    columns = {name: int(name.removeprefix(start)) for name in study.columns if name.startswith(start)}
    groups = study.groupby("dataset", sort=False)[list(columns)]
    long = pd.DataFrame({"l1": groups.mean().stack(), "l1_se": groups.sem().stack()}).dropna(subset="l1").reset_index()
    long["w"] = long.pop("level_1").map(columns)
    return long.assign(curve=curve)


def draw(numbers: pd.DataFrame) -> Figure:
    datasets = list(dict.fromkeys(numbers["dataset"]))
    figure, axes = style.panels(len(datasets), columns=2, width=3.5, height=2.6)
    for ax, dataset in zip(axes, datasets, strict=True):
        _panel(ax, numbers[numbers["dataset"] == dataset].sort_values("w"))
        plain_numbers(ax)
        ax.set_xlabel("w")
    for ax in axes[::2]:
        ax.set_ylabel("L1 norm")
    style.legend_above(figure, axes)
    return figure


def _panel(ax: Axes, part: pd.DataFrame) -> None:
    colours = dict(zip(CURVES, style.COLOURS, strict=False))
    for curve, label in CURVES.items():
        rows = part[part["curve"] == curve]
        ax.loglog(rows["w"], rows["l1"], LINES[curve], color=colours[curve], label=label)
    dots = part[part["curve"] == "released"]
    if len(dots):
        ax.loglog(dots["w"], dots["l1"], "o", color=colours["real"], markersize=3, label="Released with a fixed w")
    row = part.iloc[0]
    for name, curve in CHOSEN.items():
        label = "Best w" if curve == "real" else f"w chosen {'as printed' if curve == 'printed' else 'by the mean row'}"
        ax.axvline(row[name], color=colours[curve], linestyle=LINES[curve], linewidth=0.9, label=label)
    costs = [
        f"{words} {_percent(row[f'{name}_excess'])}"
        for name, words in PRICES.items()
        if pd.notna(row[f"{name}_excess"])
    ]
    ax.set_title(f"{style.name(row['dataset'])}\n", fontsize=9.5)
    ax.text(0.5, 1.02, ", ".join(costs), transform=ax.transAxes, ha="center", va="bottom", fontsize=7)


def _percent(excess: float) -> str:
    return f"{100 * excess:+,.{1 if abs(excess) < 0.1 else 0}f} %"
