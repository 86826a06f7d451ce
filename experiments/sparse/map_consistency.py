"""Consistency checks on OnTheMap, of sparse: error of filters over dyadic ranges with and without them."""

import pandas as pd
from matplotlib.figure import Figure

from dpbench.figures import queries, shapes, style


def numbers(trials: pd.DataFrame) -> pd.DataFrame:
    """`saved`: what the checks take off the error."""
    trials = trials.assign(places=trials["dataset.places"]) if "dataset.places" in trials else trials.assign(places="")
    keys = ["places", "mechanism", "mechanism.consistent"]
    table = queries.by_size(trials, keys)
    without = table[~table["mechanism.consistent"].astype(bool)].set_index(["places", "mechanism", "cells"])[
        "abs_error"
    ]
    before = without.reindex(pd.MultiIndex.from_frame(table[["places", "mechanism", "cells"]])).to_numpy()
    checked = table["mechanism.consistent"].astype(bool).map({True: ", consistent", False: ""})
    return table.assign(series=table["mechanism"].map(style.name) + checked, saved=1 - table["abs_error"] / before)


def draw(numbers: pd.DataFrame) -> Figure:
    figure = shapes.lines(
        numbers,
        panel="places",
        x="cells",
        series="series",
        value="abs_error",
        error="abs_error_se",
        xlabel="range size (cells)",
        ylabel="Absolute error",
        title=lambda places: f"{places} places".capitalize() if places else "OnTheMap",
        label=str,
        logx=True,
        logy=True,
        share_y=True,
    )
    queries.finish(figure)
    return figure
