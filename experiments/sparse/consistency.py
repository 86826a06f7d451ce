"""Consistency checks, of sparse: error of filters over dyadic ranges with and without them, on skewed and uniform cells."""

from dpbench.figures.queries import consistency_figure as draw
from dpbench.figures.queries import consistency_numbers as numbers

__all__ = ["draw", "numbers"]
