"""Consistency checks on OnTheMap, of sparse: error of filters over dyadic ranges with and without the checks."""

from dpbench.figures.queries import consistency_figure as draw
from dpbench.figures.queries import consistency_numbers as numbers

__all__ = ["draw", "numbers"]
