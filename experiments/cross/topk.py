"""cross: the K largest columns, by rankings and by mechanisms that publish all counts, in boards by guarantee.

Precision is a share: mechanisms are compared by differences, in percentage points.
"""

import pandas as pd
from matplotlib.figure import Figure

from dpbench.compare import pictures, tables, views
from dpbench.results.run import Run

CAPTION = pictures.SHARE_CAPTION


def numbers(trials: pd.DataFrame, run: Run | None = None) -> pd.DataFrame:
    return views.ranking_numbers(trials, run)


def figures(numbers: pd.DataFrame) -> dict[str, Figure]:
    """One figure per board."""
    return views.boards(numbers, "dataset", "precision, points", share=True)


def summary(numbers: pd.DataFrame) -> pd.DataFrame:
    return tables.summary(numbers, {"precision": "precision"})
