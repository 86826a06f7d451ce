"""What a metric is. A plain type: tasks declare their metrics; the gate, the claims and the figures read them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Metric:
    """Describes a number that a task computes: its name, its meaning, and which direction is better.

    A name with `*` stands for a family: `precision_at_*`, `abs_error/*`.
    """

    name: str
    description: str
    better: Literal["lower", "higher", "neither"] = "neither"
    noiseless: bool = False
    """It does not depend on noise: one trial is enough, whatever the seed."""
    beside: str = ""
    """For a metric that may cancel to zero: another metric in the same unit, against which its rounding errors are small."""
    largest: float | str | None = None
    """The largest possible value, or the task's parameter that gives it; the smallest is then 0. None: no known bound."""

    @property
    def direction(self) -> int:
        """-1: lower is better, 1: higher is better, 0: neither."""
        return {"lower": -1, "higher": 1, "neither": 0}[self.better]
