"""cross: ranges of histograms of at most 4096 cells, by dataset and by size of the range, in boards by guarantee."""

from dpbench.ranking.views import QUERY_BOARD as BOARD

WORLDS = True
numbers, figures, summary = BOARD.numbers, BOARD.figures, BOARD.summary
