"""dpbench: reproduce, compare and guard experiments on publishing counts under differential privacy."""

from dpbench.data import Contingency, Counts, Data, Incidence, Records, Release, Summary
from dpbench.mechanisms import Bounded, Mechanism, mechanism
from dpbench.sources import Source
from dpbench.tasks import Task

__version__ = "0.1.0"

__all__ = [
    "Bounded",
    "Contingency",
    "Counts",
    "Data",
    "Incidence",
    "Mechanism",
    "Records",
    "Release",
    "Source",
    "Summary",
    "Task",
    "mechanism",
]
