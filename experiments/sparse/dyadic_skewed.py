"""Dyadic ranges over skewed cells, of sparse: summaries of n nodes, and the whole noisy table with and without dyadic ranges."""

from dpbench.figures.queries import absolute_by_range as draw
from dpbench.figures.queries import by_mechanism as numbers

__all__ = ["draw", "numbers"]
