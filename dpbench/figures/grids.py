"""Lines of several metrics at once: one panel per dataset and metric. Tidy numbers in, a figure out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpbench.figures import captions, style
from dpbench.figures.shapes import ordered
from dpbench.figures.ticks import plain_numbers, plain_ticks

TALL = 3
"""With more panels than this, each panel gets a row, with its metrics side by side."""


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
    height: float = 2.1,
) -> tuple[Figure, dict[tuple[Any, str], Axes]]:
    """Log-log lines over `x`, one per series, with standard errors; `metrics`: column -> its label.

    The points of one x stand a little beside each other, so that series with equal values are all seen. Also returns the axes,
    by (panel, metric), for whatever a script adds to them.
    """
    kinds, members = ordered(numbers[panel]), ordered(numbers[series])
    tall = len(kinds) > TALL
    columns = len(metrics) if tall else len(kinds)
    figure, flat = style.panels(
        len(kinds) * len(metrics), columns=columns, width=style.PAGE / max(2, columns), height=1.5 if tall else height
    )
    places = [(k, m) for k in kinds for m in metrics] if tall else [(k, m) for m in metrics for k in kinds]
    axes = dict(zip(places, flat, strict=True))
    for (kind, metric), ax in axes.items():
        part = numbers[numbers[panel] == kind]
        for i, member in enumerate(members):
            rows = part[part[series] == member].sort_values(x)
            spread = rows.get(f"{metric}_se")
            looks = {"capsize": 1.5, "elinewidth": 0.8, "markersize": 4, **look(member, i)}
            ax.errorbar(rows[x] * _aside(i, len(members)), rows[metric], yerr=spread, label=label(member), **looks)
        ax.set_xscale("log")
        ax.set_yscale("log")
        plain_ticks(ax, sorted(part[x].unique()))
        plain_numbers(ax)
    if len(members) > 1:
        captions.tell(figure, f"the points of one {xlabel} stand side by side, so that equal ones are all seen")
    last = {(kinds[-1], m) for m in metrics} if tall else {(k, list(metrics)[-1]) for k in kinds}
    for (kind, metric), ax in axes.items():
        if tall:
            ax.set_title(f"{style.name(kind)}: {metrics[metric]}", fontsize=8.5, pad=3)
        else:
            if metric == next(iter(metrics)):
                ax.set_title(style.name(kind))
            if kind == kinds[0]:
                ax.set_ylabel(metrics[metric])
        if (kind, metric) in last:
            ax.set_xlabel(xlabel)
        elif tall:
            ax.tick_params(labelbottom=False)
    return figure, axes


def _aside(position: int, members: int) -> float:
    """The factor by which the points of a series are moved along a log x axis; all series stay within a sixth of x."""
    return float(1.17 ** ((position - (members - 1) / 2) / max(members, 2)))
