"""The types of a checked run. Imported by the verbs and the engine; made by `checks`, from what Hydra composed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from dpbench.config.catalogue import SCALES
from dpbench.errors import UserError, one_of, positive
from dpbench.sources.cache import DatasetSpec

__all__ = ["SCALES", "Dataset", "RunConfig", "RunnerConfig", "TrackingConfig", "Variant", "known_metric"]


@dataclass(frozen=True)
class Variant:
    """One mechanism or task with its parameters: what a worker makes an instance of."""

    name: str
    cls: str
    params: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Dataset:
    """One dataset with its parameters, its data kind, and those parameters the user or the experiment gave."""

    name: str
    kind: str
    spec: DatasetSpec
    given: Mapping[str, Any]


@dataclass(frozen=True)
class RunnerConfig:
    backend: str = "loky"
    jobs: int = -1
    chunk: int | str = "auto"
    address: str | None = None

    def __post_init__(self) -> None:
        one_of("runner.backend", self.backend, ("loky", "dask"))
        if not isinstance(self.jobs, int) or isinstance(self.jobs, bool) or self.jobs == 0 or self.jobs < -1:
            raise UserError(
                f"runner.jobs={self.jobs!r} is not valid: expected a positive whole number, or -1 for all cores"
            )
        if self.chunk != "auto":
            positive("runner.chunk", self.chunk, whole=True)
        _text_or_none("runner.address", self.address, "tcp://host:port")


@dataclass(frozen=True)
class TrackingConfig:
    enabled: bool = True
    uri: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.enabled, bool):
            raise UserError(f"tracking.enabled={self.enabled!r} is not valid: expected true or false")
        _text_or_none("tracking.uri", self.uri, "the address of an MLflow server, or sqlite:///FILE")


def _text_or_none(what: str, value: object, expected: str) -> None:
    if value is not None and not isinstance(value, str):
        raise UserError(f"{what}={value!r} is not valid: expected {expected}")


@dataclass(frozen=True)
class RunConfig:
    """Everything one run needs, checked."""

    experiment: str
    title: str
    scale: str
    epsilon: tuple[float, ...]
    trials: int
    seed: int
    metrics: tuple[str, ...]
    results: Path
    figure: bool
    dry: bool
    runner: RunnerConfig
    tracking: TrackingConfig
    datasets: tuple[Dataset, ...]
    mechanisms: tuple[Variant, ...]
    tasks: tuple[Variant, ...]
    changes: tuple[str, ...] = ()
    """How the user's overrides make it differ from the experiment's own definition."""
    altered: tuple[str, ...] = ()
    """Those of them that make its numbers mean something else."""


def known_metric(task: Any, name: str) -> bool:
    """Whether a task declares a metric of this name. A stranger's task that declares none may have any."""
    if hasattr(task, "metric"):
        return not getattr(task, "metrics", ()) or task.metric(name) is not None
    # Until tasks declare `Metric`s with patterns and have `metric`: names in which a capital stands for a number
    # (`precision_at_K`), and `, ...` for all that the data know. Remove from here on when they do.
    declared = tuple(getattr(task, "metrics", ()))
    families = (word.rstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ") + "*" for word in declared if word[-1:].isupper())
    return (
        not declared
        or name in declared
        or any(word.endswith("...") for word in declared)
        or any(fnmatchcase(name, family) for family in families)
        or ("/" in name and name.partition("/")[0] in declared)
    )
