"""The best threshold of filter-priority sampling, of sparse, by size of the range: error divided by the lowest for that size."""

import pandas as pd
from matplotlib.figure import Figure

from dpbench.figures import queries, shapes


def numbers(trials: pd.DataFrame) -> pd.DataFrame:
    table = queries.by_size(trials, ["mechanism.theta"]).rename(columns={"mechanism.theta": "theta"})
    least = table.groupby("cells")["abs_error"].transform("min")
    series = table["cells"].map(lambda cells: f"{cells:,} cells")
    return table.assign(series=series, over_best=table["abs_error"] / least, over_best_se=table["abs_error_se"] / least)


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
