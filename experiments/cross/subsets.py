"""cross: subsets of sparse histograms, by dataset, by domain size and by size of the subset, in boards by guarantee."""

import pandas as pd
from matplotlib.figure import Figure

from dpbench.compare import pictures, tables, views
from dpbench.results.run import Run

CAPTION = pictures.CAPTION


def numbers(trials: pd.DataFrame, run: Run | None = None) -> pd.DataFrame:
    return views.query_numbers(trials, run)


def figures(numbers: pd.DataFrame) -> dict[str, Figure]:
    """One figure per board by dataset and domain, and one by the size of the subsets."""
    return views.query_figures(numbers, "error of a subset")


def summary(numbers: pd.DataFrame) -> pd.DataFrame:
    return tables.summary(numbers, {})
