"""Throughput, of sparse: non-zero entries per second against density, shortcut and laborious forms of every method.

Only the release is timed. The median over trials is shown, because the first trial in a process is slow.
"""

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from dpbench.figures import shapes, style

ERROR_BARS = "points and error bars: median and quartiles over the trials"


def numbers(trials: pd.DataFrame) -> pd.DataFrame:
    form = trials["mechanism.laborious"].fillna(False).map({True: "laborious", False: "shortcut"})
    sizes = {name: trials[f"metric.{name}"] for name in ("density", "nonzeros")}
    rate = trials.assign(form=form, rate=trials["metric.nonzeros"] / trials["seconds"], **sizes)
    keys = ["mechanism", "form", "density", "nonzeros"]
    groups = rate.groupby(keys, sort=False)
    table = groups[["seconds", "rate"]].median()
    table["rate_low"], table["rate_high"] = groups["rate"].quantile(0.25), groups["rate"].quantile(0.75)
    return table.reset_index()


def draw(numbers: pd.DataFrame) -> Figure:
    figure, (ax,) = style.panels(1, width=4.6, height=3.2)
    for i, mechanism in enumerate(shapes.ordered(numbers["mechanism"])):
        look = style.look(mechanism, i)
        for form in ("shortcut", "laborious"):
            rows = numbers[(numbers["mechanism"] == mechanism) & (numbers["form"] == form)].sort_values("density")
            dense = form == "laborious" or mechanism == "geometric"
            label = style.name(mechanism) if form == "shortcut" else None
            spread = [rows["rate"] - rows["rate_low"], rows["rate_high"] - rows["rate"]]
            dash = "--" if dense else "-"
            ax.errorbar(
                100 * rows["density"], rows["rate"], spread, label=label, capsize=2, **(look | {"linestyle": dash})
            )
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel("density (%)")
    ax.set_ylabel("non-zero entries per second")
    style.legend_above(figure, [ax])
    forms = [Line2D([], [], color="#555555", linestyle=dash) for dash in ("-", "--")]
    ax.legend(forms, ["shortcut", "whole table"], loc="lower right")
    return figure
