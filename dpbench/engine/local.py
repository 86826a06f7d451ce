"""Chunks on the cores of this machine, through joblib. Imported by `execute` only."""

from __future__ import annotations

import contextlib
import ctypes
import os
import queue
import sys
import threading
import time
import warnings
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import replace

from dpbench.engine.guard import Closed, Guard, watch
from dpbench.engine.limits import Limits
from dpbench.engine.worker import Watch, restore_threads, run_chunk, run_remote
from dpbench.errors import UserError
from dpbench.mechanisms.base import MECHANISMS
from dpbench.model.setting import Setting
from dpbench.model.trial import Chunk, Outcome
from dpbench.tasks.base import TASKS

HERE = 0.5  # seconds of computing for which it does not pay to start workers
SMALL = 1_000_000  # the largest statistic (rows, columns, ones, ...) of data that cannot fill the memory
MOST_WAITING = 100  # chunks that are sent or computed and not yet stored
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # options of glibc's `mallopt`
KEPT = 1 << 30
"""Bytes of freed memory that a worker keeps, and the size of the largest array that it allocates from them."""


def outcomes(work: list[Chunk], jobs: int, limits: Limits = Limits()) -> Iterator[Outcome]:  # noqa: B008
    """The outcome of every chunk, in any order."""
    if reason := limits.impossible():
        raise UserError(reason)
    if limits:
        yield from _guarded(work, jobs, limits)
        return
    own = True
    if joblib := sys.modules.get("joblib"):  # importing it takes a tenth of a second, which a small plan does not need
        backend, given = joblib.parallel.get_active_backend()
        own = "Loky" in type(backend).__name__
        if jobs == -1 and given is not None:  # a surrounding `joblib.parallel_config` counts, unless a number was given
            jobs = joblib.effective_n_jobs(given)
    waiting = deque(work)
    try:
        yield from map(run_chunk, work) if jobs == 1 else _here(waiting, HERE)
    finally:
        restore_threads()
    if waiting and jobs != 1:
        yield from _in_workers(waiting, jobs, own=own)


def _here(waiting: deque[Chunk], most: float) -> Iterator[Outcome]:
    """The outcomes of the first chunks, computed in this process in about `most` seconds of processor time.

    Starting workers takes longer than a small plan. A trial that ends its process would end the run, so chunks of code that is
    not ours, or of large data, are left for the workers.
    """
    spent, each, setting = 0.0, 0.0, ""
    while waiting:
        chunk = waiting[0]
        if chunk.setting.id != setting:
            setting = chunk.setting.id
            if not is_harmless(chunk.setting):
                return
            clock = _Clock()
            run_chunk(replace(chunk, trials=chunk.trials[:2]), clock)
            each = clock.seconds
        if spent + each * len(chunk.trials) > most:
            return
        began = time.process_time()
        outcome = run_chunk(waiting.popleft())
        spent += time.process_time() - began
        yield outcome


class _Clock(Watch):
    """Measures the latest trial: the first one also loads kernels and opens the data."""

    def __init__(self) -> None:
        self.began = self.seconds = 0.0

    def begin(self, trial: int) -> None:
        self.began = time.process_time()

    def end(self) -> None:
        self.seconds = time.process_time() - self.began


def is_harmless(setting: Setting) -> bool:
    """Whether all code of its trials is dpbench's own, without other libraries' mechanisms, and its data are small."""
    statistics = setting.dataset.statistics.values()
    small = 0 < max(statistics, default=0) <= SMALL
    parts = (setting.mechanism.make(MECHANISMS), setting.task.make(TASKS))
    return small and all(map(_is_ours, parts))


def _is_ours(value: object) -> bool:
    """Whether a mechanism, task or parameter, and everything in it, is of a class of dpbench or a plain value."""
    module = type(value).__module__
    if isinstance(value, dict):
        return all(map(_is_ours, value.values()))
    if isinstance(value, list | tuple):
        return all(map(_is_ours, value))
    if module.partition(".")[0] != "dpbench":
        return module in ("builtins", "numpy")
    return not module.startswith("dpbench.mechanisms.peers") and all(map(_is_ours, vars(value).values()))


def _in_workers(work: Iterable[Chunk], jobs: int, *, own: bool = True) -> Iterator[Outcome]:
    """The outcome of every chunk, computed by worker processes (own: ours, not those of a surrounding
    `joblib.parallel_config`). One that dies takes all chunks in progress with it. Unfinished chunks are then run one by one
    under guard, so that the failing trial is found and the rest is done."""
    import joblib

    ours = {"backend": "loky", "inner_max_num_threads": 1, "initializer": _begin, "initargs": (os.getpid(),)}
    with joblib.parallel_config(n_jobs=jobs, **(ours if own else {})):
        waiting = {chunk.name: chunk for chunk in work}
        while waiting:
            sent: dict[tuple[str, int], Chunk] = {}
            try:
                for outcome in _parallel(list(waiting.values()), sent):
                    sent.pop(outcome.chunk.name, None)
                    waiting.pop(outcome.chunk.name)
                    yield outcome
            except Exception as error:
                if not _worker_died(error):
                    raise
                suspects = list(sent.values())
                for suspect in suspects:
                    waiting.pop(suspect.name)
                yield from _guarded(suspects, 1, Limits())


def _guarded(work: list[Chunk], jobs: int, limits: Limits) -> Iterator[Outcome]:
    """The outcome of every chunk, each computed in a process that a thread of this one watches."""
    import joblib

    waiting: queue.SimpleQueue[Chunk] = queue.SimpleQueue()
    for chunk in work:
        waiting.put(chunk)
    results: queue.SimpleQueue[Outcome | Exception] = queue.SimpleQueue()
    guards = [Guard(limits) for _ in range(min(len(work), joblib.cpu_count() if jobs == -1 else jobs))]
    for guard in guards:
        threading.Thread(target=_serve, args=(guard, waiting, results), daemon=True).start()
    try:
        for _ in work:
            outcome = results.get()
            if isinstance(outcome, Exception):
                raise outcome
            yield outcome
    finally:
        for guard in guards:
            guard.close()


def _serve(guard: Guard, waiting: queue.SimpleQueue[Chunk], results: queue.SimpleQueue[Outcome | Exception]) -> None:
    with contextlib.suppress(queue.Empty):
        while True:
            chunk = waiting.get_nowait()
            try:
                results.put(guard.run(chunk))
            except Closed:
                return
            except Exception as error:  # an error of ours ends the run
                results.put(error)
                return


def _parallel(work: Iterable[Chunk], sent: dict[tuple[str, int], Chunk]) -> Iterator[Outcome]:
    """The outcomes of chunks; of the first ones only, if they are stored more slowly than they are computed.

    joblib sends the next chunk as soon as one is computed, even if nobody has taken its outcome: on a slow disk, outcomes
    would fill the memory. Its lock is held while it asks for the next chunk, so that waiting here would stop everything.
    """
    import joblib

    most = max(MOST_WAITING, 4 * joblib.effective_n_jobs())

    def tasks() -> Iterator[object]:
        for chunk in work:
            if len(sent) >= most:
                return
            sent[chunk.name] = chunk
            yield joblib.delayed(run_remote)(chunk)

    # One chunk per task: chunks are already the unit, and joblib's batching would hide which one is running.
    outcomes = joblib.Parallel(return_as="generator_unordered", batch_size=1, pre_dispatch="2*n_jobs")(tasks())
    try:
        yield from outcomes
    finally:
        with warnings.catch_warnings():  # joblib warns about unused results when the run ends with an error
            warnings.simplefilter("ignore", UserWarning)
            outcomes.close()


def _begin(parent: int) -> None:
    """What a worker does first."""
    watch(parent)
    keep_memory()


def keep_memory() -> None:
    """Reuse the memory of freed arrays. Otherwise the C library returns every large array to the system, and each trial gets
    new pages, one by one: a fifth of the time of a release with millions of columns. Does nothing without glibc."""
    with contextlib.suppress(OSError, AttributeError, TypeError):  # other systems and libraries have no `mallopt`
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(M_MMAP_THRESHOLD, KEPT)
        mallopt(M_TRIM_THRESHOLD, KEPT)


def _worker_died(error: Exception) -> bool:
    names = {cls.__name__ for cls in type(error).__mro__}
    return bool(names & {"TerminatedWorkerError", "BrokenProcessPool"})
