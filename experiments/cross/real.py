"""cross: the leaderboard of column counts on original files, in three boards that are never mixed."""

from functools import partial

from dpbench.ranking.views import COLUMN_BOARD as BOARD
from dpbench.ranking.views import column_figures
from dpbench.ranking.views import column_numbers as numbers
from dpbench.ranking.views import column_summary as summary

__all__ = ["BOARD", "WORLDS", "figures", "numbers", "summary"]

WORLDS = True

figures = partial(column_figures, generated=False)
