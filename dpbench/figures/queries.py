"""What the figures of query errors share: errors by size of query, and the two panels of absolute and relative error."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from dpbench.figures import shapes, style
from dpbench.figures.ticks import plain_places, short
from dpbench.storage.frame import DATA_SEED, estimates, moments, summarise

ERRORS = {"abs_error": "Absolute error", "median_relative_error": "Median relative error (%)"}


def by_size(trials: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Tidy rows: `keys`, size of the query in `cells`, and each error with its standard error over trials."""
    parts = []
    trials = estimates(trials)
    for metric in ERRORS:
        columns = {c: int(c.partition("/")[2]) for c in trials.columns if c.startswith(f"metric.{metric}/")}
        apart = [*keys, *({DATA_SEED} & {*trials.columns})]
        long = trials[[*apart, *columns]].melt(apart, list(columns), "cells", metric).dropna(subset=[metric])
        long["cells"] = long["cells"].map(columns)
        mean, error = moments(long, [*keys, "cells"], [metric])
        parts.append(mean.join(error.add_suffix("_se")))
    return pd.concat(parts, axis=1).reset_index()


TRANSFORMS = {"none": "", "dyadic": ", dyadic", "haar": ", wavelets", "dyadic_product": ", products"}


def by_mechanism(trials: pd.DataFrame, keys: tuple[str, ...] = ()) -> pd.DataFrame:
    """Errors by size of the query, one series per mechanism; a mechanism over a transform is a separate series."""
    if "mechanism.transform" not in trials:
        return by_option(trials, "mechanism", {}, keys)
    return by_option(trials, "mechanism.transform", TRANSFORMS, keys)


def by_option(trials: pd.DataFrame, option: str, words: Mapping[Any, str], keys: tuple[str, ...] = ()) -> pd.DataFrame:
    """Errors by size of the query, one series per mechanism and value of an option; `words`: the suffix for each value."""
    series = trials["mechanism"].map(style.name) + trials[option].map(lambda value: words.get(value, ""))
    return by_size(trials.assign(series=series), [*keys, "mechanism", "series"])


def by_setting(trials: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Tidy rows of one query size: `keys`, mean size of the summary in `entries`, and the errors."""
    table = summarise(trials.assign(**{"metric.entries": trials["chosen.entries"]}), keys)
    return table[[*keys, "entries", *(f"{metric}{end}" for metric in ERRORS for end in ("", "_se"))]]


def curves(
    numbers: pd.DataFrame, *, x: str, xlabel: str, logx: bool = True, logy: bool = True, relative: bool = True
) -> Figure:
    """Absolute error over `x`, one line per value of `series`, and the relative error beside it."""
    shown = {metric: title for metric, title in ERRORS.items() if relative or metric == "abs_error"}
    parts = []
    for metric, title in shown.items():
        factor = 100.0 if title.endswith("(%)") else 1.0
        part = numbers[[x, "series"]].assign(error=title)
        parts.append(part.assign(value=factor * numbers[metric], se=factor * numbers[f"{metric}_se"]))
    figure = shapes.lines(
        pd.concat(parts, ignore_index=True),
        panel="error",
        x=x,
        series="series",
        value="value",
        error="se",
        xlabel=xlabel,
        ylabel="",
        title=str,
        label=str,
        logx=logx,
        logy=logy,
    )
    if not logx:
        for ax in figure.axes:
            ax.xaxis.set_major_locator(MaxNLocator(4))
            ax.xaxis.set_major_formatter(lambda value, _: short(value))
    finish(figure)
    return figure


def by_range(numbers: pd.DataFrame) -> Figure:
    """Both errors over the size of the range."""
    return curves(numbers, x="cells", xlabel="range size (cells)")


def absolute_by_range(numbers: pd.DataFrame) -> Figure:
    """The absolute error alone."""
    return curves(numbers, x="cells", xlabel="range size (cells)", relative=False)


def lines(numbers: pd.DataFrame, **options: Any) -> Figure:
    """The absolute error over the size of the range, one line per value of `series`; `options`: others of `shapes.lines`."""
    usual = {"x": "cells", "series": "series", "value": "abs_error", "xlabel": "range size (cells)", "label": str}
    chosen = {**usual, "ylabel": "Absolute error", "logx": True, "logy": True, **options}
    figure = shapes.lines(numbers, error=f"{chosen['value']}_se", **chosen)
    finish(figure)
    return figure


def absolute_by_dataset(numbers: pd.DataFrame, xlabel: str = "range size (cells)") -> Figure:
    """The absolute error alone, one panel per dataset."""
    return lines(numbers, panel="dataset", xlabel=xlabel)


def finish(figure: Figure) -> None:
    """The legend over all panels, a single panel larger, few numbers along a logarithmic x axis, or they would touch."""
    if len(figure.axes) == 1:
        figure.set_size_inches(4.4, 3.4)
    style.legend_above(figure, figure.axes)
    for ax in figure.axes:
        if ax.get_xscale() == "log":
            plain_places(ax)


def consistency_numbers(trials: pd.DataFrame) -> pd.DataFrame:
    """Error of filters over dyadic ranges with and without consistency checks; `saved`: by how much they reduce it."""
    trials = trials.assign(places=trials["dataset.places"]) if "dataset.places" in trials else trials.assign(places="")
    keys = ["places", "mechanism", "mechanism.consistent"]
    table = by_size(trials, keys)
    without = table[~table["mechanism.consistent"].astype(bool)].set_index(["places", "mechanism", "cells"])[
        "abs_error"
    ]
    before = without.reindex(pd.MultiIndex.from_frame(table[["places", "mechanism", "cells"]])).to_numpy()
    checked = table["mechanism.consistent"].astype(bool).map({True: ", consistent", False: ""})
    return table.assign(series=table["mechanism"].map(style.name) + checked, saved=1 - table["abs_error"] / before)


def consistency_figure(numbers: pd.DataFrame) -> Figure:
    def title(places: str) -> str:
        return f"{places} places".capitalize() if places else "OnTheMap"

    return lines(numbers, panel="places", title=title, share_y=True)


def over_best(table: pd.DataFrame, by: str) -> pd.DataFrame:
    """The absolute error at every θ over that of the best θ, for each value of the column `by`, with its standard error."""
    best = table.loc[table.groupby(by)["abs_error"].transform("idxmin")].set_index(table.index)
    over = table["abs_error"] / best["abs_error"]
    # The errors of two thresholds are independent, so their relative variances add up; the best one over itself is exactly 1.
    relative = np.hypot(table["abs_error_se"] / table["abs_error"], best["abs_error_se"] / best["abs_error"])
    return table.assign(over_best=over, over_best_se=over * relative.where(table["theta"] != best["theta"], 0.0))


def over_best_figure(numbers: pd.DataFrame) -> Figure:
    ylabel = "Absolute error over that of the best θ"
    return lines(numbers, x="theta", value="over_best", xlabel="θ", ylabel=ylabel, logx=False)
