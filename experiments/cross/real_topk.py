"""cross: the K largest columns on original files, in boards by guarantee.

Precision is a share: mechanisms are compared by differences, in percentage points.
"""

from dataclasses import replace

from dpbench.ranking.views import RANKING_BOARD

WORLDS = True
BOARD = replace(RANKING_BOARD, generated=False)
numbers, figures, summary = BOARD.numbers, BOARD.figures, BOARD.summary
