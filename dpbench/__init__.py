"""dpbench: reproduce, compare and guard experiments on publishing counts under differential privacy."""

from dpbench.data import Catalogue, Contingency, Counts, Data, History, Incidence, Records, Release, Summary, TopK
from dpbench.mechanisms import Bounded, Mechanism, mechanism
from dpbench.privacy import Noise
from dpbench.sources import Source
from dpbench.tasks import Task

__version__ = "0.1.0"

__all__ = [
    "Bounded",
    "Catalogue",
    "Contingency",
    "Counts",
    "Data",
    "History",
    "Incidence",
    "Mechanism",
    "Noise",
    "Records",
    "Release",
    "Source",
    "Summary",
    "Task",
    "TopK",
    "mechanism",
]
