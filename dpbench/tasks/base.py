"""The contract of a task: it scores one release against the true data, as flat numbers."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpbench.data import Data
from dpbench.model.metric import Metric
from dpbench.registry import Registry

D = TypeVar("D")
R = TypeVar("R")
E = TypeVar("E")
TASKS: Registry[type[Task]] = Registry("task", "dpbench.tasks", method="score")
_latest = threading.local()
"""The latest result of `once` in each thread."""


def once(errors: Callable[[D, R], E], data: D, release: R) -> E:
    """`errors(data, release)`, computed once for the latest release: a task needs it in `score`, and then the worker does.

    The data and the release are not kept in memory by this.
    """
    known = getattr(_latest, "known", None)
    if known is not None and known[0] == errors and known[1]() is data and known[2]() is release:
        return known[3]  # type: ignore[no-any-return]
    result = errors(data, release)
    try:
        _latest.known = (errors, weakref.ref(data), weakref.ref(release), result)
    except TypeError:  # a user's own class that cannot be referred to weakly
        _latest.known = None
    return result


PAIRED = (
    Metric("pair_variance", "variance of the published numbers, from this trial and the one before it", "lower"),
    Metric(
        "pair_bias2",
        "squared bias of the published numbers, from this trial and the one before it",
        beside="pair_variance",
    ),
)
"""Added by the worker for every task that has `errors`, in odd trials only."""
ACROSS = (
    Metric("variance", "variance of a published number across trials, mean over the numbers", "lower"),
    Metric("bias2", "squared bias of a published number, mean over the numbers"),
)
"""Computed by a summary from the pairs."""


@dataclass(frozen=True, kw_only=True)
class Task:
    """Base of all tasks. True answers belong in the data (`counts`) or in its memo: once per dataset, not per trial."""

    name: ClassVar[str] = ""
    kinds: ClassVar[tuple[str, ...]] = ("incidence",)
    metrics: ClassVar[tuple[Metric, ...]] = ()
    """Every number that `score` may return."""

    def __init_subclass__(cls, name: str | None = None, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if name is not None:
            cls.name = name
            TASKS.add(name, cls)

    @classmethod
    def metric(cls, name: str) -> Metric | None:
        """The metric of a name; None if the task has no such metric. A member of a family is returned with its own name."""
        for known in (*cls.metrics, *PAIRED, *ACROSS):
            if known.name == name:
                return known
        family = next((known for known in cls.metrics if fnmatchcase(name, known.name)), None)
        return None if family is None else replace(family, name=name)

    def unfit(self, data: Data) -> str:
        """Why this task cannot be used on `data`; empty if it can."""
        if data.kind not in self.kinds:
            return f"needs {' or '.join(self.kinds)} data, not {data.kind}"
        return ""

    def score(self, data: Any, release: Any, rng: np.random.Generator) -> dict[str, float]:
        """The metrics of one release. `rng` is separate from the mechanism's. Text is stored as diagnostics."""
        raise NotImplementedError

    def expected(self, data: Any, release: Any, rng: np.random.Generator) -> dict[str, float]:
        """The expectation of metrics given all but the last noise of the release, where it has a closed form, or an unbiased
        estimate of it, for which `rng` draws that noise again."""
        return {}

    def errors(self, data: Any, release: Any) -> NDArray[np.float64] | None:
        """The error of each published number, for the split into bias and variance across trials; None: no such split."""
        return None
