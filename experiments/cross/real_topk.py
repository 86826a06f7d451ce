"""cross: the K largest columns on original files, in boards by guarantee.

Precision is a share: mechanisms are compared by differences, in percentage points.
"""

from functools import partial

from dpbench.ranking.views import RANKING_BOARD as BOARD
from dpbench.ranking.views import ranking_figures
from dpbench.ranking.views import ranking_numbers as numbers
from dpbench.ranking.views import ranking_summary as summary

__all__ = ["BOARD", "WORLDS", "figures", "numbers", "summary"]

WORLDS = True

figures = partial(ranking_figures, generated=False)
