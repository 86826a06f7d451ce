"""Chunks on a Dask cluster: an existing one, one on this machine, or one of Slurm jobs. Imported by the executor only.

Dask schedules: it places chunks on workers and sends them again when a worker is lost. Three things it cannot do are here:

- A worker whose code, libraries or data differ refuses a chunk. The chunk is then submitted for the other workers only.
- Dask gives up on a chunk whose workers died, although another chunk or a person may have killed them. It is then submitted
  again under guard: in a process of its own, so that it can do nothing to its worker, and the failing trial is found.
- Dask waits forever for a worker. We wait for a while.

A chunk is sent as bytes together with a text that is executed, and its outcome returns as JSON. So the scheduler and workers
with another dpbench, or none, need not read our classes.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import pickle
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from dpbench import identity
from dpbench.config.schema import RunnerConfig
from dpbench.engine import failures
from dpbench.engine.connect import Say, connect
from dpbench.engine.guard import Guard
from dpbench.engine.limits import Limits
from dpbench.engine.slurm import Jobs
from dpbench.engine.worker import DIED, code_of, run_chunk
from dpbench.errors import Failed, UserError
from dpbench.model.trial import Chunk, Failure, Outcome

NO_WORKER = 30.0  # seconds to wait for a worker when there is none
UNWILLING = 3.0  # seconds to wait for another worker when all present ones refuse
LOOK = 0.5  # seconds between two checks of the workers
PAUSE = 0.01  # seconds between two checks for outcomes
AHEAD = 3  # chunks submitted per thread of the cluster, so that the next one is there when one is done
LEAST_AHEAD = 8  # chunks submitted before any worker is there
DEATHS = 5  # how often Dask may give up on a chunk before it has failed
ONE_THREAD = "runner.timeout and runner.memory need workers of one thread (dask worker --nthreads 1)"
CALL = "exec(task, scope) or scope['reply']"
TASK = """
import json
from distributed import get_worker
try:
    from dpbench.engine.cluster import answer
    reply = answer(**given)
except Exception as error:
    reply = {"refused": f"{type(error).__name__}: {' '.join(str(error).split())}"}
reply = json.dumps({**reply, "worker": get_worker().address})
"""


def outcomes(work: list[Chunk], config: RunnerConfig, say: Say, status: Say = lambda _: None) -> Iterator[Outcome]:
    """The outcome of every chunk, in any order. Failed when the scheduler is lost."""
    with ExitStack() as stack:
        client, jobs = connect(config, len(work), say, stack)
        try:
            yield from _Submission(client, work, Limits(config.timeout, config.memory), say, status, jobs).outcomes()
        except _Lost:
            raise Failed(
                f"the Dask scheduler at {config.address or 'this machine'} is lost; finished trials are stored, "
                "and the same command continues from there"
            ) from None


class _Lost(Exception):
    """The scheduler is gone."""


def work_key(chunk: Chunk) -> str:
    """What a refusal applies to: the data, mechanism and task of a chunk."""
    setting = chunk.setting
    parts = [setting.dataset.name, setting.dataset.fingerprint]
    for variant in (setting.mechanism, setting.task):
        parts += [str(variant.cls), json.dumps(dict(variant.params), sort_keys=True, default=str)]
    return "\n".join(parts)


@dataclass(eq=False)
class _Job:
    """A chunk that is to be computed on the cluster."""

    chunk: Chunk
    work_key: str
    deaths: int = 0
    """How often Dask gave up on it because its workers died."""
    future: Any = None
    """Dask's, if it is submitted."""
    workers: frozenset[str] = frozenset()
    """The only workers that may take it; empty: any."""


class _Submission:
    """The chunks of one run, on their way through a cluster."""

    def __init__(
        self, client: Any, work: list[Chunk], limits: Limits, say: Say, status: Say, jobs: Jobs | None = None
    ) -> None:
        from distributed import as_completed

        self.client, self.limits, self.say, self.status, self.jobs = client, limits, say, status, jobs
        self.completed = as_completed(loop=client.loop, with_results=True, raise_errors=False)
        self.waiting: dict[str, deque[_Job]] = {}
        """The chunks that are not submitted, by work key."""
        self.in_flight: dict[str, _Job] = {}
        """The submitted chunks, by Dask's key. They are few, so that outcomes do not fill the memory."""
        self.workers: dict[str, int] = {}
        """The workers that are there, with their threads."""
        self.refused: dict[str, dict[str, str]] = {}
        """Why a worker refuses a work key."""
        self.idle_since = 0.0
        for chunk in work:
            self._wait(_Job(chunk, work_key(chunk)))

    def outcomes(self) -> Iterator[Outcome]:
        looked = 0.0
        while self.waiting or self.in_flight:
            if time.monotonic() - looked >= LOOK:
                looked = time.monotonic()
                self._look()
            self._submit()
            if self._waited_enough():
                yield from self._give_up()
                return
            yield from self._receive()

    def _wait(self, job: _Job) -> None:
        self.in_flight.pop(job.future.key if job.future else "", None)
        job.future = None
        self.waiting.setdefault(job.work_key, deque()).append(job)

    def _look(self) -> None:
        """Check which workers are there, and take back the chunks that none of them may take."""
        if self.client.status in ("closing", "closed"):
            raise _Lost
        if self.jobs:
            self.jobs.look()
        try:
            there = dict(self.client.nthreads()) if self.client.status == "running" else None
        except (OSError, TimeoutError, RuntimeError, ValueError):  # a closed connection is an OSError
            there = None
        if there is None:
            return
        if self.limits and there and not self.workers and all(threads != 1 for threads in there.values()):
            raise UserError(f"{ONE_THREAD}: worker {min(there)} has {there[min(there)]}")
        for worker in sorted(self.workers.keys() - there.keys()):
            number = self.jobs.job_of(worker) if self.jobs else ""
            self.say(f"worker {worker}{f' of Slurm job {number}' if number else ''} is gone; its chunks are sent again")
        self.workers = there
        lost = [job for job in self.in_flight.values() if job.workers and job.workers.isdisjoint(there)]
        with contextlib.suppress(OSError, TimeoutError, RuntimeError):
            self.client.cancel([job.future for job in lost], force=True)
        for job in [*lost, *(job for job in self.in_flight.values() if job.future.cancelled())]:
            self._wait(job)
        refusing = len(self.refused.keys() & there.keys())
        count = f"{len(there)} worker{'' if len(there) == 1 else 's'}"
        count += f", {refusing} of them refusing work" if refusing else ""
        self.status(", ".join(filter(None, (count, self.jobs.summary() if self.jobs else ""))))

    def _waited_enough(self) -> bool:
        """Whether no worker has taken anything for so long that none will."""
        connected = self.client.status == "running"  # otherwise the client restores the connection, or closes itself
        if not connected or (self.workers and self.in_flight) or (self.jobs and self.jobs.expecting):
            self.idle_since = 0.0
        elif not self.idle_since:
            self.idle_since = time.monotonic()
            if not self.workers:
                self.say(f"there is no worker: waiting {NO_WORKER:.0f} s for one")
        limit = UNWILLING if self.workers else NO_WORKER
        return bool(self.idle_since) and time.monotonic() - self.idle_since > limit

    def _submit(self) -> None:
        """Submit chunks, unless all workers refuse them."""
        import cloudpickle

        most = max(LEAST_AHEAD, AHEAD * sum(self.workers.values()))
        for key in list(self.waiting):
            refusing = {worker for worker, reasons in self.refused.items() if key in reasons} & self.workers.keys()
            willing = frozenset(self.workers.keys() - refusing) if refusing else frozenset()
            while self.waiting.get(key) and not (refusing and not willing):
                if len(self.in_flight) >= most or self.client.status != "running":
                    return
                job = self.waiting[key].popleft()
                if not self.waiting[key]:
                    del self.waiting[key]
                given = {"work": cloudpickle.dumps(job.chunk), "guarded": job.deaths > 0}
                given |= {"timeout": self.limits.timeout, "memory": self.limits.memory}
                scope = {"task": TASK, "scope": {"given": given}}
                try:
                    job.future = self.client.submit(eval, CALL, scope, workers=sorted(willing) or None, pure=False)
                except (OSError, TimeoutError, RuntimeError):  # the scheduler has just been lost
                    self._wait(job)
                    return
                job.workers = willing
                self.in_flight[job.future.key] = job
                self.completed.add(job.future)

    def _receive(self) -> Iterator[Outcome]:
        """The outcomes that have come back; waits a while for the first."""
        end = time.monotonic() + LOOK
        while not self.completed.has_ready() and time.monotonic() < end:
            time.sleep(PAUSE)
        for future, result in self.completed.next_batch(block=False):
            job = self.in_flight.get(future.key)
            if job is None:
                continue  # it was taken back
            if isinstance(result, str):
                outcome = self._outcome(job, json.loads(result))
            elif isinstance(result, tuple):
                outcome = self._killed(job, result[1])
            else:
                outcome = None  # cancelled: the connection was lost
            if outcome is None:
                self._wait(job)
            else:
                del self.in_flight[future.key]
                yield outcome

    def _outcome(self, job: _Job, reply: dict[str, Any]) -> Outcome | None:
        """The outcome of a chunk; None if the worker refused it."""
        worker, reason = reply["worker"], reply.get("refused")
        if reply.get("code"):
            reason = f"{reason}: {identity.differences(code_of(job.chunk), **reply['code'])}"
        if not reason and reply.get("setting") != job.chunk.setting.id:
            reason = "it does not compare its code with the code of this run"
        if reason:
            reasons = self.refused.setdefault(worker, {})
            if reason not in reasons.values():
                self.say(f"worker {worker} refuses work: {reason}")
            reasons[job.work_key] = reason
            return None
        failed = [Failure(**failure) for failure in reply["failures"]]
        return Outcome(job.chunk, reply["rows"], failed, worker=worker, setting=reply["setting"])

    def _killed(self, job: _Job, error: BaseException) -> Outcome | None:
        """The failure of a chunk on which Dask gave up too often; None if it is submitted again, under guard."""
        from distributed import KilledWorker

        job.deaths += 1
        if job.deaths <= DEATHS:
            return None
        reason = DIED if isinstance(error, KilledWorker) else failures.describe(error)
        return _failed(job.chunk, f"{reason}, {job.deaths} times")

    def _give_up(self) -> Iterator[Outcome]:
        """The outcomes of all chunks that are left, if no worker takes them."""
        for job in [*(job for jobs in self.waiting.values() for job in jobs), *self.in_flight.values()]:
            refusals = ((w, reasons[job.work_key]) for w, reasons in self.refused.items() if job.work_key in reasons)
            worker, reason = next(refusals, ("", ""))
            if reason:
                yield Outcome(job.chunk, refused=reason, worker=worker)
            else:
                yield _failed(
                    job.chunk, f"{DIED}, and there is no other" if job.deaths else "the cluster has no worker"
                )


def _failed(chunk: Chunk, reason: str) -> Outcome:
    return Outcome(chunk, failures=[Failure(trial, reason) for trial in chunk.trials])


# On the worker.

_own = threading.local()


def answer(work: bytes, timeout: float | None, memory: float | None, guarded: bool) -> dict[str, Any]:
    """What becomes of a chunk on this worker, in words that any version can read. Called by `TASK`.

    The trials run under guard if there are limits, if a worker died with them before, and if nothing restarts this worker.
    """
    from distributed import get_worker

    if os.getcwd() not in sys.path:
        # As the command line does: a user's classes are in the folder where a command is started.
        sys.path.append(os.getcwd())
    limits, threads = Limits(timeout, memory), get_worker().state.nthreads
    if reason := limits.impossible() or (f"{ONE_THREAD}: it has {threads}" if limits and threads != 1 else ""):
        return {"refused": reason}
    try:
        chunk = pickle.loads(work)
    except Exception as error:
        return {"refused": f"it cannot read the work: {failures.describe(error)}"}
    outcome = _guard(limits).run(chunk) if limits or guarded or not get_worker().nanny else run_chunk(chunk)
    code = outcome.code
    return {
        "rows": outcome.rows,
        "failures": [dataclasses.asdict(failure) for failure in outcome.failures],
        "refused": outcome.refused,
        "setting": outcome.setting,
        "code": code and {"modules": dict(code.modules), "distributions": dict(code.distributions)},
    }


def _guard(limits: Limits) -> Guard:
    """The guard of this thread. Its process serves many chunks, and ends itself when it gets none for a while."""
    guard: Guard | None = getattr(_own, "guard", None)
    if guard is None or guard.limits != limits:
        if guard is not None:
            guard.close()
        guard = _own.guard = Guard(limits)
    return guard
