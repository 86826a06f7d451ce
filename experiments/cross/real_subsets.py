"""cross: subsets of sparse histograms from original files, by dataset and by size of the subset, in boards by guarantee."""

from dataclasses import replace

from dpbench.ranking.views import QUERY_BOARD

WORLDS = True
BOARD = replace(QUERY_BOARD, measured="error of a subset", generated=False)
numbers, figures, summary = BOARD.numbers, BOARD.figures, BOARD.summary
