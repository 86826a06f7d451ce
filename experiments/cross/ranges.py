"""cross: ranges of sparse histograms, by dataset, by domain size and by size of the range, in boards by guarantee."""

from dpbench.ranking.views import QUERY_BOARD as BOARD

WORLDS = True
numbers, figures, summary = BOARD.numbers, BOARD.figures, BOARD.summary
