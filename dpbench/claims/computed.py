"""What a computation found over its cases: the worst value, and how many there were. Imported by the modules of formulas."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Computed:
    """The worst value over all cases, and how many there were."""

    value: float
    cases: int


def largest(values: Iterable[float]) -> Computed:
    """The largest value is the worst one."""
    listed = list(values)
    return Computed(max(listed), len(listed))


def least(values: Iterable[float]) -> Computed:
    """The least value is the worst one."""
    listed = list(values)
    return Computed(min(listed), len(listed))
