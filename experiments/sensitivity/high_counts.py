"""sensitivity, Section 3.2: MAE of the highest 1 % of the counts beside that of the others, one panel per dataset."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from dpbench.figures import shapes, style
from dpbench.figures.ticks import plain_numbers
from dpbench.storage.frame import summarise

PARTS = {"mae_high": "highest 1 % of the counts", "mae_others": "all others"}


def numbers(trials: pd.DataFrame) -> pd.DataFrame:
    return summarise(trials, ["dataset", "mechanism"])


def draw(numbers: pd.DataFrame) -> Figure:
    datasets, members = shapes.ordered(numbers["dataset"]), shapes.ordered(numbers["mechanism"])
    figure, axes = style.panels(len(datasets), columns=3, width=2.9, height=2.3)
    for ax, dataset in zip(axes, datasets, strict=True):
        part = numbers[numbers["dataset"] == dataset].set_index("mechanism").reindex(members)
        for i, (metric, label) in enumerate(PARTS.items()):
            look = {"color": style.COLOURS[i], "marker": style.MARKERS[i], "linestyle": "", "capsize": 2}
            x = np.arange(len(members)) + (i - 0.5) * 0.2
            ax.errorbar(x, part[metric], yerr=part[f"{metric}_se"], label=label, **look)
        ax.set_yscale("log")
        ax.set_xticks(
            range(len(members)), [style.name(member) for member in members], rotation=25, ha="right", fontsize=7
        )
        plain_numbers(ax)
        ax.set_title(style.name(dataset))
        ax.grid(axis="x", visible=False)
    for ax in axes[::3]:
        ax.set_ylabel("MAE")
    style.legend_above(figure, axes)
    return figure
