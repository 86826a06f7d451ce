"""Lines of several metrics at once: one column of panels per dataset, one row per metric. Tidy numbers in, a figure out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpbench.figures import style
from dpbench.figures.shapes import ordered
from dpbench.figures.ticks import plain_numbers, plain_ticks


def by_metric(
    numbers: pd.DataFrame,
    *,
    panel: str,
    x: str,
    series: str,
    metrics: Mapping[str, str],
    xlabel: str,
    label: Callable[[Any], str] = style.name,
    look: Callable[[Any, int], dict[str, str]] = style.look,
    width: float = 2.5,
    height: float = 2.3,
) -> tuple[Figure, dict[tuple[Any, str], Axes]]:
    """Log-log lines over `x`, one per series, with standard errors; `metrics`: column -> label of its row.

    Returns the axes by (panel, metric) too, for what a figure adds to them.
    """
    kinds, members = ordered(numbers[panel]), ordered(numbers[series])
    figure, flat = style.panels(len(kinds) * len(metrics), columns=len(kinds), width=width, height=height)
    places = [(kind, metric) for metric in metrics for kind in kinds]
    axes = dict(zip(places, flat, strict=True))
    for (kind, metric), ax in axes.items():
        part = numbers[numbers[panel] == kind]
        for i, member in enumerate(members):
            rows = part[part[series] == member].sort_values(x)
            spread = rows.get(f"{metric}_se")
            looks = {"capsize": 2, "elinewidth": 0.9, "markersize": 4, **look(member, i)}
            ax.errorbar(rows[x], rows[metric], yerr=spread, label=label(member), **looks)
        ax.set_xscale("log")
        ax.set_yscale("log")
        if metric == next(iter(metrics)):
            ax.set_title(style.name(kind))
        if metric == list(metrics)[-1]:
            ax.set_xlabel(xlabel)
        if kind == kinds[0]:
            ax.set_ylabel(metrics[metric])
        plain_ticks(ax, sorted(part[x].unique()))
        plain_numbers(ax)
    return figure, axes
