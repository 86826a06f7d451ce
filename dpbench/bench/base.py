"""A row of the speed table, and the measurement of times."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class FloorRow:
    """What was measured, the floor, and whether it holds; None: it could not be measured."""

    what: str
    measured: str
    floor: str
    held: bool | None


def seconds(call: Callable[[], object], repeat: int = 5) -> float:
    """The best of several timings, in seconds. On a shared machine, other processes can only make a timing longer."""
    best = float("inf")
    for _ in range(repeat):
        began = time.process_time()
        call()
        best = min(best, time.process_time() - began)
    return best
