"""cross: every column-count mechanism on every dataset, in three boards that are never mixed.

Mechanisms are ranked by the mean absolute error; the regrets by the other errors are also given. See `dpbench.ranking` for the
statistics.
"""

from dpbench.ranking.views import COLUMN_BOARD as BOARD
from dpbench.ranking.views import column_figures as figures
from dpbench.ranking.views import column_numbers as numbers
from dpbench.ranking.views import column_summary as summary

__all__ = ["BOARD", "WORLDS", "figures", "numbers", "summary"]

WORLDS = True
