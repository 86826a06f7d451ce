"""Replay for classes that have only `release`: what they draw by numpy, OpenDP or diffprivlib is recorded (`audit --record`).

Imported by the `audit` verb.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from typing import Any

from dpbench.auditing import record_diffprivlib, record_opendp
from dpbench.auditing.library_steps import Calls
from dpbench.auditing.record_numpy import RecordingGenerator
from dpbench.errors import UserError
from dpbench.mechanisms.peers.base import missing
from dpbench.privacy import Noise

NUMPY = "numpy"
LIBRARIES = {"opendp": record_opendp.recording, "diffprivlib": record_diffprivlib.recording}
ALL = "all"
CHOICES = (ALL, NUMPY, *LIBRARIES)


@dataclass(frozen=True)
class Recorded:
    """A class with `release(data, epsilon, rng)`, as one that draws its noise through `noise`."""

    inner: Any
    libraries: tuple[str, ...] = (NUMPY,)
    """Whose draws are recorded."""
    unrecorded: dict[str, None] = field(default_factory=dict, compare=False, repr=False)
    """What was drawn and not recorded."""

    def publish(self, data: Any, epsilon: float, noise: Noise) -> Any:
        calls = Calls(noise, self.unrecorded)
        rng = RecordingGenerator(calls, recorded=NUMPY in self.libraries)
        with contextlib.ExitStack() as recording:
            for library in self.libraries:
                if library in LIBRARIES:
                    recording.enter_context(LIBRARIES[library](calls))
            release = self.inner.release(data, epsilon, rng)
        if rng.unused:
            raise UserError(
                "noise of numpy is used in a way that cannot be recorded: expected values + rng.laplace(...)"
            )
        if calls.seeds:
            calls.note("`rng.integers`")
        return release

    def __getattr__(self, name: str) -> Any:
        if name == "inner":
            raise AttributeError(name)
        return getattr(self.inner, name)

    def inexact(self) -> str:
        return "other libraries draw its noise"

    @property
    def privacy(self) -> str:
        return str(getattr(self.inner, "privacy", "ε"))


def recorded_libraries(chosen: str) -> tuple[str, ...]:
    """The libraries meant by --record. UserError if a named one is not installed."""
    if chosen in LIBRARIES and (reason := missing(chosen)):
        raise UserError(f"--record {chosen}: {reason}")
    return (NUMPY, *(each for each in LIBRARIES if not missing(each))) if chosen == ALL else (chosen,)
