"""cross: the leaderboard of column counts on original files, in three boards that are never mixed."""

import pandas as pd
from matplotlib.figure import Figure

from dpbench.compare.pictures import CAPTION
from dpbench.compare.views import column_figures
from dpbench.compare.views import column_numbers as numbers
from dpbench.compare.views import column_summary as summary

__all__ = ["CAPTION", "figures", "numbers", "summary"]


def figures(numbers: pd.DataFrame) -> dict[str, Figure]:
    """One figure per board."""
    return column_figures(numbers, generated=False)
