"""analytics on original files: MSE, KL divergence and top-10 precision of the released item counts, one panel each.

The KL divergence is D(true || released), which an independent computation confirms.
"""

import pandas as pd
from matplotlib.figure import Figure

from dpbench.figures import records, shapes, style

PANELS = {"mse": ("MSE", 1.0), "kl_reverse": ("KL divergence, D(true || released)", 1.0)}
PANELS["precision_at_10"] = ("Top-10 precision (%)", 100.0)


def numbers(trials: pd.DataFrame) -> pd.DataFrame:
    return records.by_dataset(trials)


def draw(numbers: pd.DataFrame) -> Figure:
    figure, axes = style.panels(len(PANELS), columns=1, width=7.0, height=1.9)
    for ax, (metric, (title, factor)) in zip(axes, PANELS.items(), strict=True):
        records.points(ax, numbers, metric, factor=factor)
        ax.set_ylabel(title.replace(", D", ",\nD").replace(" precision", "\nprecision"))
    axes[0].set_yscale("log")
    axes[0].margins(y=0.08)
    shapes.from_zero(axes[1])
    axes[2].set_ylim(-4, 105)
    style.legend_above(figure, axes)
    return figure
