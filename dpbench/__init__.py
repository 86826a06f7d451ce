"""dpbench: reproduce, compare and guard experiments on publishing counts under differential privacy."""

import importlib
from typing import TYPE_CHECKING, Any

from dpbench.data import Catalogue, Contingency, Counts, Data, History, Incidence, Records, Release, Summary, TopK
from dpbench.mechanisms import Bounded, Mechanism, mechanism
from dpbench.privacy import Noise
from dpbench.sources import Source
from dpbench.tasks import Task

if TYPE_CHECKING:
    from dpbench import audit
    from dpbench.api.run import run
    from dpbench.api.shelf import dataset, task
    from dpbench.results.run import load

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
    "audit",
    "compare",
    "dataset",
    "load",
    "mechanism",
    "run",
    "task",
]

# The engine is large; importing a mechanism does not need it, so it is imported on first use.
_LAZY = {
    "dataset": ("dpbench.api.shelf", "dataset"),
    "load": ("dpbench.results.run", "load"),
    "run": ("dpbench.api.run", "run"),
    "task": ("dpbench.api.shelf", "task"),
}
_PACKAGES = ("audit", "compare")  # packages that can also be called


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return importlib.import_module(f"dpbench.{name}")
    if name not in _LAZY:
        raise AttributeError(f"module 'dpbench' has no attribute {name!r}")
    module, attribute = _LAZY[name]
    return getattr(importlib.import_module(module), attribute)
