"""Chunks on a Dask cluster: an existing one, or one on this machine. Imported by the runner only.

A chunk is sent as bytes together with a line of text that is evaluated, and its outcome returns as JSON. So the scheduler
and workers with another dpbench, or none, need not read our classes. `dispatch` decides which worker gets which chunk.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import queue
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from dpbench.config.schema import RunnerConfig
from dpbench.engine import identity
from dpbench.engine.connect import PATIENCE, connect
from dpbench.engine.dispatch import Dispatch, Job
from dpbench.engine.failures import Failure
from dpbench.engine.limits import Limits
from dpbench.engine.supply import Supply
from dpbench.engine.worker import Chunk, Outcome, code_of
from dpbench.errors import Failed, UserError

NO_WORKER = 30.0  # seconds to wait for a worker when there is none
UNWILLING = 3.0  # seconds to wait for another worker when all present ones refuse
FETCHERS = 4  # answers fetched at a time
LOOK = 0.5  # seconds between two checks of the workers
CALL = "__import__('dpbench.engine.answers', fromlist=['answer']).answer(work, timeout, memory, guarded)"

Say = Callable[[str], None]


def outcomes(work: list[Chunk], config: RunnerConfig, say: Say, status: Say = lambda _: None) -> Iterator[Outcome]:
    """The outcome of every chunk, in any order. Failed when the scheduler is lost."""
    with ExitStack() as stack:
        client, supply = connect(config, len(work), say, stack)
        try:
            limits = Limits(config.timeout, config.memory)
            yield from _Cluster(client, work, say, status, stack, supply, limits).outcomes()
        except _Lost:
            raise Failed(
                f"the Dask scheduler at {config.address or 'this machine'} is lost; finished trials are stored, "
                "and the same command continues from there"
            ) from None


class _Lost(Exception):
    """The scheduler is gone."""


@dataclass(frozen=True)
class _Sent:
    """A chunk that was sent to a worker."""

    future: Any
    worker: str
    job: Job


@dataclass(frozen=True)
class _Back:
    """What came back for a chunk: an answer, an error from Dask, or neither if it was lost in transit."""

    key: str
    answer: str = ""
    error: BaseException | None = None


class _Cluster:
    """Sends the chunks of one run through a cluster."""

    def __init__(
        self,
        client: Any,
        work: list[Chunk],
        say: Say,
        status: Say,
        stack: ExitStack,
        supply: Supply,
        limits: Limits,
    ) -> None:
        self.client, self.say, self.status, self.supply, self.limits = client, say, status, supply, limits
        self.dispatch = Dispatch(work)
        self.sent: dict[str, _Sent] = {}
        """By Dask's key."""
        self.back: queue.SimpleQueue[_Back] = queue.SimpleQueue()
        # Answers are fetched in other threads: a worker that has just died may keep the scheduler waiting.
        self.fetchers = ThreadPoolExecutor(FETCHERS, "dpbench-fetch")
        stack.callback(self.fetchers.shutdown, wait=False, cancel_futures=True)

    def outcomes(self) -> Iterator[Outcome]:
        looked, idle = 0.0, 0.0
        while not self.dispatch.over:
            if time.monotonic() - looked >= LOOK:
                yield from self._look()
                looked = time.monotonic()
            for worker, job in self.dispatch.assign():
                self._send(worker, job)
            if self.dispatch.busy or self.supply.expecting:
                idle = 0.0
            elif not self.dispatch.over:
                if not idle and not self.dispatch.workers:
                    self.say(f"there is no worker: waiting {NO_WORKER:.0f} s for one")
                idle = idle or time.monotonic()
                if self._waited(time.monotonic() - idle):
                    yield from self.dispatch.give_up()
                    return
            yield from self._receive()

    def _waited(self, seconds: float) -> bool:
        """Whether it is time to give up, if no worker takes the remaining chunks."""
        return seconds > (UNWILLING if self.dispatch.workers else NO_WORKER)

    def _look(self) -> Iterator[Outcome]:
        """Check which workers are there. Yields the outcomes of chunks that caused a worker's death."""
        self.supply.look()
        there = self._members()
        if there is None:
            return
        new = {worker: threads for worker, threads in there.items() if worker not in self.dispatch.workers}
        for worker in set(self.dispatch.workers) - set(there):
            yield from self._gone(worker)
        if self.limits:
            self._bar_threads(new)
        self.dispatch.workers.update(new)
        self.status(", ".join(filter(None, (self.dispatch.summary(), self.supply.summary()))))

    def _bar_threads(self, new: dict[str, int]) -> None:
        """Workers with several threads get no work if there are limits. UserError if there are no other workers."""
        several = {worker: threads for worker, threads in new.items() if threads != 1}
        need = "runner.timeout and runner.memory need workers of one thread (dask worker --nthreads 1)"
        if several and several == new and not self.dispatch.workers:
            raise UserError(f"{need}: worker {min(several)} has {several[min(several)]}")
        for worker, threads in several.items():
            self.dispatch.barred[worker] = f"{need}: it has {threads}"
            self.say(f"worker {worker} gets no work: {self.dispatch.barred[worker]}")

    def _members(self) -> dict[str, int] | None:
        """The workers with their threads; None while the connection to the scheduler is being restored."""
        if self.client.status == "running":
            try:
                return dict(self.client.nthreads())
            except (OSError, TimeoutError, RuntimeError, ValueError):  # a closed connection is an OSError
                return None
        if self.client.status in ("closing", "closed"):
            raise _Lost
        return None

    def _gone(self, worker: str) -> Iterator[Outcome]:
        excuse = self.supply.excuse(worker)
        jobs, guilty = self.dispatch.gone(worker, excused=bool(excuse))
        lost = [key for key, sent in self.sent.items() if sent.worker == worker]
        self._cancel([self.sent.pop(key).future for key in lost])
        if jobs:
            again = len(jobs) - len(guilty)
            what = (
                f"{again} of its chunks {'is' if again == 1 else 'are'} sent again" if again else "its chunk has failed"
            )
            self.say(f"worker {worker} is gone{f' ({excuse})' if excuse else ''}; {what}")
        yield from guilty

    def _cancel(self, futures: list[Any]) -> None:
        with contextlib.suppress(OSError, TimeoutError, RuntimeError):
            self.client.cancel(futures, force=True)

    def _send(self, worker: str, job: Job) -> None:
        import cloudpickle

        # Chunks of a dead worker are sent under guard, so that they cannot end another worker.
        how = {"timeout": self.limits.timeout, "memory": self.limits.memory, "guarded": job.blame > 0}
        try:
            future = self.client.submit(
                eval,
                CALL,
                {"work": cloudpickle.dumps(job.chunk), **how},
                workers=[worker],
                allow_other_workers=False,
                pure=False,
            )
        except (OSError, TimeoutError, RuntimeError):
            self.dispatch.returned(worker, job)
            return
        self.sent[future.key] = _Sent(future, worker, job)
        future.add_done_callback(self._over)

    def _over(self, future: Any) -> None:
        with contextlib.suppress(RuntimeError):  # the run has ended
            self.fetchers.submit(lambda: self.back.put(self._fetch(future)))

    def _fetch(self, future: Any) -> _Back:
        """Runs in a thread of its own."""
        while future.key in self.sent:
            try:
                if future.status == "error":
                    return _Back(future.key, error=future.exception(timeout=PATIENCE))
                if future.status != "finished":
                    break
                # Not `future.result()`: it waits forever if the worker died with the answer.
                found = self.client.sync(self.client.scheduler.gather, keys=[future.key], callback_timeout=PATIENCE)
                if found["status"] != "OK":
                    break
                return _Back(future.key, answer=found["data"][future.key])
            except TimeoutError:
                continue  # the next check shows whether its worker is still there
            except (Exception, asyncio.CancelledError):
                break
        return _Back(future.key)

    def _receive(self) -> Iterator[Outcome]:
        """The outcomes that have come back; waits a while for the first."""
        wait = LOOK
        while True:
            try:
                back = self.back.get(timeout=wait) if wait else self.back.get_nowait()
            except queue.Empty:
                return
            wait = 0.0
            sent = self.sent.pop(back.key, None)
            if sent is None:
                continue  # its worker was declared dead in the meantime
            if back.error is not None:
                yield from self._broken(back.error, sent)
            elif back.answer:
                yield from self._answered(json.loads(back.answer), sent)
            else:
                self.dispatch.returned(sent.worker, sent.job)

    def _answered(self, answer: dict[str, Any], sent: _Sent) -> Iterator[Outcome]:
        """The outcome of one chunk; none if it has to be sent again."""
        worker, job = sent.worker, sent.job
        reason = answer.get("refused")
        if answer.get("code"):
            reason = f"{reason}: {identity.differences(code_of(job.chunk), **answer['code'])}"
        if not reason and answer.get("setting") != job.chunk.setting.id:
            reason = "it does not compare its code with the code of this run"
        if reason:
            if self.dispatch.refuse(worker, job, reason):
                self.say(f"worker {worker} refuses work: {reason}")
            return
        self.dispatch.finished(worker, job)
        failures = [Failure(**failure) for failure in answer["failures"]]
        yield Outcome(job.chunk, answer["rows"], failures, worker=worker, setting=answer["setting"])

    def _broken(self, error: BaseException, sent: _Sent) -> Iterator[Outcome]:
        """Dask could not run the chunk at all."""
        from distributed import KilledWorker

        if isinstance(error, KilledWorker):  # the worker restarted under the same address, and died again
            yield from self._gone(sent.worker)
            return
        reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
        if self.dispatch.bar(sent.worker, sent.job, reason):
            self.say(f"worker {sent.worker} refuses work: {reason}")
