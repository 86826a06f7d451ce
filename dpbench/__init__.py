"""dpbench: reproduce, compare and guard experiments on publishing counts under differential privacy."""

import importlib
import os
import sys
from typing import TYPE_CHECKING, Any

# `python -m` searches the current folder before everything else, where a file such as numpy.py would be run. A user's own
# modules are found later, once one is named (`registry.search`). Kept, as the last one, if dpbench itself is there.
if sys.argv[:1] == ["-m"] and not sys.flags.safe_path and sys.path[:1] == [os.getcwd()]:
    del sys.path[0]
    if os.path.dirname(__path__[0]) == os.getcwd():
        sys.path.append(os.getcwd())

from dpbench import code_reader  # noqa: F401 (notes the files of modules before they are loaded, so it comes first)
from dpbench.data import Catalogue, Contingency, Counts, Data, History, Incidence, Records, Release, Summary, TopK
from dpbench.mechanisms import Bounded, Mechanism, mechanism
from dpbench.privacy import Noise
from dpbench.sources import Source
from dpbench.tasks import Task

if TYPE_CHECKING:
    from dpbench.api.advise import advise
    from dpbench.api.audit import audit
    from dpbench.api.compare import compare
    from dpbench.api.lookup import dataset, task
    from dpbench.api.run import run
    from dpbench.model.run import load
    from dpbench.storage.merge import merge

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
    "advise",
    "audit",
    "compare",
    "dataset",
    "load",
    "mechanism",
    "merge",
    "run",
    "task",
]

# The engine is large; importing a mechanism does not need it, so it is imported on first use.
_LAZY = {
    "advise": ("dpbench.api.advise", "advise"),
    "audit": ("dpbench.api.audit", "audit"),
    "compare": ("dpbench.api.compare", "compare"),
    "dataset": ("dpbench.api.lookup", "dataset"),
    "load": ("dpbench.model.run", "load"),
    "merge": ("dpbench.storage.merge", "merge"),
    "run": ("dpbench.api.run", "run"),
    "task": ("dpbench.api.lookup", "task"),
}


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'dpbench' has no attribute {name!r}")
    module, attribute = _LAZY[name]
    return getattr(importlib.import_module(module), attribute)
