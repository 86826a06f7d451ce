"""Figure 11 of analytics: share of the records on each day of the week, in the raw data and in the samples."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from dpbench.figures import records, shapes, style
from dpbench.storage.frame import moments

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def numbers(trials: pd.DataFrame) -> pd.DataFrame:
    rows = []
    for mechanism, part in trials.groupby("mechanism", sort=False):
        for day, name in enumerate(DAYS):
            for series, column in (("raw", f"metric.raw_share_{day}"), (mechanism, f"metric.sample_share_{day}")):
                mean, error = moments(part, ["mechanism"], [column])
                rows.append(
                    {"series": series, "day": name, "share": mean[column].iloc[0], "share_se": error[column].iloc[0]}
                )
    table = pd.DataFrame(rows).drop_duplicates(["series", "day"])
    return table.sort_values("series", key=lambda s: s.map({k: i for i, k in enumerate(shapes.ordered(s))}))


def draw(numbers: pd.DataFrame) -> Figure:
    figure, (ax,) = style.panels(1, width=5.2, height=2.9)
    members = shapes.ordered(numbers["series"])
    width = 0.84 / len(members)
    for i, member in enumerate(members):
        part = numbers[numbers["series"] == member].set_index("day").loc[list(DAYS)]
        ax.bar(
            np.arange(len(DAYS)) + (i - (len(members) - 1) / 2) * width,
            100 * part["share"],
            width * 0.92,
            yerr=(100 * part["share_se"]).fillna(0.0),
            error_kw={"elinewidth": 0.9, "capsize": 1.5},
            color=records.look(member, i)["color"],
            hatch="" if member == "raw" else style.hatch(member, i),
            edgecolor="white",
            linewidth=0,
            label=records.label(member),
        )
    ax.set_xticks(range(len(DAYS)), DAYS)
    ax.grid(axis="x", visible=False)
    ax.set_ylabel("Records (%)")
    ax.set_ylim(bottom=0)
    style.legend_above(figure, [ax])
    return figure
