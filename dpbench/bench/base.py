"""A row of the speed table, and the measurement of times."""

from __future__ import annotations

import statistics
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


def ratios(ours: Callable[[], object], theirs: Callable[[], object], repeat: int = 7) -> tuple[float, str]:
    """The median of ours / theirs in processor time, and a text with the smallest and largest ratio and both times.

    The two alternate, so that load on the machine affects both.
    """
    pairs = [(seconds(ours, 1), seconds(theirs, 1)) for _ in range(repeat)]
    each = sorted(mine / other for mine, other in pairs)
    mine, other = (statistics.median(times) for times in zip(*pairs, strict=True))
    middle = statistics.median(each)
    return middle, f"{middle:.2f} x ({each[0]:.2f} to {each[-1]:.2f}; {1e3 * mine:.3g} ms against {1e3 * other:.3g} ms)"
