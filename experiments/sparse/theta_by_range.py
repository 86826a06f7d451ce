"""The best threshold of filter-priority sampling, of sparse, by size of the range: error divided by the lowest for that size."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from dpbench.figures import queries


def numbers(trials: pd.DataFrame) -> pd.DataFrame:
    table = queries.by_size(trials, ["mechanism.theta"]).rename(columns={"mechanism.theta": "theta"})
    best = table.loc[table.groupby("cells")["abs_error"].transform("idxmin")].set_index(table.index)
    over = table["abs_error"] / best["abs_error"]
    # The errors of two thresholds are independent, so their relative variances add up; the best one over itself is exactly 1.
    relative = np.hypot(table["abs_error_se"] / table["abs_error"], best["abs_error_se"] / best["abs_error"])
    relative = relative.where(table["theta"] != best["theta"], 0.0)
    series = table["cells"].map(lambda cells: f"{cells:,} cells")
    return table.assign(series=series, over_best=over, over_best_se=over * relative)


def draw(numbers: pd.DataFrame) -> Figure:
    ylabel = "Absolute error over that of the best θ"
    return queries.lines(numbers, x="theta", value="over_best", xlabel="θ", ylabel=ylabel, logx=False)
