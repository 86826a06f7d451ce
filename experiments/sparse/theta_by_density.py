"""The best threshold of filter-priority sampling, of sparse, by density: error divided by the lowest for that density."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from dpbench.figures import queries, shapes


def numbers(trials: pd.DataFrame) -> pd.DataFrame:
    names = {"dataset.density": "density", "mechanism.theta": "theta"}
    table = queries.by_setting(trials, list(names)).rename(columns=names)
    best = table.loc[table.groupby("density")["abs_error"].transform("idxmin")].set_index(table.index)
    over = table["abs_error"] / best["abs_error"]
    # The errors of two thresholds are independent, so their relative variances add up; the best one over itself is exactly 1.
    relative = np.hypot(table["abs_error_se"] / table["abs_error"], best["abs_error_se"] / best["abs_error"])
    relative = relative.where(table["theta"] != best["theta"], 0.0)
    series = table["density"].map(lambda density: f"density {100 * density:g} %")
    return table.assign(series=series, over_best=over, over_best_se=over * relative)


def draw(numbers: pd.DataFrame) -> Figure:
    figure = shapes.lines(
        numbers,
        x="theta",
        series="series",
        value="over_best",
        error="over_best_se",
        xlabel="θ",
        ylabel="Absolute error over that of the best θ",
        label=str,
        logy=True,
    )
    queries.finish(figure)
    return figure
