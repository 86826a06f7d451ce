"""Small and medium ranges, of sparse: error of summaries of n entries and of the whole noisy table."""

import pandas as pd
from matplotlib.figure import Figure

from dpbench.figures import captions, queries
from dpbench.figures.captions import Stated
from dpbench.figures.queries import by_mechanism as numbers

__all__ = ["draw", "numbers"]

STATED = Stated("sparse/five-percent-at-100", 0.05, "around 5 % at 100 cells")
"""From Section 5.2."""
CAPTION = "the paper's ranges of 100 cells correspond to the smallest ranges here, at every scale"


def draw(numbers: pd.DataFrame) -> Figure:
    figure = queries.by_range(numbers)
    captions.cross(figure.axes[1], numbers["cells"].min(), 100 * STATED.value, STATED, side="above-right")
    queries.finish(figure)
    return figure
