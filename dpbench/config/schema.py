"""The types of a checked run. Imported by the verbs and the engine; made by `checks`, from what Hydra composed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dpbench.config.catalogue import SCALES
from dpbench.errors import UserError, one_of, positive
from dpbench.results.run import DatasetUse, Variant

__all__ = ["SCALES", "RunConfig", "RunnerConfig", "TrackingConfig", "known_metric"]

ADDRESS = re.compile(r"(tcp|tls)://([\w.-]+|\[[0-9a-fA-F:.%]+\]):(\d{1,5})", re.ASCII)


WALLTIME = re.compile(r"(\d+-)?\d{1,3}:\d\d(:\d\d)?", re.ASCII)
DIRECTIVE = re.compile(r"-[^\r\n]*")
SHARD = re.compile(r"([1-9]\d{0,5})/([1-9]\d{0,5})", re.ASCII)


@dataclass(frozen=True)
class Shard:
    """One part of a plan: number `number` of `count`, counted from 1."""

    number: int
    count: int

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"


@dataclass(frozen=True)
class RunnerConfig:
    backend: str = "loky"
    jobs: int = -1
    chunk: int | str = "auto"
    address: str | None = None
    timeout: float | None = None
    """Seconds per trial."""
    memory: float | None = None
    """GB per worker process."""
    shard: str | None = None
    """Such as 2/8: compute the second of eight parts of the plan."""
    queue: str | None = None
    walltime: str | None = None
    interface: str | None = None
    directives: tuple[str, ...] = ()
    """Options of the Slurm jobs, without `#SBATCH`."""
    logs: str = "slurm-logs"

    @property
    def part(self) -> Shard | None:
        """The shard; None: the whole plan."""
        return None if self.shard is None else Shard(*map(int, self.shard.split("/")))

    def __post_init__(self) -> None:
        shard = SHARD.fullmatch(self.shard) if isinstance(self.shard, str) else None
        if self.shard is not None and (shard is None or int(shard[1]) > int(shard[2])):
            raise UserError(
                f"runner.shard={self.shard!r} is not valid: expected a part and the number of parts, such as 2/8; "
                "parts are counted from 1"
            )
        one_of("runner.backend", self.backend, ("loky", "dask", "slurm"))
        if not isinstance(self.jobs, int) or isinstance(self.jobs, bool) or self.jobs == 0 or self.jobs < -1:
            raise UserError(
                f"runner.jobs={self.jobs!r} is not valid: expected a positive whole number, or -1 for all cores"
            )
        if self.chunk != "auto":
            positive("runner.chunk", self.chunk, whole=True)
        for name in ("timeout", "memory"):
            if getattr(self, name) is not None:
                positive(f"runner.{name}", getattr(self, name))
        found = ADDRESS.fullmatch(self.address) if isinstance(self.address, str) else None
        if self.address is not None and (found is None or not 0 < int(found[3]) < 65536):
            raise UserError(
                f"runner.address={self.address!r} is not valid: expected a Dask scheduler, such as tcp://host:8786"
            )
        self._check_slurm()

    def _check_slurm(self) -> None:
        if self.backend == "slurm" and self.jobs == -1:
            raise UserError("runner.jobs=-1 is not valid with runner=slurm: expected the number of jobs")
        _text_or_none("runner.queue", self.queue, "the name of a partition")
        _text_or_none("runner.interface", self.interface, "the name of a network interface, such as eth0")
        _text_or_none("runner.logs", self.logs or 0, "a folder")
        if self.walltime is not None and not (isinstance(self.walltime, str) and WALLTIME.fullmatch(self.walltime)):
            raise UserError(
                f"runner.walltime={self.walltime!r} is not valid: expected a text such as 01:30:00 or 2-12:00:00"
            )
        given = [self.directives] if isinstance(self.directives, str) else self.directives
        if not isinstance(given, list | tuple) or not all(isinstance(d, str) and DIRECTIVE.fullmatch(d) for d in given):
            form = "'runner.directives=[\"--account=me\"]'"
            raise UserError(
                f"runner.directives={self.directives!r} is not valid: expected options of sbatch, such as {form}"
            )
        object.__setattr__(self, "directives", tuple(given))


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
    """The id of its experiment; empty for an ad-hoc run."""
    name: str
    """What the run is stored under: the experiment's id, or a name of its own."""
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
    """How the user's overrides change the experiment's definition."""
    altered: tuple[str, ...] = ()
    """The changes that alter the meaning of its numbers."""
    noise: str = "float"
    """How noise is drawn: "float" or "exact"."""
    left_out: tuple[tuple[str, str], ...] = ()
    """Datasets that are left out because their files are missing, each with the reason."""
    most_trials: Mapping[str, int] = field(default_factory=dict)
    """Mechanisms and datasets with fewer trials, each with their number."""


def known_metric(task: Any, name: str) -> bool:
    """Whether a task declares a metric of this name. A user's task that declares no metrics may have any."""
    declared = getattr(task, "metric", None)
    return not callable(declared) or not getattr(task, "metrics", ()) or declared(name) is not None
