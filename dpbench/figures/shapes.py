"""The few types of figure that the papers use: groups of points, lines, and tables. Tidy numbers in, a figure out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpbench.figures import captions, style
from dpbench.figures.captions import Stated
from dpbench.figures.ticks import plain_numbers
from dpbench.sources import cards
from dpbench.storage.frame import DATA_SEED

THIN: dict[str, Any] = {"capsize": 2, "elinewidth": 0.9}
"""Error bars."""


def ordered(values: pd.Series) -> list[Any]:
    """Distinct values in the order of their first appearance, which is the plan's order."""
    return list(dict.fromkeys(values))


def from_zero(ax: Axes) -> None:
    """Start the y axis at zero, with room below it so that markers at zero are whole."""
    top = ax.get_ylim()[1]
    ax.set_ylim(-0.04 * top, top)


def dodge(groups: int, members: int) -> list[np.ndarray]:
    """The x positions of each series, side by side in groups; group number i is centred at x = i."""
    step = 0.84 / max(members, 1)
    return [np.arange(groups) + (i - (members - 1) / 2) * step for i in range(members)]


def points(
    ax: Axes,
    numbers: pd.DataFrame,
    *,
    group: str,
    series: str,
    value: str,
    groups: list[Any],
    members: list[Any],
    factor: float = 1.0,
    label: Callable[[Any], str] = style.name,
    look: Callable[[Any, int], dict[str, str]] = style.look,
    stated: Sequence[Stated] = (),
) -> None:
    """One group of points per value of `group`, one point per series, with error bars. It draws no bars: a log axis has no zero
    at which a bar could start, and a bar of height zero cannot be seen."""
    table = numbers.set_index([group, series])
    error = f"{value}_se"
    for i, (member, x) in enumerate(zip(members, dodge(len(groups), len(members)), strict=True)):
        rows = table.reindex([(g, member) for g in groups])
        spread = (rows[error] * factor).fillna(0.0) if error in rows else None
        drawn_as: dict[str, Any] = {**look(member, i), "linestyle": ""}
        ax.errorbar(x, rows[value] * factor, yerr=spread, label=label(member), **THIN, **drawn_as)
        for claim in stated:
            for position, g in zip(x, groups, strict=True):
                if claim.fits(**{group: g, series: member}):
                    captions.cross(ax, position, claim.value * factor, claim, side="below")
    ax.set_xticks(range(len(groups)), [style.name(g) for g in groups])
    ax.set_xlim(-0.5, len(groups) - 0.5)
    ax.grid(axis="x", visible=False)
    for edge in range(1, len(groups)):
        ax.axvline(edge - 0.5, color="#CCCCCC", linewidth=0.6, zorder=0)


def dataset_points(
    numbers: pd.DataFrame, metric: str, ylabel: str, *, percent: bool = False, stated: Sequence[Stated] = ()
) -> Figure:
    """One metric of every mechanism by dataset, one panel per epsilon, below each other: Figures 9 and 10 of gs."""
    kinds, groups, members = (ordered(numbers[c]) for c in ("epsilon", "dataset", "mechanism"))
    figure, axes = style.panels(len(kinds), columns=1, width=style.PAGE, height=2.0)
    for ax, kind in zip(axes, kinds, strict=True):
        points(
            ax,
            numbers[numbers["epsilon"] == kind],
            group="dataset",
            series="mechanism",
            value=metric,
            groups=groups,
            members=members,
            factor=100.0 if percent else 1.0,
            stated=[claim for claim in stated if claim.fits(epsilon=kind)],
        )
        ax.set_title(f"ε = {style.epsilon_name(kind)}", loc="left")
        ax.set_yscale("log")
        ax.margins(y=0.08)
        ax.set_ylabel(ylabel)
        if any(claim.fits(epsilon=kind) for claim in stated):
            low, high = ax.get_ylim()
            ax.set_ylim(low * (low / high) ** 0.06, high)  # room for the numbers below the crosses
    _same_limits(axes)
    for ax in axes:
        plain_numbers(ax)
    style.legend_above(figure, axes)
    return figure


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
    stated: Sequence[Stated] = (),
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
            if logy:  # a log axis has no zero: a line to it would leave the panel
                if (rows[value] <= 0).any():
                    captions.tell(
                        figure, "where a curve begins or ends midway, it is 0 elsewhere, which a log axis cannot show"
                    )
                rows = rows[rows[value] > 0]
            if rows.empty:
                continue
            at = [places.index(v) for v in rows[x]] if ticks else rows[x]
            spread = rows[error] * factor if error else None
            ax.errorbar(at, rows[value] * factor, yerr=spread, label=label(member), **THIN, **looks[member])
            labels = {series: member, **({panel: kind} if panel else {})}
            for claim in [claim for claim in stated if claim.fits(**labels)]:
                captions.cross(ax, places.index(claim.at[x]) if ticks else claim.at[x], claim.value * factor, claim)
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
    if logy:
        for ax in axes:
            plain_numbers(ax)
    for ax in axes[:: columns or len(axes)]:
        ax.set_ylabel(ylabel)
    style.legend_above(figure, axes)
    return figure


def dataset_table(
    columns: dict[str, str],
    formats: dict[str, str] | None = None,
    paper: str = "",
    stated: Mapping[str, Mapping[str, float]] | None = None,
) -> tuple[Callable[[pd.DataFrame], pd.DataFrame], Callable[[pd.DataFrame], Figure]]:
    """The functions `numbers` and `draw` of a script that shows a table of datasets.

    columns: column -> its heading; formats: column -> number format. paper: adds a row below each dataset with the numbers
    that this paper states, from the dataset's card. stated: dataset -> these numbers, if the card has another paper's.
    """

    def numbers(trials: pd.DataFrame) -> pd.DataFrame:
        stored = {name: name if name in trials else f"metric.{name}" for name in columns}
        if DATA_SEED in trials and trials[DATA_SEED].nunique() > 1:  # one row per draw of a dataset
            stored[DATA_SEED] = DATA_SEED
        return trials[list(stored.values())].set_axis(list(stored), axis=1).drop_duplicates()

    def draw(numbers: pd.DataFrame) -> Figure:
        by_head = {columns[name]: form for name, form in (formats or {}).items()}
        return table(
            with_paper(numbers, columns, paper, stated or {}).rename(columns={**columns, DATA_SEED: "Data seed"}),
            formats=by_head,
            soft=lambda row: str(row.iloc[0]).endswith(PAPER_ROW),
        )

    return numbers, draw


PAPER_ROW = " in the paper"


def with_paper(
    numbers: pd.DataFrame, columns: Iterable[str], paper: str, stated: Mapping[str, Mapping[str, float]]
) -> pd.DataFrame:
    """Each dataset with the paper's own row below it."""
    parts = []
    for name, rows in numbers.groupby("dataset", sort=False):
        parts.append(rows)
        card = cards.load(str(name)).paper
        printed = stated.get(str(name), card if paper and str(card.get("table", "")).startswith(paper) else {})
        shown = {key: value for key, value in printed.items() if key in columns}
        if shown:
            parts.append(pd.DataFrame([{"dataset": f"{style.name(name)}{PAPER_ROW}", **shown}]))
    return pd.concat(parts, ignore_index=True)


def table(
    numbers: pd.DataFrame,
    title: str = "",
    formats: dict[str, str] | None = None,
    soft: Callable[[pd.Series], bool] = lambda _: False,
) -> Figure:
    """A table as a picture: headings bold, numbers to the right; `soft`: rows in grey and italics."""
    formats = formats or {}
    cells = [[_text(row[c], formats.get(c, "")) for c in numbers.columns] for _, row in numbers.iterrows()]
    heads = [str(c) for c in numbers.columns]
    lengths = [max(len(h), *(len(r[i]) for r in cells)) if cells else len(h) for i, h in enumerate(heads)]
    total = sum(lengths) + 2 * len(lengths)
    width = max(4.0, 0.085 * total)
    figure, (ax,) = style.panels(1, width=width, height=0.26 * (len(cells) + 1.5))
    ax.axis("off")
    drawn = ax.table(cells, colLabels=heads, colWidths=[(n + 2) / total for n in lengths], bbox=(0, 0, 1, 1))
    drawn.auto_set_font_size(False)
    drawn.set_fontsize(max(6.5, min(9.0, 9.0 * style.PAGE / width)))
    for (row, column), cell in drawn.get_celld().items():
        cell.set_linewidth(0.4)
        cell.set_edgecolor("#bbbbbb")
        numeric = pd.api.types.is_numeric_dtype(numbers.iloc[:, column])
        cell.set_text_props(ha="right" if numeric else "left", weight="bold" if row == 0 else "normal")
        if row and soft(numbers.iloc[row - 1]):
            cell.set_text_props(style="italic", color="#666666")
        cell.PAD = 0.07 / (width * cell.get_width())  # of the width of the cell: the same distance in all columns
    if title:
        ax.set_title(title, loc="left", weight="bold")
    return figure


def _text(value: Any, form: str) -> str:
    if isinstance(value, str):
        return style.name(value)
    if pd.isna(value):
        return "not stated"
    if form:
        return format(value, form).replace("%", " %")
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
