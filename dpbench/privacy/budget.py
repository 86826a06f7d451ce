"""`Budget`: splits a mechanism's epsilon into shares, and refuses to hand out more than all of it."""

from __future__ import annotations

import math

ROUNDING = 1e-12
"""Relative slack: parts such as 0.1 + 0.45 + 0.45 do not add up to 1 in floating point."""


class Budget:
    """An epsilon that is handed out in shares.

    >>> budget = Budget(1.0)
    >>> budget.take(0.1), budget.take(0.9)
    (0.1, 0.9)
    """

    def __init__(self, epsilon: float) -> None:
        if not 0 < epsilon < math.inf:
            raise ValueError(f"epsilon={epsilon!r} is not valid: expected a positive number")
        self.epsilon = float(epsilon)
        self.taken = 0.0
        """The share handed out so far, from 0 to 1."""

    @property
    def left(self) -> float:
        """The epsilon that is left."""
        return max(0.0, 1.0 - self.taken) * self.epsilon

    def take(self, share: float) -> float:
        """A share of the whole epsilon. Raises if the shares would add up to more than 1."""
        if not 0 < share <= 1:
            raise ValueError(f"share={share!r} is not valid: expected a number above 0 and up to 1")
        if self.taken + share > 1 + ROUNDING:
            raise ValueError(f"the budget is overdrawn: a share of {share:g} is asked for, {1 - self.taken:g} is left")
        self.taken += share
        return share * self.epsilon

    def rest(self) -> float:
        """All that is left. Raises if nothing is left."""
        return self.take(1.0 - self.taken)
