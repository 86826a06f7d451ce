"""Figure 6 of analytics: mean squared error of item and edge counts against l, with Equation 22's best l."""

import pandas as pd
from matplotlib.figure import Figure

from dpbench.figures import captions, shapes, style
from dpbench.figures.captions import Stated
from dpbench.figures.ticks import plain_ticks
from dpbench.storage.frame import summarise

PANELS = {"mse": "Item counts", "edge_mse": "Edge counts"}

STATED = {
    "Item counts": Stated("analytics/best-l-items", 30, "best l = 30"),
    "Edge counts": Stated("analytics/best-l-edges", 5, "best l = 5"),
}
"""Section 6.2."""


def numbers(trials: pd.DataFrame) -> pd.DataFrame:
    table = summarise(trials, ["dataset", "mechanism", "mechanism.l"]).rename(columns={"mechanism.l": "l"})
    parts = []
    for metric, counts in PANELS.items():
        chosen = table[["dataset", "mechanism", "l", metric, f"{metric}_se"]]
        chosen = chosen.set_axis(["dataset", "mechanism", "l", "mse", "mse_se"], axis=1).assign(counts=counts)
        best = chosen.loc[chosen.groupby(["dataset", "mechanism"])["mse"].idxmin()]
        chosen["best_l"] = chosen[["dataset", "mechanism"]].merge(best)["l"]
        chosen["equation_22"] = table[metric.replace("mse", "optimal_l")]
        parts.append(chosen)
    return pd.concat(parts, ignore_index=True)


def draw(numbers: pd.DataFrame) -> Figure:
    figure = shapes.lines(
        numbers,
        panel="counts",
        x="l",
        series="mechanism",
        value="mse",
        error="mse_se",
        xlabel="l",
        ylabel="MSE",
        logx=True,
        logy=True,
        title=str,
    )
    for ax, counts in zip(figure.axes, shapes.ordered(numbers["counts"]), strict=True):
        part = numbers[numbers["counts"] == counts]
        for i, (member, rows) in enumerate(part.groupby("mechanism", sort=False)):
            best = rows.loc[rows["mse"].idxmin()]
            ring = {"mfc": "none", "ms": 11, "linestyle": "", "color": style.look(member, i)["color"]}
            ax.plot(best["l"], best["mse"], "o", label=f"lowest of {style.name(member)}", **ring)
        if counts in STATED:  # the text states the best l, but not its error
            captions.cross(ax, STATED[counts].value, 0.95, STATED[counts], transform=ax.get_xaxis_transform())
        # Equation 22 assumes a random sample, so only the l for SRA is drawn.
        random = part[part["mechanism"] == "sra"]["equation_22"]
        if not random.empty:
            ax.axvline(random.iloc[0], color="#7F7F7F", linestyle=":", label="best l by Equation 22")
        ax.margins(y=0.12)  # room for the cross above the curves
        plain_ticks(ax, [1, 3, 10, 30, 100])
    style.legend_above(figure, figure.axes)
    return figure
