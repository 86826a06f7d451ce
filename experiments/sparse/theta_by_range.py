"""The best threshold of filter-priority sampling, of sparse, by size of the range: error divided by the lowest for that size."""

import pandas as pd

from dpbench.figures import queries


def numbers(trials: pd.DataFrame) -> pd.DataFrame:
    table = queries.by_size(trials, ["mechanism.theta"]).rename(columns={"mechanism.theta": "theta"})
    series = table["cells"].map(lambda cells: f"{cells:,} cells")
    return queries.over_best(table.assign(series=series), "cells")


draw = queries.over_best_figure
