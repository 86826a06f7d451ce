"""Wavelets against dyadic ranges, of sparse: error of the whole noisy transform and of summaries of it."""

from dpbench.figures.queries import absolute_by_range as draw
from dpbench.figures.queries import by_mechanism as numbers

__all__ = ["draw", "numbers"]
