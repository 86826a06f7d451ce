"""Large ranges, of sparse: error of summaries of n entries and of the whole noisy table."""

import pandas as pd
from matplotlib.figure import Figure

from dpbench.figures import queries, style


def numbers(trials: pd.DataFrame) -> pd.DataFrame:
    table = queries.by_size(trials, ["mechanism"])
    return table.assign(series=table["mechanism"].map(style.name))


def draw(numbers: pd.DataFrame) -> Figure:
    return queries.curves(numbers, x="cells", xlabel="range size (cells)")
