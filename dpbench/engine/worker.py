"""What a worker does: open the dataset, then release and score for each trial of a chunk. It is sent names, never arrays.

Runs in any process on any machine. A chunk names its code and data; a worker whose own differ refuses it. Imports the
registries, identity and the cache, and nothing that plots, logs or stores.
"""

from __future__ import annotations

import copyreg
import dataclasses
import functools
import json
import os
import socket
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbench import identity
from dpbench.data.base import Data, read_only
from dpbench.engine import failures
from dpbench.errors import UserError
from dpbench.identity import Code
from dpbench.mechanisms.base import MECHANISMS
from dpbench.model.setting import FLOAT, Dataset, Setting
from dpbench.model.trial import Chunk, Failure, Outcome, TrialRow, TrialValue
from dpbench.sources.base import SOURCES
from dpbench.sources.cache import Opened, OtherData, open_dataset
from dpbench.storage.files import files_digest
from dpbench.tasks.base import TASKS, once

# The marker of a field without default is compared by identity, so a notebook's class must find the same object elsewhere.
copyreg.pickle(type(dataclasses.MISSING), lambda _: "MISSING")  # type: ignore[arg-type, return-value]

OTHER_CODE = "its code is not the code of this run"
DIED = "the worker process died (killed, out of memory, or ended by the code itself)"


def trial_rngs(seed: int, key: str, trial: int) -> tuple[np.random.Generator, np.random.Generator]:
    """The generators of one trial, for the mechanism and for the task: they depend only on these three values."""
    children = np.random.SeedSequence([seed, int(key, 16), trial]).spawn(2)
    return np.random.default_rng(children[0]), np.random.default_rng(children[1])


class Watch:
    """Is notified of every trial of a chunk. This base class does nothing."""

    def begin(self, trial: int) -> None:
        """A trial begins: release and score. Called again if it first repeats its partner."""

    def end(self) -> None:
        """The trial is over, successful or not."""

    def done(self, result: TrialRow | Failure) -> None:
        """The result of the trial."""


def run_remote(chunk: Chunk) -> Outcome:
    """The same as `run_chunk`, for another process to read."""
    outcome = run_chunk(chunk)
    return replace(outcome, chunk=chunk.without_objects())


def run_chunk(chunk: Chunk, watch: Watch | None = None) -> Outcome:
    """All trials of a chunk. An exception ends its trial, never the chunk; it is returned as a failure."""
    watch = watch or Watch()
    worker = _worker_name()
    _one_thread()
    try:
        bench, setting = _prepared(chunk, watch)
    except ChunkRefused as refusal:
        return Outcome(chunk, refused=str(refusal), worker=worker, code=refusal.code)
    outcome = Outcome(chunk, worker=worker, setting=setting)
    for trial in chunk.trials:
        try:
            watch.begin(trial)
            try:
                row = bench.row(trial)
            finally:
                watch.end()
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # also SystemExit, GeneratorExit, and kinds of the user's own
            failure = failures.of_error(trial, error)
            outcome.failures.append(failure)
            watch.done(failure)
        else:
            outcome.rows.append(row)
            watch.done(row)
    return outcome


class Bench:
    """One mechanism on one dataset under one task, trial by trial."""

    def __init__(self, chunk: Chunk, data: Data, mechanism: Any, task: Any, watch: Watch) -> None:
        self.chunk, self.data, self.mechanism, self.task, self.watch = chunk, data, mechanism, task, watch
        self.last: tuple[int, NDArray[np.float64] | None] = (-1, None)
        """The latest trial and its errors, needed for its partner."""

    def row(self, trial: int) -> TrialRow:
        """Release and score once; an odd trial is also compared with the one before it."""
        self.last, partner = (-1, None), self.last
        release, seconds, task_rng = self._release(trial)
        scores = self.task.score(self.data, release, task_rng)
        row: dict[str, TrialValue] = {"trial": trial, "seconds": seconds}
        for name, value in scores.items():
            # Text in the scores, such as titles of items, is not a metric.
            row |= {f"diagnostic.{name}": value} if isinstance(value, str) else {f"metric.{name}": _real(value)}
        if hasattr(self.task, "expected"):  # a user's own class may lack it
            expected = self.task.expected(self.data, release, task_rng)
            row |= {f"expected.{name}": _real(value) for name, value in expected.items()}
        row |= _plain_values("chosen", getattr(release, "chosen", None))
        row |= _plain_values("diagnostic", getattr(release, "diagnostics", None))
        for name, value in row.items():
            if any(failures.storable(text) != text for text in (name, value) if isinstance(text, str)):
                raise ValueError(f"{failures.storable(name)} holds half of a surrogate pair, which cannot be stored")
        errors = self._errors(release)
        self.last = (trial, errors)
        if errors is not None:
            row |= self._pair(trial, errors, partner)
        return row

    def _release(self, trial: int) -> tuple[Any, float, np.random.Generator]:
        rng, task_rng = trial_rngs(self.chunk.seed, self.chunk.setting.key, trial)
        began = time.perf_counter()
        form = self.chunk.setting.noise
        # A user's own class may not know about forms of noise.
        chosen = {} if form == FLOAT else {"noise": form}
        release = self.mechanism.release(self.data, epsilon=self.chunk.setting.epsilon, rng=rng, **chosen)
        return release, time.perf_counter() - began, task_rng

    def _errors(self, release: Any) -> NDArray[np.float64] | None:
        errors = once(self.task.errors, self.data, release) if hasattr(self.task, "errors") else None
        return None if errors is None else read_only(errors, dtype=np.float64).ravel()

    def _pair(
        self, trial: int, errors: NDArray[np.float64], partner: tuple[int, NDArray[np.float64] | None]
    ) -> dict[str, float | None]:
        """Variance and squared bias of a published number, unbiased, from the two trials of a pair; on the odd one.

        Each pair is independent of the others, so a run's mean over pairs does not depend on its history.
        """
        before = self._partner(trial, partner) if trial % 2 else None
        if before is None:
            return {"metric.pair_variance": None, "metric.pair_bias2": None}
        apart = errors - before
        return {
            "metric.pair_variance": float(np.dot(apart, apart)) / 2 / errors.size,
            "metric.pair_bias2": float(np.dot(errors, before)) / errors.size,
        }

    def _partner(self, trial: int, latest: tuple[int, NDArray[np.float64] | None]) -> NDArray[np.float64] | None:
        """The errors of the trial before an odd one. None if that trial failed just now: it will take this one along later.

        A trial that was finished before is repeated. If that fails now, this trial fails too: stored without its pair, it would
        never be completed.
        """
        number, errors = latest
        if number == trial - 1:
            return errors
        if trial - 1 in self.chunk.trials + self.chunk.lost:
            return None
        self.watch.begin(trial)
        release, _, task_rng = self._release(trial - 1)
        self.task.score(self.data, release, task_rng)  # scoring may fail: then the trial has failed
        return self._errors(release)


class ChunkRefused(Exception):
    """This worker's code or data differ from those of the plan."""

    def __init__(self, reason: str, code: Code | None = None) -> None:
        super().__init__(reason)
        self.code = code


_preparing = threading.Lock()
"""Workers may have several threads. One at a time loads registries, parses code and opens data."""


def _prepared(chunk: Chunk, watch: Watch) -> tuple[Bench, str]:
    """Everything that the trials need, and the setting's id as this worker computes it. Raises ChunkRefused if it differs.

    The plan could make every part of it. If this worker cannot, the worker is at fault: it lacks a module, a file or a
    parameter.
    """
    with _preparing:
        identity.join(chunk.session)
        try:
            mechanism, task = _parts(chunk.setting)
            code = identity.setting_code(SOURCES.get(chunk.setting.dataset.source), mechanism, task)
            files = declared_files(mechanism, task)
            setting = identity.setting_id(chunk.setting.key, chunk.seed, chunk.setting.dataset.fingerprint, code, files)
            if setting != chunk.setting.id:
                raise ChunkRefused(OTHER_CODE, code)
            return Bench(chunk, _data(chunk.setting.dataset), mechanism, task, watch), setting
        except ChunkRefused:
            raise
        except UserError as error:
            raise ChunkRefused(str(error)) from error
        except (Exception, SystemExit) as error:
            raise ChunkRefused(failures.describe(error)) from error


def declared_files(*parts: Any) -> str:
    """One digest of the files that a mechanism and a task declare (`files()`); empty if they declare none."""
    paths = [list(part.files()) for part in parts if callable(getattr(part, "files", None))]
    return identity.digest([files_digest(listed) for listed in paths]) if any(paths) else ""


def code_of(chunk: Chunk) -> Code:
    """The code that computes a chunk, as this process has it."""
    mechanism, task = _parts(chunk.setting)
    return identity.setting_code(SOURCES.get(chunk.setting.dataset.source), mechanism, task)


def _parts(setting: Setting) -> tuple[Any, Any]:
    """The mechanism and the task of a setting."""
    return setting.mechanism.make(MECHANISMS), setting.task.make(TASKS)


def _data(dataset: Dataset) -> Data:
    key = json.dumps([dataset.name, dataset.source, dict(dataset.params), dataset.seed]), dataset.fingerprint
    try:
        if not _opened(*key).unchanged():
            _opened.cache_clear()
        return _opened(*key).data
    except OtherData:
        raise ChunkRefused(f"its data of {dataset.name} are not the data of this run") from None


@functools.lru_cache(maxsize=2)
def _opened(made_from: str, fingerprint: str) -> Opened:
    # A memory map opened and verified once per process serves all settings of the dataset. The fingerprint is part of the
    # key because a cluster's worker outlives runs and their files. The parent has reported skipped lines.
    return open_dataset(Dataset(*json.loads(made_from)), verify=True, expected=fingerprint, tell=False)


_limited = threading.local()
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def _one_thread() -> None:
    """Keep BLAS to one thread: threads split sums differently, and workers already fill the cores.

    OpenMP has one setting per thread of ours. A library that is loaded later reads it from the environment.
    """
    if getattr(_limited, "before", None) is not None:
        return
    import threadpoolctl

    _limited.before = {name: os.environ.get(name) for name in THREADS}
    os.environ.update(dict.fromkeys(THREADS, "1"))
    _limited.limiter = threadpoolctl.threadpool_limits(limits=1)


def restore_threads() -> None:
    """Give BLAS its threads back, in a process that does not only run trials, such as a notebook."""
    before, _limited.before = getattr(_limited, "before", None), None
    if before is None:
        return
    _limited.limiter.restore_original_limits()
    for name, value in before.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def _worker_name() -> str:
    """The worker's name in a cluster, otherwise host and process."""
    if "distributed" in sys.modules:
        try:
            return str(sys.modules["distributed"].get_worker().address)
        except (ValueError, AttributeError):
            pass
    return f"{socket.gethostname()}:{os.getpid()}"


def _plain_values(prefix: str, values: Mapping[str, Any] | None) -> dict[str, float | str]:
    """The numbers and texts of a release's `chosen` or `diagnostics`; arrays are not stored."""
    row: dict[str, float | str] = {}
    for name, value in (values or {}).items():
        if isinstance(value, str):
            row[f"{prefix}.{name}"] = value
        elif isinstance(value, Real) or (isinstance(value, np.ndarray) and value.ndim == 0):
            row[f"{prefix}.{name}"] = _real(value)
    return row


def _real(value: Any) -> float:
    if np.iscomplexobj(value):
        raise TypeError("expected real numbers, not complex ones")
    return float(value)
