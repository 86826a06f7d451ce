"""What the figures of analytics share: its choice of l by dataset, its names, and one panel per measure."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpbench.figures import shapes, style
from dpbench.figures.captions import Stated
from dpbench.figures.shapes import ordered
from dpbench.figures.ticks import plain_ticks
from dpbench.storage.frame import summarise

L = 10
L_BY_DATASET = {"movielens": 30}
"""l of the samples if it is not 10 (analytics, Section 6)."""


RAW = {"color": "#7F7F7F", "marker": "h", "linestyle": "-"}
"""The look of the raw data."""


def label(mechanism: object) -> str:
    """The paper's name of a mechanism: FPA has the name of its transform there. `raw` is the data itself, not a mechanism."""
    return style.name(mechanism, {"fpa": "DFT (FPA)", "raw": "Raw data"}.get(str(mechanism), ""))


def paper_settings(trials: pd.DataFrame) -> pd.DataFrame:
    """The trials with the paper's l for their dataset, and those of mechanisms without l."""
    if "mechanism.l" not in trials:
        return trials
    wanted = trials["dataset"].str.removesuffix(style.FILES).map(L_BY_DATASET).fillna(L)
    return trials[trials["mechanism.l"].isna() | (trials["mechanism.l"] == wanted)]


def by_dataset(trials: pd.DataFrame) -> pd.DataFrame:
    """Means over the trials, one row per dataset and mechanism."""
    return summarise(paper_settings(trials), ["dataset", "mechanism"])


def look(mechanism: object, position: int) -> dict[str, str]:
    return RAW if mechanism == "raw" else style.look(mechanism, position)


def points(ax: Axes, numbers: pd.DataFrame, value: str, *, factor: float = 1.0, stated: Sequence[Stated] = ()) -> None:
    """One group of points per dataset, one point per mechanism, with standard errors."""
    shapes.points(
        ax,
        numbers,
        group="dataset",
        series="mechanism",
        value=value,
        groups=ordered(numbers["dataset"]),
        members=ordered(numbers["mechanism"]),
        factor=factor,
        label=label,
        look=look,
        stated=stated,
    )


def utility(numbers: pd.DataFrame, prefix: str = "", *, stated: Sequence[Stated] = ()) -> Figure:
    """Figures 7 and 8: mean squared error, KL divergence and precision of the top 10, one panel each.

    `stated`: the paper's numbers of the precision.
    """
    figure, axes = style.panels(3, 1, style.PAGE, 1.9)
    panels: Sequence[tuple[str, str, float]] = (
        ("mse", "MSE", 1.0),
        ("kl", "KL divergence", 1.0),
        ("precision_at_10", "Top-10 precision (%)", 100.0),
    )
    for ax, (metric, title, factor), letter in zip(axes, panels, "abc", strict=True):
        points(ax, numbers, f"{prefix}{metric}", factor=factor, stated=stated if ax is axes[2] else ())
        ax.set_title(f"({letter}) {title}", loc="left")
    axes[0].set_yscale("log")
    axes[0].margins(y=0.08)
    shapes.from_zero(axes[1])
    axes[2].set_ylim(-4, 105)
    style.legend_above(figure, axes)
    return figure


def top_k(numbers: pd.DataFrame, columns: str = "precision_at_") -> pd.DataFrame:
    """The precision columns as rows: the other columns, `k`, `precision` and its standard error."""
    keys = [c for c in ("dataset", "mechanism") if c in numbers]
    parts = []
    for name in numbers.columns:
        k = name.removeprefix(columns)
        if name.startswith(columns) and k.isdigit():
            part = numbers[[*keys, name, f"{name}_se"]].set_axis([*keys, "precision", "precision_se"], axis=1)
            parts.append(part.assign(k=int(k)))
    return pd.concat(parts, ignore_index=True).dropna(subset=["precision"]).sort_values([*keys, "k"], kind="stable")


def precision(numbers: pd.DataFrame, *, series: str, panel: str | None = None, stated: Sequence[Stated] = ()) -> Figure:
    """Figures 5 and 9: the rows of `top_k` as lines against K, 0 to 100 % with room for the markers."""
    figure = shapes.lines(
        numbers,
        panel=panel,
        x="k",
        series=series,
        value="precision",
        error="precision_se",
        xlabel="K",
        ylabel="Precision (%)",
        label=label,
        logx=True,
        percent=True,
        columns=2,
        size=(3.4 if panel else 4.4, 2.4),
        stated=stated,
    )
    for ax in figure.axes:
        ax.set_ylim(-3, 105)
        plain_ticks(ax, [1, 10, 100, 1000])
    return figure
