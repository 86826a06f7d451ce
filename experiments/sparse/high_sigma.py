"""Higher standard deviation, of sparse: error by range size; filter-priority also with a summary twice as large."""

import pandas as pd
from matplotlib.figure import Figure

from dpbench.figures import queries, style


def numbers(trials: pd.DataFrame) -> pd.DataFrame:
    ratio = trials["mechanism.ratio"].fillna(1)
    larger = ratio.map(lambda r: "" if r == 1 else f", s = {r:g} n")
    return queries.by_size(trials.assign(series=trials["mechanism"].map(style.name) + larger), ["series"])


def draw(numbers: pd.DataFrame) -> Figure:
    return queries.by_range(numbers)
