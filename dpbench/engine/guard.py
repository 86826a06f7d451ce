"""Runs chunks in a separate process and survives whatever they do to it. Imported by the backends.

A trial that takes too long, needs too much memory or ends its process is recorded as a failure; all other trials of the
chunk are finished in a new process. A trial is blamed for a death or for memory only if it was the first of its process, so
that it is never blamed for what an earlier trial left behind.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import json
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import replace
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import IO, Any

from dpbench.engine import failures
from dpbench.engine.failures import MEMORY, describe
from dpbench.engine.limits import Limiter, Limits
from dpbench.engine.worker import run_chunk
from dpbench.model.trial import Chunk, Failure, Outcome

ENDED = "ended the worker process"
LOOK = 0.2  # seconds between two checks that the process, or the one that started it, is still there
GRACE = 5.0  # seconds for a process to end itself after its trial's time limit
IDLE = 60.0  # seconds without work after which a process ends
PR_SET_PDEATHSIG = 1
TRIES = 2  # processes that may die before they reach a trial
START = (
    "import json, sys; given = json.loads(sys.argv[1]); sys.path[:] = given.pop('path'); "
    "from dpbench.engine.guard import main; main(**given)"
)
ONE_THREAD = ("OMP", "OPENBLAS", "MKL", "BLIS", "NUMEXPR", "NUMBA")


class Closed(Exception):
    """The guard was closed while it worked."""


class Guard:
    """One process for one chunk at a time, started anew whenever it ends."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.process: _Process | None = None
        self.closed = False

    def run(self, chunk: Chunk) -> Outcome:
        """The outcome of a chunk."""
        outcome = Outcome(chunk, setting=chunk.setting.id)  # a process that computes another id refuses
        rest, tries = chunk, 0
        while rest.trials:
            process = self._ready()
            end = process.run(rest, outcome)
            if isinstance(end, Outcome):
                if end.refused:
                    return replace(end, chunk=chunk)
                return replace(end, chunk=chunk, rows=outcome.rows, failures=outcome.failures)
            self._drop()
            done = {row["trial"] for row in outcome.rows} | {failure.trial for failure in outcome.failures}
            if end.trial < 0:  # between two trials, or before the first
                tries += 1
                if tries >= TRIES:
                    outcome.failures.extend(replace(end, trial=t) for t in rest.trials if t not in done)
                    break
            elif process.trials == 1 or end.kind == self.limits.took_longer:
                outcome.failures.append(end)
                done.add(end.trial)
            failed = tuple(failure.trial for failure in outcome.failures)
            rest = replace(rest, trials=tuple(t for t in chunk.trials if t not in done), lost=failed)
        return outcome

    def close(self) -> None:
        """End the process. May be called from another thread; the working thread then raises `Closed`."""
        self.closed = True
        process = self.process
        if process is not None:
            process.kill()

    def _ready(self) -> _Process:
        if self.process is None or not self.process.alive:
            self._drop()
            if not self.closed:
                self.process = _Process(self.limits)
        if self.closed or self.process is None:
            self._drop()
            raise Closed
        return self.process

    def _drop(self) -> None:
        process, self.process = self.process, None
        if process is not None:
            process.kill()
            process.connection.close()
            process.dump.close()


class _Process:
    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.trials = 0
        """Trials that have begun in this process."""
        self.connection, there = Pipe()
        self.dump: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        given = {"path": sys.path, "connection": there.fileno(), "dump": self.dump.fileno(), "parent": os.getpid()}
        given |= {"timeout": limits.timeout, "memory": limits.memory}
        self.process = subprocess.Popen(
            [sys.executable, "-c", START, json.dumps(given)],
            stdin=subprocess.DEVNULL,
            pass_fds=(there.fileno(), self.dump.fileno()),
            env=os.environ | {f"{library}_NUM_THREADS": "1" for library in ONE_THREAD},
            process_group=0,  # so that processes started by a trial end with it
        )
        there.close()

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def run(self, chunk: Chunk, outcome: Outcome) -> Outcome | Failure:
        """Send a chunk and record the results of its trials. Returns an outcome without trials or, if this process is no longer
        usable, the failure of the trial that was running (-1: none)."""
        import cloudpickle

        with contextlib.suppress(OSError):  # it has just ended
            self.connection.send_bytes(cloudpickle.dumps(chunk))
        trial = -1
        until: float | None = None
        while (message := self._next_message(until)) is not None:
            if isinstance(message, str):
                return Outcome(chunk, refused=message, worker=f"process {self.process.pid}")
            if isinstance(message, Outcome):
                return message
            if isinstance(message, tuple):  # a trial begins, or is given more time
                self.trials += message[0] != trial
                trial, seconds = message
                until = None if seconds is None else time.monotonic() + seconds + GRACE
                continue
            if isinstance(message, Failure) and message.kind == MEMORY and self.limits.memory is not None:
                what = message.error.partition(": ")[2]
                reason = f"{self.limits.needed_more}{': ' if what else ''}{what}"
                return replace(message, error=reason, kind=self.limits.needed_more)
            (outcome.failures if isinstance(message, Failure) else outcome.rows).append(message)
            trial, until = -1, None
        return failures.of_dump(trial, self._reason(until), self._dumped())

    def _next_message(self, until: float | None) -> Any:
        """The next message; None if there will be no more."""
        while True:
            alive = self.alive
            try:
                # Messages of a dead process still arrive, but a process that it started may keep the connection open.
                if self.connection.poll(LOOK if alive else 0):
                    return pickle.loads(self.connection.recv_bytes())
            except (EOFError, OSError):
                return None
            if not alive or (until is not None and time.monotonic() > until):
                return None

    def _reason(self, until: float | None) -> str:
        """Why this process has ended, or must be ended."""
        if until is not None and time.monotonic() > until:
            return self.limits.took_longer
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(GRACE)
        if "Timeout (" in self._dumped():
            return self.limits.took_longer
        code = self.process.poll()
        if code is None:
            return f"{ENDED}: it no longer answers"
        if code >= 0:
            return f"{ENDED}: exit status {code}"
        with contextlib.suppress(ValueError):
            name = signal.Signals(-code).name
            return f"{ENDED}: {name}" + (", perhaps because the machine is out of memory" if name == "SIGKILL" else "")
        return f"{ENDED}: signal {-code}"

    def _dumped(self) -> str:
        self.dump.seek(0)
        return self.dump.read(1_000_000).decode(errors="replace")

    def kill(self) -> None:
        """End the process and everything it started."""
        with contextlib.suppress(OSError):
            os.killpg(self.process.pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(GRACE)


# In the process.


def main(connection: int, dump: int, parent: int, timeout: float | None, memory: float | None) -> None:
    """Receive chunks and send the result of each trial, until the other side is gone."""
    if sys.platform == "linux":  # also inside compiled code that blocks all threads
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    watch(parent)
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


def watch(parent: int) -> None:
    """Start the thread that ends this worker when its parent ends. Kernels and numpy let it run; nothing else would end a
    worker that waits for work."""
    threading.Thread(target=_end_after, args=(parent,), daemon=True).start()


def _end_after(parent: int) -> None:
    """End this process as soon as the one that started it is gone, however it went."""
    while os.getppid() == parent:  # an orphan gets another parent as soon as its own dies
        time.sleep(LOOK)
    os._exit(1)
