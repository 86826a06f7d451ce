"""The limits of a trial, and how a process enforces them on itself. Imported by the guard and the process that it watches.

Time: a thread of `faulthandler`, which needs no interpreter, writes where the trial is and ends the process, whether it is
in Python, in numpy or in a kernel. Memory: the system grants no more than the limit (RLIMIT_DATA, which excludes mapped
data), so that a larger request raises MemoryError. Neither counts while data is prepared or kernels are compiled.
"""

from __future__ import annotations

import faulthandler
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TextIO

from dpbench.engine.worker import Watch
from dpbench.model.trial import Failure, TrialRow

GB = 10**9
LONGEST = 1e8  # longest time in seconds that a timer accepts
MOST = 2**60  # bytes
COMPILING = 600.0  # seconds allowed for compiling a kernel


@dataclass(frozen=True)
class Limits:
    """`timeout`: seconds per trial; `memory`: GB per worker process. None: no limit."""

    timeout: float | None = None
    memory: float | None = None

    def __bool__(self) -> bool:
        return self.timeout is not None or self.memory is not None

    def impossible(self) -> str:
        """Why this machine cannot enforce them; empty if it can."""
        if self.memory is not None and sys.platform != "linux":
            return f"runner.memory={self.memory:g} cannot be enforced here: only Linux limits the memory of a process"
        return ""

    @property
    def took_longer(self) -> str:
        return "" if self.timeout is None else f"took longer than runner.timeout={self.timeout:g} s"

    @property
    def needed_more(self) -> str:
        return "" if self.memory is None else f"needed more than runner.memory={self.memory:g} GB"


class Limiter(Watch):
    """Enforces limits on the trials of this process, and reports them; a `Watch` of the worker."""

    def __init__(self, limits: Limits, report: Callable[[Any], None], dump: TextIO) -> None:
        self.limits, self.report, self.dump = limits, report, dump
        self.trial = -1
        """The running trial; -1: none."""
        self.before: tuple[int, int] | None = None
        """The memory limit of this process before its first trial."""
        self.ends = 0.0
        self.left = 0.0
        """Seconds that the trial has left after a kernel is compiled."""
        self.compiling = 0
        self.listening = False

    def begin(self, trial: int) -> None:
        if not self.listening and "numba" in sys.modules:
            self._listen()
        self.trial = trial
        self._arm(self.limits.timeout)
        self._hold()

    def end(self) -> None:
        self._release()
        faulthandler.cancel_dump_traceback_later()
        self.trial = -1

    def done(self, result: TrialRow | Failure) -> None:
        self.report(result)

    def _arm(self, seconds: float | None) -> None:
        """Report the running trial and its time limit; end this process when the time is over."""
        self.report((self.trial, seconds))
        if seconds is not None:
            self.ends = time.monotonic() + seconds
            faulthandler.dump_traceback_later(min(max(0.001, seconds), LONGEST), exit=True, file=self.dump)

    def _hold(self) -> None:
        if self.limits.memory is not None:
            import resource

            self.before = self.before or resource.getrlimit(resource.RLIMIT_DATA)
            most = self.before[1]
            limit = int(min(self.limits.memory * GB, MOST))
            resource.setrlimit(resource.RLIMIT_DATA, (limit if most < 0 else min(limit, most), most))

    def _release(self) -> None:
        if self.before is not None:
            import resource

            resource.setrlimit(resource.RLIMIT_DATA, self.before)

    def _listen(self) -> None:
        """Register for notice of kernel compilations."""
        from numba.core import event

        limiter = self

        class Compiling(event.Listener):  # type: ignore[misc]
            def on_start(self, _: Any) -> None:
                limiter.compile_begins()

            def on_end(self, _: Any) -> None:
                limiter.compile_ends()

        event.register("numba:compile", Compiling())
        self.listening = True

    def compile_begins(self) -> None:
        self.compiling += 1  # compilations nest: a kernel compiles the kernels it calls
        if self.compiling == 1 and self.trial >= 0:
            self._release()
            if self.limits.timeout is not None:
                self.left = self.ends - time.monotonic()
                self._arm(COMPILING)

    def compile_ends(self) -> None:
        self.compiling -= 1
        if self.compiling == 0 and self.trial >= 0:
            if self.limits.timeout is not None:
                self._arm(self.left)
            self._hold()
