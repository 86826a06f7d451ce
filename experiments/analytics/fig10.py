"""Figure 10 of analytics: records in the samples of SRA and HPA, beside those of the raw data."""

import pandas as pd
from matplotlib.figure import Figure

from dpbench.figures import records, shapes, style

CAPTION = "percentages: records in the sample, of those in the raw data"


def numbers(trials: pd.DataFrame) -> pd.DataFrame:
    chosen = records.paper_settings(trials)
    table = (
        chosen.groupby(["dataset", "mechanism"], sort=False)[["diagnostic.sample", "metric.reduction"]]
        .mean()
        .reset_index()
    )
    table = table.rename(columns={"diagnostic.sample": "records", "metric.reduction": "reduction"})
    raw = table.drop_duplicates("dataset").assign(
        mechanism="raw", records=lambda t: t["records"] / t["reduction"], reduction=1.0
    )
    return pd.concat([raw, table], ignore_index=True)


def draw(numbers: pd.DataFrame) -> Figure:
    figure, (ax,) = style.panels(1, width=5.2, height=2.7)
    records.points(ax, numbers, "records")
    table = numbers.set_index(["mechanism", "dataset"])
    datasets, members = shapes.ordered(numbers["dataset"]), shapes.ordered(numbers["mechanism"])
    for mechanism, places in zip(members, shapes.dodge(len(datasets), len(members)), strict=True):
        for x, dataset in zip(places, datasets, strict=True):
            if mechanism != "raw":
                row = table.loc[mechanism, dataset]
                text = f"{100 * row['reduction']:.2g} %"
                ax.annotate(
                    text, (x, row["records"]), (0, -5), textcoords="offset points", ha="center", va="top", fontsize=7
                )
    ax.set_yscale("log")
    ax.margins(y=0.14)
    ax.set_ylabel("Number of records")
    style.legend_above(figure, [ax])
    return figure
