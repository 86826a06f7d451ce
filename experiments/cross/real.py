"""cross: the leaderboard of column counts on original files, in three boards that are never mixed."""

from dataclasses import replace

from dpbench.ranking.views import COLUMN_BOARD

WORLDS = True
BOARD = replace(COLUMN_BOARD, generated=False)
numbers, figures, summary = BOARD.numbers, BOARD.figures, BOARD.summary
