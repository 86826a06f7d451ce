"""Chunks on a Dask cluster: one that is there already, or one on this machine. Imported by the runner only.

A worker that refuses a chunk, because its code or its data are others, gets no further one, and the chunk goes elsewhere.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

from dpbench.config.schema import RunnerConfig
from dpbench.engine.worker import Chunk, Failure, Outcome, run_chunk
from dpbench.errors import Failed, UserError

PATIENCE = 10.0  # seconds that a scheduler may take to answer, and a cluster to have a worker that takes work
AHEAD = 2  # chunks on their way per thread of the cluster


def outcomes(work: list[Chunk], config: RunnerConfig, say: Callable[[str], None]) -> Iterator[Outcome]:
    """The outcome of every chunk, in any order. Failed when the scheduler is lost."""
    with ExitStack() as stack:
        client = _client(config, stack)
        try:
            yield from _Cluster(client, work, say).outcomes()
        except (OSError, TimeoutError) as error:  # distributed's CommClosedError is an OSError
            raise _lost(config, error) from None


def _client(config: RunnerConfig, stack: ExitStack) -> Any:
    try:
        import dask
        from distributed import Client, LocalCluster
    except ImportError:
        raise UserError("runner=dask needs Dask, which is not installed: pip install 'dpbench-repro[dask]'") from None
    stack.enter_context(dask.config.set({"distributed.scheduler.allowed-failures": 30}))
    target: Any = config.address
    if not target:
        workers = (os.cpu_count() or 1) if config.jobs == -1 else config.jobs
        target = stack.enter_context(LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None))
    elif not isinstance(target, str) or "://" not in target:
        raise UserError(f"runner.address={target!r} is not valid: expected a scheduler such as tcp://host:8786")
    try:
        return stack.enter_context(Client(target, timeout=PATIENCE, set_as_default=False))
    except ValueError as error:
        raise UserError(f"runner.address={target!r} is not valid: {error}: expected tcp://host:port") from None
    except (OSError, TimeoutError):
        raise Failed(f"no Dask scheduler answers at {target}: is it running, and can this machine reach it?") from None


def _lost(config: RunnerConfig, error: Exception) -> Failed:
    where = config.address or "this machine"
    return Failed(
        f"the Dask scheduler at {where} is lost ({type(error).__name__}); what is finished is stored, "
        "and the same command goes on from there"
    )


class _Cluster:
    """The chunks of one run on their way through a cluster."""

    def __init__(self, client: Any, work: list[Chunk], say: Callable[[str], None]) -> None:
        self.client, self.say = client, say
        self.waiting = deque(work)
        self.flying: dict[Any, Chunk] = {}
        self.barred: dict[str, str] = {}
        """Workers that refused work, and why."""

    def outcomes(self) -> Iterator[Outcome]:
        from distributed import wait

        while self.waiting or self.flying:
            if not self._send() and not self.flying:
                yield from self._nobody()
                return
            done, _ = wait(list(self.flying), return_when="FIRST_COMPLETED", timeout=None)
            for future in done:
                chunk = self.flying.pop(future)
                outcome = self._received(future, chunk)
                if outcome.refused:
                    self._bar(outcome)
                    self.waiting.appendleft(chunk)
                else:
                    yield outcome

    def _send(self) -> bool:
        """Keep every thread of the willing workers busy. False when there is no such worker."""
        workers = self._willing()
        if not workers:
            return False
        room = AHEAD * sum(workers.values()) - len(self.flying)
        for _ in range(min(room, len(self.waiting))):
            chunk = self.waiting.popleft()
            only = {"workers": list(workers), "allow_other_workers": False} if self.barred else {}
            self.flying[self.client.submit(run_chunk, chunk, pure=False, **only)] = chunk
        return True

    def _willing(self) -> dict[str, int]:
        """The workers that have refused nothing, with their threads; waits a while for one to come."""
        until = time.monotonic() + PATIENCE
        while True:
            found = {name: threads for name, threads in self.client.nthreads().items() if name not in self.barred}
            if found or self.flying or time.monotonic() > until:
                return found
            time.sleep(0.2)

    def _received(self, future: Any, chunk: Chunk) -> Outcome:
        from distributed import CancelledError, KilledWorker

        try:
            return future.result()
        except KilledWorker:
            reason = "the worker process died (killed, out of memory, or ended by the code itself)"
        except CancelledError:
            raise ConnectionError("the scheduler is gone") from None
        except (ImportError, AttributeError, TypeError) as error:
            # The worker cannot even read the chunk: it has another version of dpbench, or none.
            reason = f"the worker cannot read the work: {type(error).__name__}: {error}"
        return Outcome(chunk, failures=[Failure(trial, reason) for trial in chunk.trials])

    def _bar(self, outcome: Outcome) -> None:
        if outcome.worker not in self.barred:
            self.barred[outcome.worker] = outcome.refused
            self.say(f"worker {outcome.worker} refuses work: {outcome.refused}")

    def _nobody(self) -> Iterator[Outcome]:
        """No worker takes the rest: each chunk fails with the reason of a refusal."""
        worker, reason = next(iter(self.barred.items()), ("", ""))
        for chunk in self.waiting:
            if reason:
                yield Outcome(chunk, refused=reason, worker=worker)
            else:
                lacking = "the cluster has no worker"
                yield Outcome(chunk, failures=[Failure(trial, lacking) for trial in chunk.trials])
