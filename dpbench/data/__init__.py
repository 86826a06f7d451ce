"""WHAT is published: the data kinds, their invariants and statistics, and the releases made of them."""

from dpbench.data.base import KINDS, Data
from dpbench.data.incidence import Incidence
from dpbench.data.release import Counts, Release

__all__ = ["KINDS", "Counts", "Data", "Incidence", "Release"]
