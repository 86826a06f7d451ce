"""What the figures of analytics share: its choice of l by dataset, its names, and one panel per measure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpbench.figures import shapes, style
from dpbench.figures.shapes import ordered
from dpbench.results.frame import summarise

L = 10
L_BY_DATASET = {"movielens": 30}
"""l of the samples if it is not 10 (analytics, Section 6)."""


MOST_BARS = 24
"""Font size in a panel beside others."""


def label(mechanism: object) -> str:
    """The paper's name of a mechanism: it calls FPA by its transform. `raw` is not a mechanism but the data itself."""
    return style.name(mechanism, {"fpa": "DFT (FPA)", "raw": "Raw data"}.get(str(mechanism), ""))


def colour(mechanism: object, position: int) -> str:
    return "#7F7F7F" if mechanism == "raw" else style.look(mechanism, position)["color"]


def paper_settings(trials: pd.DataFrame) -> pd.DataFrame:
    """Of the trials with several l, those with the paper's l for the dataset; mechanisms without l stay."""
    if "mechanism.l" not in trials:
        return trials
    wanted = trials["dataset"].str.removesuffix(style.FILES).map(L_BY_DATASET).fillna(L)
    return trials[trials["mechanism.l"].isna() | (trials["mechanism.l"] == wanted)]


def by_dataset(trials: pd.DataFrame) -> pd.DataFrame:
    """Means over the trials, one row per dataset and mechanism."""
    return summarise(paper_settings(trials), ["dataset", "mechanism"])


def bars(ax: Axes, numbers: pd.DataFrame, value: str, *, factor: float = 1.0) -> None:
    """One group of bars per dataset, one bar per mechanism, with standard errors."""
    groups, members = ordered(numbers["dataset"]), ordered(numbers["mechanism"])
    width = 0.84 / len(members)
    table = numbers.set_index(["dataset", "mechanism"])
    for i, member in enumerate(members):
        rows = table.reindex([(group, member) for group in groups])
        ax.bar(
            np.arange(len(groups)) + (i - (len(members) - 1) / 2) * width,
            rows[value] * factor,
            width * 0.92,
            yerr=(rows[f"{value}_se"] * factor).fillna(0.0) if f"{value}_se" in rows else None,
            error_kw={"elinewidth": 0.9, "capsize": 1.5},
            color=colour(member, i),
            hatch=style.HATCHES[i % len(style.HATCHES)],
            edgecolor="white",
            linewidth=0,
            label=label(member),
        )
    ax.set_xticks(range(len(groups)), [style.name(group) for group in groups])
    ax.grid(axis="x", visible=False)


def utility(numbers: pd.DataFrame, prefix: str = "") -> Figure:
    """Figures 7 and 8: mean squared error, KL divergence and precision of the top 10, one panel each."""
    crowded = numbers["dataset"].nunique() * numbers["mechanism"].nunique() > MOST_BARS
    figure, axes = style.panels(3, *((1, 7.2, 1.9) if crowded else (None, 3.9, 2.8)))
    panels: Sequence[tuple[str, str, float]] = (
        ("mse", "MSE", 1.0),
        ("kl", "KL divergence", 1.0),
        ("precision_at_10", "Top-10 precision (%)", 100.0),
    )
    for ax, (metric, title, factor), letter in zip(axes, panels, "abc", strict=True):
        bars(ax, numbers, f"{prefix}{metric}", factor=factor)
        ax.set_title(f"({letter}) {title}")
    axes[0].set_yscale("log")
    axes[2].set_ylim(0, 105)
    style.legend_above(figure, axes, columns=4 if crowded else 6)
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


def precision(numbers: pd.DataFrame, *, series: str, panel: str | None = None) -> Figure:
    """Figures 5 and 9: the rows of `top_k` as lines against K, 0 to 100 % with space for the markers."""
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
    )
    for ax in figure.axes:
        ax.set_ylim(-3, 105)
    return figure
