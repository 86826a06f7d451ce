"""Figure 10 of analytics: records in the samples of SRA and HPA, beside those of the raw data."""

import pandas as pd
from matplotlib.figure import Figure

from dpbench.figures import records, shapes, style


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
    figure, (ax,) = style.panels(1, width=5.2, height=2.9)
    records.bars(ax, numbers, "records")
    shares = numbers.set_index(["mechanism", "dataset"])["reduction"]
    for mechanism, drawn in zip(shapes.ordered(numbers["mechanism"]), ax.containers, strict=True):
        if mechanism != "raw":
            texts = [f"{shares[mechanism, dataset]:.1%}" for dataset in shapes.ordered(numbers["dataset"])]
            ax.bar_label(drawn, texts, fontsize=7, rotation=90, padding=2)
    ax.set_yscale("log")
    ax.set_ylabel("Number of records")
    style.legend_above(figure, [ax])
    return figure
