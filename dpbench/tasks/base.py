"""The contract of a task: it scores one release against the true data, as flat numbers."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, ClassVar

import numpy as np

from dpbench.data import Data
from dpbench.registry import Registry

TASKS: Registry[type[Task]] = Registry("task", "dpbench.tasks", method="score")


@dataclass(frozen=True, kw_only=True)
class Task:
    """Base of all tasks. True answers belong in the data (`counts`) or in its memo: once a dataset, not once a trial."""

    name: ClassVar[str] = ""
    kinds: ClassVar[tuple[str, ...]] = ("incidence",)
    metrics: ClassVar[dict[str, str]] = {}
    """Metric name -> what it is, in a line."""
    lower: ClassVar[tuple[str, ...]] = ()
    """Metrics that are better when lower, as patterns; those in neither list are neither better nor worse."""
    higher: ClassVar[tuple[str, ...]] = ()
    noiseless: ClassVar[tuple[str, ...]] = ()
    """Metrics in which noise has no part, as patterns: facts about the data, or what a calibration chooses."""

    def __init_subclass__(cls, name: str | None = None, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if name is not None:
            cls.name = name
            TASKS.add(name, cls)

    @classmethod
    def direction(cls, metric: str) -> int:
        """-1: lower is better, 1: higher is better, 0: neither."""
        return -1 if _fits(metric, cls.lower) else int(_fits(metric, cls.higher))

    @classmethod
    def is_noiseless(cls, metric: str) -> bool:
        """Whether one trial tells all there is to know about a metric, whatever the seed."""
        return _fits(metric, cls.noiseless)

    def unfit(self, data: Data) -> str:
        """Why this task cannot be asked of `data`; empty when it can."""
        if data.kind not in self.kinds:
            return f"asks {' or '.join(self.kinds)} data, not {data.kind}"
        return ""

    def score(self, data: Any, release: Any, rng: np.random.Generator) -> dict[str, float]:
        """Metrics of one release, flat. `rng` is the trial's own, apart from the mechanism's."""
        raise NotImplementedError

    def errors(self, data: Any, release: Any) -> np.ndarray | None:
        """The error of each published number, for the split into bias and variance across trials; None: no split."""
        return None


def _fits(metric: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(metric, pattern) for pattern in patterns)
