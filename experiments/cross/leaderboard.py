"""cross: every column-count mechanism on every dataset, in three boards that are never mixed.

Mechanisms are ranked by the mean absolute error; the regrets by the other errors are also given. See `dpbench.compare` for the
statistics.
"""

import pandas as pd
from matplotlib.figure import Figure

from dpbench.compare import pictures, tables, views
from dpbench.compare.contests import Measure
from dpbench.results.run import Run

MEASURES = {name: Measure(name) for name in ("mae", "mre", "mse", "kl")}
MEANS = {"precision_at_10": "precision@10", "precision_at_100": "precision@100", "kl": "KL"}

CAPTION = pictures.CAPTION


def numbers(trials: pd.DataFrame, run: Run | None = None) -> pd.DataFrame:
    """One row per board, setting and mechanism, with its standing and its own numbers."""
    return tables.numbers(trials, run, MEASURES)


def figures(numbers: pd.DataFrame) -> dict[str, Figure]:
    """One figure per board."""
    return views.boards(numbers, "dataset", "MAE")


def summary(numbers: pd.DataFrame) -> pd.DataFrame:
    return tables.summary(numbers, MEANS)
