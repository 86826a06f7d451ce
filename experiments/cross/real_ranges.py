"""cross: ranges of sparse histograms from original files, by dataset and by size of the range, in boards by guarantee."""

import pandas as pd
from matplotlib.figure import Figure

from dpbench.compare import pictures, tables, views
from dpbench.results.run import Run

CAPTION = pictures.CAPTION


def numbers(trials: pd.DataFrame, run: Run | None = None) -> pd.DataFrame:
    return views.query_numbers(trials, run)


def figures(numbers: pd.DataFrame) -> dict[str, Figure]:
    """One figure per board by dataset, and one by the size of the ranges."""
    return views.query_figures(numbers, "error of a range", generated=False)


def summary(numbers: pd.DataFrame) -> pd.DataFrame:
    return tables.summary(numbers, {})
