"""cross: subsets of sparse histograms, by dataset, by domain size and by size of the subset, in boards by guarantee."""

from dataclasses import replace

from dpbench.ranking.views import QUERY_BOARD

WORLDS = True
BOARD = replace(QUERY_BOARD, measured="error of a subset")
numbers, figures, summary = BOARD.numbers, BOARD.figures, BOARD.summary
