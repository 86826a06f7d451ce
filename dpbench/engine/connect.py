"""The connection to a Dask cluster: one that is there already, one on this machine, or one of Slurm jobs.

Imported by `cluster` only. What stands at an address is asked before a client is made: it may be anything.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

from dpbench.config.schema import RunnerConfig
from dpbench.engine.supply import Supply
from dpbench.errors import Failed, UserError

REACH = 5.0  # seconds in which something must stand at the address of the scheduler
PATIENCE = 8.0  # seconds that a scheduler may take to answer
# A chunk is sent to one worker by name, and `dispatch` alone decides whether to send it again: a scheduler of ours reports the
# first death instead of trying three more times by itself, on the chunks that wait behind the guilty one as well.
DASK = {"distributed.comm.timeouts.connect": PATIENCE, "distributed.scheduler.allowed-failures": 0}

Say = Callable[[str], None]


def connect(config: RunnerConfig, chunks: int, say: Say, stack: ExitStack) -> tuple[Any, Supply]:
    """A client of the cluster that the settings name, for so many chunks, and what provides its workers."""
    try:
        import dask
        import distributed  # noqa: F401
    except ImportError:
        extra = config.backend
        raise UserError(
            f"runner={extra} needs Dask, which is not installed: pip install 'dpbench-repro[{extra}]'"
        ) from None
    stack.enter_context(_quiet())
    stack.enter_context(dask.config.set(DASK))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Port .* is already in use")  # of a page that nobody looks at
        supply = _supply(config, chunks, say, stack)
        return _client(config, stack, supply), supply


def _supply(config: RunnerConfig, chunks: int, say: Say, stack: ExitStack) -> Supply:
    """What provides the workers, where this run does."""
    if config.backend != "slurm":
        return Supply()
    from dpbench.engine.slurm import start

    jobs = start(config, chunks, stack)
    what = "1 job is" if jobs.count == 1 else f"{jobs.count} jobs are"
    say(f"{what} submitted to Slurm; their output goes to {jobs.logs}/")
    return jobs


def _client(config: RunnerConfig, stack: ExitStack, supply: Supply) -> Any:
    from distributed import Client, LocalCluster
    from distributed.versions import VersionMismatchWarning

    try:
        target: Any = config.address or supply.cluster
        if config.address:
            _reach(target)
        elif target is None:
            workers = (os.cpu_count() or 1) if config.jobs == -1 else config.jobs
            # Dask's own limit of memory counts the mapped data of every worker: it is left out.
            target = LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                memory_limit=0,
                dashboard_address=None,
                silence_logs=logging.CRITICAL,  # a worker that is ended tells its log so, at length
            )
            stack.enter_context(target)
        with warnings.catch_warnings():
            # Workers are compared with this process by the code and the libraries that count.
            warnings.simplefilter("ignore", VersionMismatchWarning)
            return stack.enter_context(Client(target, timeout=PATIENCE, set_as_default=False))
    except UserError:
        raise
    except Exception:  # what stands there may answer anything
        where = f"answers at {config.address}" if config.address else "can be started on this machine"
        raise Failed(f"no Dask scheduler {where}: is it running, and can this machine reach it?") from None


def _reach(address: str) -> None:
    """Raise unless a scheduler answers there. A client would wait for ever for a server that speaks something else."""
    from distributed.security import Security

    options = Security().get_connection_args("client")
    if address.startswith("tls:") and options.get("ssl_context") is None:
        raise UserError(f"runner.address={address} needs Dask's settings for TLS (distributed.comm.tls)")
    with ThreadPoolExecutor(1) as aside:  # this thread may have a loop already, as in a notebook
        kind = aside.submit(asyncio.run, _asked(address, options)).result()
    if kind != "Scheduler":
        raise UserError(
            f"runner.address={address} is the address of a Dask {kind.lower()}: expected that of the scheduler"
        )


async def _asked(address: str, options: dict[str, Any]) -> str:
    """What is at an address: "Scheduler", "Worker", "Nanny"."""
    from distributed.comm import connect
    from distributed.core import send_recv

    async def ask() -> str:
        comm = await connect(address, timeout=REACH, **options)
        try:
            return str((await send_recv(comm, op="identity"))["type"])
        finally:
            comm.abort()

    return await asyncio.wait_for(ask(), PATIENCE)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Dask's log keeps errors only, and nothing of client, connection and scheduler: we say ourselves what that means."""
    levels = {}
    for name in ("distributed", "tornado", *logging.root.manager.loggerDict):
        if name.partition(".")[0] in ("distributed", "tornado"):
            logger = logging.getLogger(name)
            levels[logger] = logger.level
            ours = name.startswith(("distributed.c", "distributed.batched", "distributed.scheduler"))
            logger.setLevel(logging.CRITICAL if ours else logging.ERROR)
    try:
        yield
    finally:
        for logger, level in levels.items():
            logger.setLevel(level)
