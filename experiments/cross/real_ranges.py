"""cross: ranges of sparse histograms from original files, by dataset and by size of the range, in boards by guarantee."""

from dataclasses import replace

from dpbench.ranking.views import QUERY_BOARD

WORLDS = True
BOARD = replace(QUERY_BOARD, generated=False)
numbers, figures, summary = BOARD.numbers, BOARD.figures, BOARD.summary
