"""What every method of auditing examines: two neighbouring datasets. Imported by all of `auditing`; imports data kinds only."""

from __future__ import annotations

from dataclasses import dataclass

from dpbench.data import Data


@dataclass(frozen=True)
class Neighbours:
    """Two neighbouring datasets: `after` is `before` with one more row, which comes last."""

    name: str
    """What is special about it, such as "the new row is the largest"."""
    before: Data
    after: Data
