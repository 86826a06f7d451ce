"""The default figure of a run without a plotting script, by its axes: lines against epsilon if there are several; otherwise
lines against a parameter with at least three values; otherwise bars.

One panel per dataset and metric, one line per mechanism with error bars. Imported by `draw`; reads frames of trials only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from dpbench.figures import style
from dpbench.figures.shapes import ordered
from dpbench.storage.frame import DATA_SEED, EXPECTED, METRIC, PAIRS, SECONDS, SETTING, metric_names, moments, summarise

EPSILON = "epsilon"
LEAST_VALUES = 3  # least number of values of a parameter that becomes an axis
LABELS = ("dataset", "mechanism", "epsilon", "task")
METRICS = 2  # number of metrics shown if the run does not say which
MOST_PANELS, MOST_SERIES, COLUMNS = 12, 11, 4
FAR = 20.0  # if errors differ by more than this factor, the small ones would vanish on a linear axis
DECADES = 300.0  # an axis with a smaller ratio of its ends shows hardly a power of ten
ASIDE = 0.2  # how far the points of one epsilon are spread, as a part of the distance to the next
CATEGORIES = 6  # up to this many epsilons stand at equal distances, so that ln 2 and ln 3 can be read


def numbers(trials: pd.DataFrame) -> pd.DataFrame:
    """One row per setting: its labels, and mean, standard error and 95th percentile of every metric."""
    apart = {SETTING, DATA_SEED, "trial", SECONDS}
    labels = [
        c for c in trials.columns if c not in apart and not c.startswith((METRIC, EXPECTED, "chosen.", "diagnostic."))
    ]
    table = summarise(trials, labels)
    mean, error = moments(trials, labels, [SECONDS])
    table[SECONDS], table[f"{SECONDS}_se"] = mean[SECONDS].to_numpy(), error[SECONDS].to_numpy()
    return table


def metrics_shown(trials: pd.DataFrame, asked: Sequence[str]) -> list[tuple[str, str]]:
    """The tasks and metrics with panels: those requested, or the first ones of each task."""
    pairs = []
    for task, rows in trials.groupby("task", sort=False):
        there = [name for name in metric_names(rows) if rows[METRIC + name].notna().any() and name not in PAIRS]
        mine = [name for name in asked if name in there or name == SECONDS] or there[:METRICS]
        pairs += [(str(task), name) for name in mine]
    return pairs


def draw(numbers: pd.DataFrame, shown: Sequence[tuple[str, str]]) -> Figure:
    """Draw what `numbers` returned. If there are too many panels or lines, the first are drawn, and the figure says so."""
    axis = x_axis(numbers)
    values, rest = numbers[axis], numbers if axis == EPSILON else numbers.drop(columns=axis)
    table = rest.assign(
        x_=values,
        panel_=[_named(row, "dataset") for row in _varying(rest, "dataset")],
        series_=[_named(row, "mechanism") for row in _varying(rest, "mechanism")],
    )
    asked = {(name, more) for name, more in zip(table["task"], _parameters(table, "task"), strict=True)}
    table["task_"] = _parameters(table, "task")
    panels = [
        (panel, task, more, metric)
        for task, metric in shown
        for more in ordered(table[table["task"] == task]["task_"])
        for panel in ordered(table[table["task"] == task]["panel_"])
        if _part(table, panel, task, more)[metric].notna().any()
    ]
    members = ordered(table["series_"])
    spare = [f"{len(items) - most} more {what}" for items, most, what in _limits(panels, members) if len(items) > most]
    panels, members = panels[:MOST_PANELS], members[:MOST_SERIES]
    table = table[table["series_"].isin(members)]
    across = len({panel for panel, *_ in panels})  # a row holds one metric on every dataset, if there is space
    across = across if 1 < across <= COLUMNS else COLUMNS - 1
    figure, axes = style.panels(len(panels), across, width=3.4, height=2.7)
    looks = style.looks(members)
    tasks = len({task for _, task, _, _ in panels}) > 1 or len(asked) > 1
    for ax, (panel, task, more, metric) in zip(axes, panels, strict=True):
        part = _part(table, panel, task, more)
        part = part[part[metric].notna()]
        if part["x_"].nunique() > 1:
            _lines(ax, part, members, looks, metric, axis)
        else:
            _bars(ax, part, members, looks, metric)
        about = f"\n{style.name(task)}{f' ({more})' if more else ''}" if tasks else ""
        ax.set_title(f"{panel}{about}")
        ax.set_ylabel(_metric(metric))
    style.legend_above(figure, axes)
    if spare:
        figure.supxlabel(f"not drawn: {' and '.join(spare)}; all numbers are in the CSV", fontsize=7)
    return figure


def x_axis(numbers: pd.DataFrame) -> str:
    """The column of the x axis: epsilon or, if there is one epsilon, the numeric parameter with the most values."""
    if numbers[EPSILON].nunique() > 1:
        return EPSILON
    counts = {
        name: numbers[name].nunique()
        for name in numbers.columns
        if name.startswith(("mechanism.", "dataset.", "task.")) and _numeric(numbers[name])
    }
    best = max(counts, key=lambda name: counts[name], default=EPSILON)
    return best if counts.get(best, 0) >= LEAST_VALUES else EPSILON


def _numeric(values: pd.Series) -> bool:
    there = values.dropna()
    return bool(len(there)) and all(isinstance(v, int | float | np.number) and not isinstance(v, bool) for v in there)


def _limits(panels: list[Any], members: list[Any]) -> list[tuple[list[Any], int, str]]:
    return [(panels, MOST_PANELS, "panels"), (members, MOST_SERIES, "mechanisms")]


def _part(table: pd.DataFrame, panel: str, task: str, more: str) -> pd.DataFrame:
    return table[(table["panel_"] == panel) & (table["task"] == task) & (table["task_"] == more)]


def _lines(ax: Axes, part: pd.DataFrame, members: Iterable[str], looks: dict[str, Any], metric: str, axis: str) -> None:
    places = sorted(float(v) for v in part["x_"].dropna().unique())
    few = len(places) <= CATEGORIES
    members = list(members)
    for i, member in enumerate(members):
        rows = part[part["series_"] == member].sort_values("x_")
        if rows.empty:
            continue
        if rows["x_"].isna().all():  # a mechanism without the parameter: a constant line
            look = {**looks[member], "marker": "", "linestyle": "--"}
            ax.axhline(float(rows[metric].iloc[0]), label=member, **look)
            continue
        beside = ASIDE * (i - (len(members) - 1) / 2) / len(members)  # so that equal series are all seen
        at = [places.index(float(v)) + beside for v in rows["x_"]] if few else rows["x_"].astype(float)
        ax.errorbar(
            at, rows[metric], yerr=_spread(rows, metric), capsize=2, elinewidth=0.9, label=member, **looks[member]
        )
    if few:
        ax.set_xticks(range(len(places)), [style.epsilon_name(v) if axis == EPSILON else f"{v:g}" for v in places])
        ax.margins(x=0.08)
    elif places[0] > 0 and places[-1] / places[0] > 10:
        ax.set_xscale("log")
    budget = style.epsilon_name(float(part[EPSILON].iloc[0]))
    ax.set_xlabel("ε" if axis == EPSILON else f"{axis.partition('.')[2].replace('_', ' ')} (ε = {budget})")
    _scale(ax, part[metric])


def _bars(ax: Axes, part: pd.DataFrame, members: Iterable[str], looks: dict[str, Any], metric: str) -> None:
    """Bars from zero; points if small bars would vanish, because a log axis has no natural baseline for bars."""
    present = [member for member in members if (part["series_"] == member).any()]
    rows = part.drop_duplicates("series_").set_index("series_").loc[present]
    far = _far(rows[metric])
    for place, member in enumerate(present):
        value, spread = rows[metric][member], _spread(rows.loc[[member]], metric)
        look = {"color": looks[member]["color"]}
        if far:
            ax.errorbar([place], [value], yerr=spread, capsize=3, linestyle="", marker=looks[member]["marker"], **look)
        else:
            hatch = style.hatch(member, place)
            ax.bar([place], [value], 0.7, yerr=spread, capsize=3, hatch=hatch, edgecolor="white", linewidth=0, **look)
    slanted = len(present) > 4 or max(map(len, present)) > 10
    ax.set_xticks(range(len(present)), present, rotation=35 if slanted else 0, ha="right" if slanted else "center")
    ax.set_xlabel(f"ε = {style.epsilon_name(float(part['epsilon'].iloc[0]))}")
    ax.grid(axis="x", visible=False)
    ax.margins(x=0.1)
    _scale(ax, rows[metric])


def _scale(ax: Axes, values: pd.Series) -> None:
    if _far(values):
        ax.set_yscale("log")
        if values.max() / values.min() < DECADES:  # few powers of ten: the ticks between them need short labels
            ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            ax.yaxis.set_minor_formatter(NullFormatter())
    elif (values >= 0).all():
        ax.set_ylim(bottom=0)


def _far(values: pd.Series) -> bool:
    return bool((values > 0).all() and values.max() / values.min() > FAR)


def _spread(rows: pd.DataFrame, metric: str) -> np.ndarray | None:
    errors = rows.get(f"{metric}_se")
    return None if errors is None or errors.isna().all() else errors.fillna(0.0).to_numpy()


def _varying(table: pd.DataFrame, group: str) -> list[dict[str, Any]]:
    """For each row the name of its dataset or mechanism, and its parameters that differ between rows of that name."""
    columns = [c for c in table.columns if c.startswith(f"{group}.")]
    several = {
        (name, c)
        for name, rows in table.groupby(group, sort=False)
        for c in columns
        if rows[c].nunique(dropna=False) > 1
    }
    return [
        {"": row[group], **{c.partition(".")[2]: row[c] for c in columns if (row[group], c) in several}}
        for row in table[[group, *columns]].to_dict("records")
    ]


def _named(row: dict[str, Any], group: str) -> str:
    more = [f"{key}={value:g}" if isinstance(value, float) else f"{key}={value}" for key, value in row.items() if key]
    more = [text for text in more if not text.endswith("=nan")]
    return ", ".join([style.name(row[""]), *more])


def _parameters(table: pd.DataFrame, group: str) -> list[str]:
    return [_named({**row, "": ""}, group).removeprefix(", ") for row in _varying(table, group)]


def _metric(name: str) -> str:
    known = {"mae": "MAE", "mre": "MRE", "mse": "MSE", "rmse": "RMSE", "kl": "KL divergence", "l1": "L1 error"}
    return known.get(name, name.replace("_", " "))
