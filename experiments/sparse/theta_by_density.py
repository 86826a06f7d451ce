"""The best threshold of filter-priority sampling, of sparse, by density: error divided by the lowest for that density."""

import pandas as pd

from dpbench.figures import queries


def numbers(trials: pd.DataFrame) -> pd.DataFrame:
    names = {"dataset.density": "density", "mechanism.theta": "theta"}
    table = queries.by_setting(trials, list(names)).rename(columns=names)
    series = table["density"].map(lambda density: f"density {100 * density:g} %")
    return queries.over_best(table.assign(series=series), "density")


draw = queries.over_best_figure
