"""cross: every column-count mechanism on every dataset, in three boards that are never mixed.

Mechanisms are ranked by the mean absolute error; the regrets by the other errors are also given. See `dpbench.ranking` for the
statistics.
"""

from dpbench.ranking.views import COLUMN_BOARD as BOARD

WORLDS = True
numbers, figures, summary = BOARD.numbers, BOARD.figures, BOARD.summary
