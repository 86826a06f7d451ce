"""The connection to a Dask cluster: an existing one, one on this machine, or one of Slurm jobs. Imported by `cluster` only.

An address is probed before a client is made: anything may be listening there. Dask sends pickles over TCP: whoever reaches the
port of a scheduler or worker can run code there. So a cluster on this machine listens on loopback only.
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
from dpbench.engine.slurm import Jobs, start, with_tls
from dpbench.errors import Failed, UserError

PATIENCE = 8.0  # seconds for a scheduler to answer
# The first death of a worker already sends its chunks under guard. Only our own scheduler reads this.
DASK = {"distributed.comm.timeouts.connect": PATIENCE, "distributed.scheduler.allowed-failures": 0}

Say = Callable[[str], None]


def connect(config: RunnerConfig, chunks: int, say: Say, stack: ExitStack) -> tuple[Any, Jobs | None]:
    """A client of the cluster named in the settings, and the Slurm jobs that this run started for it."""
    try:
        import dask
        from distributed import Client, LocalCluster
        from distributed.versions import VersionMismatchWarning
    except ImportError:
        extra = config.backend
        raise UserError(
            f"runner={extra} needs Dask, which is not installed: pip install 'dpbench-repro[{extra}]'"
        ) from None
    stack.enter_context(_quiet())
    stack.enter_context(dask.config.set(DASK))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Port .* is already in use")  # concerns Dask's dashboard, which is not used
        # Workers are checked against this process by the code and libraries that matter.
        warnings.simplefilter("ignore", VersionMismatchWarning)
        jobs = start(config, chunks, say, stack) if config.backend == "slurm" else None
        try:
            if config.address:
                _reach(config.address)
            target = config.address or (jobs and jobs.cluster)
            if target is None:
                workers = (os.cpu_count() or 1) if config.jobs == -1 else config.jobs
                # Dask's own memory limit would count the mapped data of every worker, so it is not set. Workers log at
                # length when they are stopped.
                options: dict[str, Any] = {
                    "memory_limit": 0,
                    "dashboard_address": None,
                    "silence_logs": logging.CRITICAL,
                    "host": "127.0.0.1",
                    "protocol": "tls://" if with_tls() else "tcp://",  # other users of this machine reach loopback, too
                }
                target = stack.enter_context(LocalCluster(n_workers=workers, threads_per_worker=1, **options))
            return stack.enter_context(Client(target, timeout=PATIENCE, set_as_default=False)), jobs
        except UserError:
            raise
        except Exception:  # anything may be listening there
            where = f"answers at {config.address}" if config.address else "can be started on this machine"
            raise Failed(f"no Dask scheduler {where}: is it running, and can this machine reach it?") from None


def _reach(address: str) -> None:
    """Raise unless a scheduler answers at the address. A client would wait forever for another kind of server."""
    from distributed.comm import connect
    from distributed.core import send_recv
    from distributed.security import Security

    options = Security().get_connection_args("client")
    if address.startswith("tls:") and options.get("ssl_context") is None:
        raise UserError(f"runner.address={address} needs Dask's settings for TLS (distributed.comm.tls)")

    async def ask() -> str:
        comm = await connect(address, **options)
        try:
            return str((await send_recv(comm, op="identity"))["type"])
        finally:
            comm.abort()

    async def ask_in_time() -> str:
        return await asyncio.wait_for(ask(), PATIENCE)

    with ThreadPoolExecutor(1) as aside:  # this thread may already have an event loop, as in a notebook
        kind = aside.submit(asyncio.run, ask_in_time()).result()
    if kind != "Scheduler":
        raise UserError(
            f"runner.address={address} is the address of a Dask {kind.lower()}: expected that of the scheduler"
        )


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Reduce Dask's log to errors, without those of client, connection and scheduler, which we report ourselves."""
    levels = {}
    for name in ("distributed", "tornado", "asyncio", *logging.root.manager.loggerDict):
        if name.partition(".")[0] in ("distributed", "tornado", "asyncio"):
            logger = logging.getLogger(name)
            levels[logger] = logger.level
            theirs = name.startswith("distributed") and not name.startswith(
                ("distributed.c", "distributed.batched", "distributed.scheduler")
            )
            logger.setLevel(logging.ERROR if theirs else logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in levels.items():
            logger.setLevel(level)
