"""cross: ranges of histograms of at most 4096 cells, by dataset and by size of the range, in boards by guarantee."""

from functools import partial

from dpbench.ranking.views import QUERY_BOARD as BOARD
from dpbench.ranking.views import query_figures
from dpbench.ranking.views import query_numbers as numbers
from dpbench.ranking.views import query_summary as summary

__all__ = ["BOARD", "WORLDS", "figures", "numbers", "summary"]

WORLDS = True

figures = partial(query_figures, measured="error of a range")
