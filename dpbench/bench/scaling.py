"""What a run takes on several machines: a model of a few measured costs. Used by the documentation and its tests.

A run plans, starts its workers, which open the data, then computes. A worker takes one chunk after another, and the parent or
each shard stores the trials. Nothing else is shared, so the model has no more terms.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Work:
    """An experiment, as it costs on one core."""

    settings: int
    trials: int
    """Of all settings together."""
    computing: float
    """Seconds of all trials together."""
    data: float = 0.0
    """Bytes of the datasets that each machine builds or reads."""

    def larger(self, data: float = 1.0, settings: float = 1.0) -> Work:
        """With so many times as much data, to which time is about proportional, and so many times as many settings."""
        return replace(
            self,
            settings=round(self.settings * settings),
            trials=round(self.trials * settings),
            computing=self.computing * data * settings,
            data=self.data * data,
        )


@dataclass(frozen=True)
class Machinery:
    """What dpbench and the network take, in seconds and bytes per second."""

    start: float = 1.5
    """Of a process of dpbench, until it plans."""
    per_setting: float = 2.5e-4
    """Planning."""
    per_trial: float = 1e-4
    """Storing, in the process that stores."""
    joining: float = 1.0
    """Until a worker is up and takes its first chunk, beyond waiting for a scheduler of jobs."""
    waiting: float = 0.0
    """In a queue of jobs."""
    bandwidth: float = 1e8
    """At which a machine builds, reads or receives its data."""
    chunk: float = 2.0
    """Seconds of work in one chunk: workers wait for the last one."""


def pool_seconds(
    work: Work, workers: int, machines: int = 1, cores: int | None = None, costs: Machinery = Machinery()
) -> float:
    """With one parent and workers that it feeds: joblib on one machine, Dask or Slurm jobs on several.

    cores: of all machines together, if there are fewer than workers and the trials keep a core busy.
    """
    at_once = workers if cores is None else min(workers, cores)
    parent = costs.start + costs.per_setting * work.settings
    data = work.data / costs.bandwidth
    computing = max(work.computing / at_once, costs.per_trial * work.trials) + (costs.chunk / 2 if at_once > 1 else 0.0)
    # Data are built once per machine, at the same time on all of them.
    return parent + costs.waiting + costs.joining * math.ceil(workers / max(1, machines) / 4) + data + computing


def shard_seconds(work: Work, shards: int, cores: int | None = None, costs: Machinery = Machinery()) -> float:
    """With a job array on a shared file system: each shard plans everything, and computes and stores its part."""
    at_once = shards if cores is None else min(shards, cores)
    rounds = shards / at_once
    alone = costs.start + costs.per_setting * work.settings + work.data / costs.bandwidth
    return costs.waiting + rounds * alone + work.computing / at_once + costs.per_trial * work.trials / shards
