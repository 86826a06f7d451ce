"""The process that a guard watches: computes chunks and reports the current trial. Started by `guard`, never imported."""

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

from dpbench.engine.failures import describe
from dpbench.engine.limits import Limiter, Limits
from dpbench.engine.local import watch
from dpbench.engine.worker import run_chunk
from dpbench.model.trial import Outcome

IDLE = 60.0  # seconds without work after which a process ends
PR_SET_PDEATHSIG = 1


def main(connection: int, dump: int, parent: int, timeout: float | None, memory: float | None) -> None:
    """Receive chunks and send the result of each trial, until the other side is gone."""
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
    """The outcome, without the trials that were already reported; or why the work cannot be read."""
    try:
        chunk = pickle.loads(work)
    except Exception as error:
        return f"it cannot read the work: {describe(error)}"
    return replace(run_chunk(chunk, limiter), chunk=chunk.without_objects(), rows=[], failures=[])


def _end_with(parent: int) -> None:
    """End together with the guard's process, even inside compiled code that blocks all threads, if the system supports it."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    watch(parent)
