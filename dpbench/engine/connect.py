"""The connection to a Dask cluster: an existing one, one on this machine, or one of Slurm jobs.

Imported by `cluster` only. An address is probed before a client is made: anything may be listening there.
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

REACH = 5.0  # seconds to reach the address of the scheduler
PATIENCE = 8.0  # seconds for a scheduler to answer
# A chunk is sent to one worker by name, and only `dispatch` decides whether to send it again: our own scheduler reports the
# first death instead of retrying three times by itself, which would also affect the chunks that wait behind the guilty one.
DASK = {"distributed.comm.timeouts.connect": PATIENCE, "distributed.scheduler.allowed-failures": 0}

Say = Callable[[str], None]


def connect(config: RunnerConfig, chunks: int, say: Say, stack: ExitStack) -> tuple[Any, Supply]:
    """A client of the cluster named in the settings, for this many chunks, and the supply of its workers."""
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
        warnings.filterwarnings("ignore", "Port .* is already in use")  # concerns Dask's dashboard, which is not used
        supply = _supply(config, chunks, say, stack)
        return _client(config, stack, supply), supply


def _supply(config: RunnerConfig, chunks: int, say: Say, stack: ExitStack) -> Supply:
    """The supply of workers, if this run provides them."""
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
            # Dask's own memory limit would count the mapped data of every worker, so it is not set.
            target = LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                memory_limit=0,
                dashboard_address=None,
                silence_logs=logging.CRITICAL,  # workers log at length when they are stopped
            )
            stack.enter_context(target)
        with warnings.catch_warnings():
            # Workers are checked against this process by the code and libraries that matter.
            warnings.simplefilter("ignore", VersionMismatchWarning)
            return stack.enter_context(Client(target, timeout=PATIENCE, set_as_default=False))
    except UserError:
        raise
    except Exception:  # anything may be listening there
        where = f"answers at {config.address}" if config.address else "can be started on this machine"
        raise Failed(f"no Dask scheduler {where}: is it running, and can this machine reach it?") from None


def _reach(address: str) -> None:
    """Raise unless a scheduler answers at the address. A client would wait forever for another kind of server."""
    from distributed.security import Security

    options = Security().get_connection_args("client")
    if address.startswith("tls:") and options.get("ssl_context") is None:
        raise UserError(f"runner.address={address} needs Dask's settings for TLS (distributed.comm.tls)")
    with ThreadPoolExecutor(1) as aside:  # this thread may already have an event loop, as in a notebook
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
    """Reduce Dask's log to errors, without those of client, connection and scheduler, which we report ourselves."""
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
