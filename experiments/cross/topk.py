"""cross: the K largest columns, by rankings and by mechanisms that publish all counts, in boards by guarantee.

Precision is a share: mechanisms are compared by differences, in percentage points.
"""

from dpbench.ranking.views import RANKING_BOARD as BOARD

WORLDS = True
numbers, figures, summary = BOARD.numbers, BOARD.figures, BOARD.summary
