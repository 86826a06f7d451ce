"""The process that a guard watches: computes chunks and says which trial it is at. Started by `guard`, imported by nobody."""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import os
import pickle
import signal
import sys
from dataclasses import replace
from multiprocessing.connection import Connection

from dpbench.engine.failures import told
from dpbench.engine.limits import Limiter, Limits
from dpbench.engine.local import watch
from dpbench.engine.worker import Outcome, run_chunk

IDLE = 60.0  # seconds after which a process that gets no work ends
PR_SET_PDEATHSIG = 1


def main(connection: int, dump: int, parent: int, timeout: float | None, memory: float | None) -> None:
    """Chunks in, what becomes of each trial out, until the other side is gone."""
    _end_with(parent)
    guard = Connection(connection)
    with os.fdopen(dump, "w") as log:
        faulthandler.enable(log)

        def report(message: object) -> None:
            guard.send_bytes(pickle.dumps(message))

        limiter = Limiter(Limits(timeout, memory), report, log)
        with contextlib.suppress(EOFError, OSError):
            while guard.poll(IDLE):
                report(_computed(guard.recv_bytes(), limiter))


def _computed(work: bytes, limiter: Limiter) -> Outcome | str:
    """The outcome, without the trials that are reported already; or why the work cannot be read."""
    try:
        chunk = pickle.loads(work)
    except Exception as error:
        return f"it cannot read the work: {told(error)}"
    return replace(run_chunk(chunk, limiter), chunk=chunk.named(), rows=[], failures=[])


def _end_with(parent: int) -> None:
    """End with the guard's process, also in a kernel that lets no other thread run, where the system can do that."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    watch(parent)
