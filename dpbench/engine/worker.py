"""What a worker does: open the dataset, release, score, for each trial of a chunk. Sent ids and paths, never arrays.

Runs in any process on any machine; imports the registries and the cache, nothing that draws, logs or stores.
"""

from __future__ import annotations

import functools
import json
import math
import time
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import numpy as np

from dpbench.config.schema import Variant
from dpbench.data import Data
from dpbench.mechanisms.base import MECHANISMS
from dpbench.sources.cache import DatasetSpec, open_dataset
from dpbench.tasks.base import TASKS


@dataclass(frozen=True)
class Chunk:
    """A unit of work: some trials of one cell."""

    cell: str
    key: str
    dataset: DatasetSpec
    mechanism: Variant
    epsilon: float
    task: Variant
    seed: int
    start: int
    stop: int
    trials: tuple[int, ...]


@dataclass(frozen=True)
class Failure:
    """A trial that did not finish, and why."""

    trial: int
    error: str
    details: str = ""


@dataclass(frozen=True)
class Outcome:
    """What came of a chunk: a row a finished trial, and the failures."""

    chunk: Chunk
    rows: list[dict[str, Any]] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    across: dict[str, float] = field(default_factory=dict)
    """Metrics of all finished trials of the chunk together, earlier ones included."""


def trial_rngs(seed: int, key: str, trial: int) -> tuple[np.random.Generator, np.random.Generator]:
    """The generators of one trial, for the mechanism and for the task: a function of these three numbers alone."""
    children = np.random.SeedSequence([seed, int(key, 16), trial]).spawn(2)
    return np.random.default_rng(children[0]), np.random.default_rng(children[1])


def run_chunk(chunk: Chunk) -> Outcome:
    """All trials of a chunk. An exception ends its trial, never the chunk: it comes back as a record."""
    outcome = Outcome(chunk)
    _one_thread()
    try:
        data = _data(json.dumps(chunk.dataset.__dict__, sort_keys=True))
        mechanism = MECHANISMS.make(chunk.mechanism.cls, **chunk.mechanism.params)
        task = TASKS.make(chunk.task.cls, **chunk.task.params)
    except (Exception, SystemExit) as error:
        outcome.failures.extend(_failure(trial, error) for trial in chunk.trials)
        return outcome
    spread = Spread()
    for trial in chunk.trials:
        rng, task_rng = trial_rngs(chunk.seed, chunk.key, trial)
        try:
            began = time.perf_counter()
            release = mechanism.release(data, epsilon=chunk.epsilon, rng=rng)
            seconds = time.perf_counter() - began
            scores = task.score(data, release, task_rng)
            # A task that names things (titles of items) gives words; metrics are numbers.
            words = {name: value for name, value in scores.items() if isinstance(value, str)}
            metrics = {name: float(value) for name, value in scores.items() if name not in words}
            row = {"trial": trial, "seconds": seconds, **metrics, **_noted("diagnostic", words), **_remarks(release)}
            spread.add(task.errors(data, release) if hasattr(task, "errors") else None)
        except (Exception, SystemExit) as error:
            outcome.failures.append(_failure(trial, error))
            continue
        outcome.rows.append(row)
    if outcome.rows and len(chunk.trials) < chunk.stop - chunk.start and spread.n:
        spread = _spread_anew(chunk, data, mechanism, task)
    outcome.across.update(spread.metrics())
    return outcome


def _spread_anew(chunk: Chunk, data: Data, mechanism: Any, task: Any) -> Spread:
    """The spread over a chunk some of whose trials were finished before: as of a run in which nothing had failed."""
    spread = Spread()
    for trial in range(chunk.start, chunk.stop):
        rng, task_rng = trial_rngs(chunk.seed, chunk.key, trial)
        try:
            release = mechanism.release(data, epsilon=chunk.epsilon, rng=rng)
            task.score(data, release, task_rng)  # some scores are refused: such a trial has failed
            spread.add(task.errors(data, release))
        except (Exception, SystemExit):
            continue
    return spread


@functools.lru_cache(maxsize=2)
def _data(spec: str) -> Data:
    # Keyed by its description: a memory map opened once a process serves all cells of the dataset. The plan checked it,
    # and told of its skipped lines.
    return open_dataset(DatasetSpec(**json.loads(spec)), verify=False, tell=False)[0]


@functools.cache
def _one_thread() -> None:
    """Keep BLAS to one thread, once a process: threads split sums differently, and workers already fill the cores."""
    import threadpoolctl

    threadpoolctl.threadpool_limits(limits=1)


def _failure(trial: int, error: BaseException) -> Failure:
    message = " ".join(str(error).split())
    return Failure(trial, f"{type(error).__name__}: {message}", traceback.format_exc(limit=-4))


def _remarks(release: Any) -> dict[str, Any]:
    """What a release says besides its counts: what was chosen, and what only a study may see."""
    chosen, diagnostics = getattr(release, "chosen", None), getattr(release, "diagnostics", None)
    return {**_noted("chosen", chosen or {}), **_noted("diagnostic", diagnostics or {})}


def _noted(prefix: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Numbers and words as columns `PREFIX.NAME`; arrays stay with the release."""
    row: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, str):
            row[f"{prefix}.{name}"] = value
        elif isinstance(value, Real) or (isinstance(value, np.ndarray) and value.ndim == 0):
            row[f"{prefix}.{name}"] = float(value)
    return row


class Spread:
    """Variance of each published number across the trials of a chunk, averaged over the numbers.

    From the sum of the error vectors and of their squared lengths alone. Each chunk's estimate is unbiased, so their
    mean over chunks is too, and the squared bias is the mean squared error minus it.
    """

    def __init__(self) -> None:
        self.n = 0
        self.total: np.ndarray | None = None
        self.squares = 0.0

    def add(self, errors: np.ndarray | None) -> None:
        if errors is None:
            return
        errors = np.asarray(errors, dtype=np.float64).ravel()
        self.total = errors.copy() if self.total is None else self.total + errors
        self.squares += float(np.dot(errors, errors))
        self.n += 1

    def metrics(self) -> dict[str, float]:
        if self.total is None:
            return {}
        if self.n < 2:
            return {"variance": math.nan}
        between = float(np.dot(self.total, self.total)) / self.n
        return {"variance": (self.squares - between) / ((self.n - 1) * self.total.size)}
