"""What the adapters of other libraries share: class facts, the bound on rows, and the message for a missing library.

An adapter is a plain class with `release`, like a user's own class: it uses the library's randomness, not `noise`, so an
audit tests its releases. It has a registered name, but is not listed among our mechanisms. A library is imported when it is
first used. Imports data, errors and the base of mechanisms only.
"""

from __future__ import annotations

import importlib
import sys
import threading
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from types import ModuleType
from typing import Any, ClassVar

import numpy as np

from dpbench.data import Counts
from dpbench.errors import UserError, positive
from dpbench.mechanisms.base import MECHANISMS, ROW

_LOADING = threading.Lock()


@cache
def missing(library: str) -> str:
    """Why a library cannot be used; empty if it can."""
    # A module that is already loaded may have no spec, and find_spec would then raise an error.
    if sys.modules.get(library) is None and find_spec(library) is None:
        return f"{library} is not installed: pip install 'dpbench-repro[peers]'"
    try:
        load(library)
    except ImportError as error:
        return f"{library} does not work with the installed libraries: {error}"
    return ""


@cache
def load(library: str) -> ModuleType:
    """`opendp.prelude`, or the package diffprivlib. One thread at a time: a worker may have several."""
    with _LOADING:
        return _loaded(library)


def _loaded(library: str) -> ModuleType:
    """The package, whole.

    diffprivlib imports its models first, which its last version (0.6.6) cannot do with new versions of scikit-learn. They are
    not needed here, so its modules are then imported without the package's `__init__`.
    """
    if library == "opendp":
        module = importlib.import_module("opendp.prelude")
        module.enable_features("contrib")
        return module
    try:
        return importlib.import_module(library)
    except ImportError:
        spec = find_spec(library)
        if spec is None:
            raise
        package = ModuleType(library)
        package.__path__ = list(spec.submodule_search_locations or [])
        package.__spec__ = spec  # without it, whoever looks for the package meets a ValueError
        sys.modules[library] = package
        importlib.import_module(f"{library}.mechanisms")
        return package


@dataclass(frozen=True, kw_only=True)
class Peer:
    """A mechanism of another library for column counts, with noise for rows of at most `bound` ones."""

    bound: int | None = None
    """Declared size of the largest row. None: the largest observed one, which looks at the data."""

    name: ClassVar[str] = ""
    library: ClassVar[str] = ""
    paper: ClassVar[str] = ""
    """The library's name as its authors write it."""
    place: ClassVar[str] = ""
    """The function of the library."""
    label: ClassVar[str] = ""
    kinds: ClassVar[tuple[str, ...]] = ("incidence",)
    privacy: ClassVar[str] = "ε"
    neighbours: ClassVar[str] = ROW

    def __init_subclass__(cls, name: str | None = None, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if name is not None:
            cls.name = name
            MECHANISMS.add(name, cls, listed=False)  # type: ignore[arg-type]  # a plain class, as a user's may be

    def __post_init__(self) -> None:
        if self.bound is not None:
            positive("bound", self.bound, whole=True)

    def not_private(self) -> str:
        return "" if self.bound else "Δ is the largest observed row, which looks at the data: declare `bound`"

    def unfit(self, data: Any) -> str:
        if reason := missing(self.library):
            return reason
        if data.kind not in self.kinds:
            return f"takes {' or '.join(self.kinds)} data, not {data.kind}"
        if self.bound is not None and data.largest_row > self.bound:
            return f"bound={self.bound} is below the largest row {data.largest_row}: the noise would not cover it"
        return ""

    def release(self, data: Any, epsilon: float, rng: np.random.Generator) -> Counts:
        if reason := self.unfit(data):
            raise UserError(reason)
        delta = max(1, data.largest_row) if self.bound is None else int(self.bound)
        return Counts(counts=np.asarray(self.counts(data, delta, epsilon, rng), dtype=np.float64))

    def counts(self, data: Any, sensitivity: int, epsilon: float, rng: np.random.Generator) -> Any:
        """The noisy column counts, for rows of at most `sensitivity` ones."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class DeltaPeer(Peer):
    """The same with the guarantee (ε, δ)."""

    privacy = "(ε, δ)"

    delta: float = 1e-6

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("delta", self.delta)
        if self.delta >= 1:
            raise UserError(f"delta={self.delta!r} is not valid: expected a number between 0 and 1, both excluded")
