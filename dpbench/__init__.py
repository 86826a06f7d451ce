"""dpbench: reproduce, compare and guard experiments on publishing counts under differential privacy."""

import importlib
from typing import Any

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
    "load",
    "mechanism",
    "run",
]

# The engine is large, and whoever imports a mechanism does not need it.
_LAZY = {"run": ("dpbench.engine.suite", "run"), "load": ("dpbench.results.run", "load")}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'dpbench' has no attribute {name!r}")
    module, attribute = _LAZY[name]
    return getattr(importlib.import_module(module), attribute)
