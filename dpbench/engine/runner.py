"""Carries out a plan: sends chunks to workers, stores what comes back, survives what goes wrong.

Imports plan, store and work; the `run` verb and `check` import it. Only this process writes.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from dpbench import fingerprints
from dpbench.config.schema import RunnerConfig
from dpbench.engine.plan import Cell, Plan, chunks
from dpbench.engine.worker import Chunk, Failure, Outcome, run_chunk
from dpbench.results.store import Store


@dataclass
class Result:
    """What a run did: trials found finished, trials computed, and the failures by cell."""

    found: int = 0
    computed: int = 0
    failures: dict[str, list[Failure]] = field(default_factory=dict)

    @property
    def failed(self) -> int:
        return sum(len(failures) for failures in self.failures.values())


def todo(plan: Plan, store: Store) -> tuple[list[Chunk], int]:
    """The chunks still to be computed, and the number of trials that are finished already."""
    work, found = [], 0
    for cell in {c.id: c for c in plan.cells if c.id}.values():
        for start, stop in chunks(cell, plan.run.trials):
            trials = store.missing(cell.id, start, stop)
            found += stop - start - len(trials)
            if trials:
                work.append(_chunk(cell, plan.run.seed, start, stop, trials))
    return work, found


def _chunk(cell: Cell, seed: int, start: int, stop: int, trials: list[int]) -> Chunk:
    return Chunk(
        cell=cell.id,
        key=cell.key,
        dataset=cell.dataset.spec,
        mechanism=cell.mechanism,
        epsilon=cell.epsilon,
        task=cell.task,
        seed=seed,
        start=start,
        stop=stop,
        trials=tuple(trials),
    )


def execute(plan: Plan, store: Store, advance: Callable[[int], None] = lambda _: None) -> Result:
    """Compute what is missing of a plan. `advance` hears of each number of trials that is over, found ones first."""
    work, found = todo(plan, store)
    result = Result(found=found)
    about = {c.id: json.dumps(fingerprints.canonical({"key": c.key, **c.labels()})) for c in plan.cells}
    advance(found)
    for outcome in _outcomes(work, plan.run.runner):
        chunk = outcome.chunk
        if outcome.rows:
            about_cell = about[chunk.cell]
            store.write(chunk.cell, chunk.start, chunk.stop, outcome.rows, about_cell, across=outcome.across)
        if outcome.failures:
            result.failures.setdefault(chunk.cell, []).extend(outcome.failures)
        result.computed += len(outcome.rows)
        advance(len(chunk.trials))
    return result


def _outcomes(work: list[Chunk], config: RunnerConfig) -> Iterator[Outcome]:
    """The outcome of every chunk, in any order. A worker that dies takes down all that is in flight with it: what was
    not finished is then tried chunk by chunk, so that the guilty one is found and the rest is done."""
    if not work:
        return
    if config.jobs == 1 and config.backend == "loky":
        yield from map(run_chunk, work)
        return
    with _backend(config):
        waiting = list(work)
        while waiting:
            sent: dict[tuple[str, int], Chunk] = {}
            try:
                for outcome in _parallel(waiting, sent):
                    sent.pop((outcome.chunk.cell, outcome.chunk.start), None)
                    waiting.remove(outcome.chunk)
                    yield outcome
            except Exception as error:
                if not _worker_died(error):
                    raise
                for suspect in list(sent.values()):
                    waiting.remove(suspect)
                    yield _alone(suspect)


def _parallel(work: Iterable[Chunk], sent: dict[tuple[str, int], Chunk]) -> Iterator[Outcome]:
    import joblib

    def tasks() -> Iterator[object]:
        for chunk in work:
            sent[chunk.cell, chunk.start] = chunk
            yield joblib.delayed(run_chunk)(chunk)

    # One chunk a task: chunks are the unit already, and joblib's own batching would hide which one is running.
    yield from joblib.Parallel(return_as="generator_unordered", batch_size=1, pre_dispatch="2*n_jobs")(tasks())


def _alone(chunk: Chunk) -> Outcome:
    try:
        return next(_parallel([chunk], {}))
    except Exception as error:
        if not _worker_died(error):
            raise
        reason = "the worker process died (killed, out of memory, or ended by the code itself)"
        return Outcome(chunk, failures=[Failure(trial, reason) for trial in chunk.trials])


def _worker_died(error: Exception) -> bool:
    names = {cls.__name__ for cls in type(error).__mro__}
    return bool(names & {"TerminatedWorkerError", "BrokenProcessPool", "KilledWorker"})


@contextlib.contextmanager
def _backend(config: RunnerConfig) -> Iterator[None]:
    import joblib

    if config.backend == "dask":
        from dask.distributed import Client, LocalCluster

        cores = os.cpu_count() or 1
        workers = cores if config.jobs == -1 else config.jobs
        with contextlib.ExitStack() as stack:
            if config.address:
                address: object = config.address
            else:
                cluster = LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None)
                address = stack.enter_context(cluster)
            stack.enter_context(Client(address, set_as_default=True))
            stack.enter_context(joblib.parallel_config(backend="dask"))
            yield
        return
    with joblib.parallel_config(backend="loky", n_jobs=config.jobs, inner_max_num_threads=1):
        yield
