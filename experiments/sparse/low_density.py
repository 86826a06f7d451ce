"""Lower density, of sparse: error of summaries of n entries and of the whole noisy table by range size."""

from dpbench.figures.queries import by_mechanism as numbers
from dpbench.figures.queries import by_range as draw

__all__ = ["draw", "numbers"]
