"""The types of a checked run. Imported by the verbs and the engine; made by `checks`, from what Hydra composed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpbench.config.catalogue import SCALES
from dpbench.errors import UserError, one_of, positive
from dpbench.results.run import DatasetUse, Variant

__all__ = ["SCALES", "RunConfig", "RunnerConfig", "TrackingConfig", "known_metric"]

ADDRESS = re.compile(r"(tcp|tls)://([\w.-]+|\[[0-9a-fA-F:.%]+\]):(\d{1,5})", re.ASCII)


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
        found = ADDRESS.fullmatch(self.address) if isinstance(self.address, str) else None
        if self.address is not None and (found is None or not 0 < int(found[3]) < 65536):
            raise UserError(
                f"runner.address={self.address!r} is not valid: expected a Dask scheduler, such as tcp://host:8786"
            )


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
    datasets: tuple[DatasetUse, ...]
    mechanisms: tuple[Variant, ...]
    tasks: tuple[Variant, ...]
    changes: tuple[str, ...] = ()
    """How the user's overrides make it differ from the experiment's own definition."""
    altered: tuple[str, ...] = ()
    """Those of them that make its numbers mean something else."""
    noise: str = "float"
    """How noise is drawn: "float" or "exact"."""


def known_metric(task: Any, name: str) -> bool:
    """Whether a task declares a metric of this name. A stranger's task that declares none may have any."""
    declared = getattr(task, "metric", None)
    return not callable(declared) or not getattr(task, "metrics", ()) or declared(name) is not None
