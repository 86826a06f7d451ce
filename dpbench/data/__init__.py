"""WHAT is published: the data kinds, their invariants and statistics, and the releases made of them."""

from dpbench.data.base import KINDS, Data
from dpbench.data.catalogue import Catalogue
from dpbench.data.columns import ColumnData
from dpbench.data.contingency import Contingency
from dpbench.data.incidence import Incidence
from dpbench.data.records import Records
from dpbench.data.release import Counts, History, Release, Sample, TopK
from dpbench.data.stages import Stage
from dpbench.data.summary import Summary

__all__ = [
    "KINDS",
    "Catalogue",
    "ColumnData",
    "Contingency",
    "Counts",
    "Data",
    "History",
    "Incidence",
    "Records",
    "Release",
    "Sample",
    "Stage",
    "Summary",
    "TopK",
]
