"""The few types of the papers' figures: grouped bars, lines, and tables. Tidy numbers in, a figure out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from dpbench.figures import style
from dpbench.results.frame import DATA_SEED

WIDE = 4.5
"""Width of a panel of bars, in inches, above which panels are placed one below the other."""


def ordered(values: pd.Series) -> list[Any]:
    """Distinct values in the order of their first appearance, which is the plan's order."""
    return list(dict.fromkeys(values))


def bars(
    numbers: pd.DataFrame,
    *,
    panel: str,
    group: str,
    series: str,
    value: str,
    error: str | None = None,
    ylabel: str,
    title: Callable[[Any], str] = str,
    log: bool = True,
    percent: bool = False,
) -> Figure:
    """One panel per value of `panel`; inside, one group of bars per value of `group`, one bar per series; log scale, error
    bars. Panels with many bars are placed one below the other, so that they can be read on a page."""
    kinds = ordered(numbers[panel])
    groups, members = ordered(numbers[group]), ordered(numbers[series])
    width = max(3.0, 0.15 * len(groups) * (len(members) + 1))
    stacked = width > WIDE
    if stacked:
        figure, axes = style.panels(len(kinds), columns=1, width=max(width, 6.5), height=1.9)
    else:
        figure, axes = style.panels(len(kinds), width=width, height=2.6)
    width = 0.84 / len(members)
    factor = 100.0 if percent else 1.0
    for ax, kind in zip(axes, kinds, strict=True):
        part = numbers[numbers[panel] == kind].set_index([group, series])
        for i, member in enumerate(members):
            rows = part.reindex([(g, member) for g in groups])
            x = np.arange(len(groups)) + (i - (len(members) - 1) / 2) * width
            look = style.look(member, i)
            ax.bar(
                x,
                rows[value] * factor,
                width * 0.92,
                yerr=rows[error] * factor if error else None,
                error_kw={"elinewidth": 0.9, "capsize": 1.5},
                color=look["color"],
                hatch=style.HATCHES[i % len(style.HATCHES)],
                edgecolor="white",
                linewidth=0,
                label=style.name(member),
            )
        ax.set_xticks(np.arange(len(groups)), [style.name(g) for g in groups])
        ax.set_title(title(kind))
        ax.grid(axis="x", visible=False)
        if log:
            ax.set_yscale("log")
    _same_limits(axes)
    for ax in axes if stacked else axes[:1]:
        ax.set_ylabel(ylabel)
    style.legend_above(figure, axes, columns=4 if stacked else 6)
    return figure


def dataset_bars(numbers: pd.DataFrame, metric: str, ylabel: str, *, percent: bool = False) -> Figure:
    """One metric of every mechanism by dataset, one panel per epsilon: Figures 9 and 10 of gs."""
    return bars(
        numbers,
        panel="epsilon",
        group="dataset",
        series="mechanism",
        value=metric,
        error=f"{metric}_se",
        ylabel=ylabel,
        title=lambda e: f"ε = {style.epsilon_name(e)}",
        percent=percent,
    )


def lines(
    numbers: pd.DataFrame,
    *,
    x: str,
    series: str,
    value: str,
    error: str | None = None,
    panel: str | None = None,
    xlabel: str,
    ylabel: str,
    title: Callable[[Any], str] = style.name,
    label: Callable[[Any], str] = style.name,
    logx: bool = False,
    logy: bool = False,
    columns: int | None = None,
    percent: bool = False,
    ticks: Callable[[Any], str] | None = None,
    share_y: bool = False,
    zero: bool = False,
    size: tuple[float, float] = (3.1, 2.5),
) -> Figure:
    """Lines over `x`, one per series, with error bars; one panel per value of `panel` when given. `ticks`: treat x as categories;
    `zero`: start the y axis at zero, so that small differences look small; `size`: of a panel, in inches."""
    kinds = ordered(numbers[panel]) if panel else [None]
    members = ordered(numbers[series])
    figure, axes = style.panels(len(kinds), columns, *size)
    factor, looks = 100.0 if percent else 1.0, style.looks(members)
    for ax, kind in zip(axes, kinds, strict=True):
        part = numbers if panel is None else numbers[numbers[panel] == kind]
        places = sorted(part[x].unique())
        for member in members:
            rows = part[part[series] == member].sort_values(x)
            if logy:  # a log axis has no zero, and a line to it would leave the panel
                rows = rows[rows[value] > 0]
            if rows.empty:
                continue
            at = [places.index(v) for v in rows[x]] if ticks else rows[x]
            spread = rows[error] * factor if error else None
            ax.errorbar(
                at,
                rows[value] * factor,
                yerr=spread,
                capsize=2,
                elinewidth=0.9,
                label=label(member),
                **looks[member],
            )
        if ticks:
            ax.set_xticks(range(len(places)), [ticks(v) for v in places])
            ax.margins(x=0.08)
        if logx:
            ax.set_xscale("log")
        if logy:
            ax.set_yscale("log")
        if zero:
            ax.set_ylim(bottom=0)
        ax.set_xlabel(xlabel)
        if panel:
            ax.set_title(title(kind))
    if share_y:
        _same_limits(axes)
    for ax in axes[:: columns or len(axes)]:
        ax.set_ylabel(ylabel)
    style.legend_above(figure, axes)
    return figure


def dataset_table(
    columns: dict[str, str], formats: dict[str, str] | None = None
) -> tuple[Callable[[pd.DataFrame], pd.DataFrame], Callable[[pd.DataFrame], Figure]]:
    """`numbers` and `draw` of a table of datasets, with these columns and titles; `formats` by column."""

    def numbers(trials: pd.DataFrame) -> pd.DataFrame:
        stored = {name: name if name in trials else f"metric.{name}" for name in columns}
        if DATA_SEED in trials and trials[DATA_SEED].nunique() > 1:  # each draw of a dataset has a row
            stored[DATA_SEED] = DATA_SEED
        return trials[list(stored.values())].set_axis(list(stored), axis=1).drop_duplicates()

    def draw(numbers: pd.DataFrame) -> Figure:
        by_head = {columns[name]: form for name, form in (formats or {}).items()}
        return table(numbers.rename(columns={**columns, DATA_SEED: "Data seed"}), formats=by_head)

    return numbers, draw


def table(numbers: pd.DataFrame, title: str = "", formats: dict[str, str] | None = None) -> Figure:
    """A table as a figure: headings bold, numbers right-aligned."""
    formats = formats or {}
    cells = [[_text(row[c], formats.get(c, "")) for c in numbers.columns] for _, row in numbers.iterrows()]
    heads = [str(c) for c in numbers.columns]
    lengths = [max(len(h), *(len(r[i]) for r in cells)) if cells else len(h) for i, h in enumerate(heads)]
    total = sum(lengths) + 2 * len(lengths)
    figure, (ax,) = style.panels(1, width=max(4.0, 0.085 * total), height=0.3 * (len(cells) + 2))
    ax.axis("off")
    drawn = ax.table(cells, colLabels=heads, colWidths=[(n + 2) / total for n in lengths], bbox=(0, 0, 1, 1))
    drawn.auto_set_font_size(False)
    drawn.set_fontsize(9)
    for (row, column), cell in drawn.get_celld().items():
        cell.set_linewidth(0.4)
        cell.set_edgecolor("#bbbbbb")
        numeric = pd.api.types.is_numeric_dtype(numbers.iloc[:, column])
        cell.set_text_props(ha="right" if numeric else "left", weight="bold" if row == 0 else "normal")
        cell.PAD = 0.06
    if title:
        ax.set_title(title, loc="left", weight="bold")
    return figure


def _text(value: Any, form: str) -> str:
    if isinstance(value, str):
        return style.name(value)
    if form:
        return format(value, form)
    if isinstance(value, float) and not value.is_integer():
        return f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.2f}"
    return (
        f"{value:,.0f}" if isinstance(value, int | float | np.integer | np.floating) and value == value else str(value)
    )


def _same_limits(axes: list) -> None:
    low = min(ax.get_ylim()[0] for ax in axes)
    high = max(ax.get_ylim()[1] for ax in axes)
    for ax in axes:
        ax.set_ylim(low, high)
