"""Figure 6 of analytics: mean squared error of item and edge counts against l, with Equation 22's best l."""

import pandas as pd
from matplotlib.figure import Figure

from dpbench.figures import shapes, style
from dpbench.results.frame import summarise

PANELS = {"mse": "Item counts", "edge_mse": "Edge counts"}


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
            ax.plot(best["l"], best["mse"], "o", mfc="none", ms=11, color=style.look(member, i)["color"])
        # The model is a random sample, so the line is drawn for SRA.
        random = part[part["mechanism"] == "sra"]["equation_22"]
        if not random.empty:
            ax.axvline(random.iloc[0], color="#7F7F7F", linestyle=":", label="Equation 22")
    for legend in list(figure.legends):
        legend.remove()
    style.legend_above(figure, figure.axes)
    return figure
