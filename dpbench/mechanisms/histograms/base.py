"""What the modern mechanisms for sparse histograms share: how many cells one individual may be in, and δ."""

from __future__ import annotations

from dataclasses import dataclass

from dpbench.data import Contingency
from dpbench.errors import UserError, one_of, positive
from dpbench.mechanisms.tables import Tabled

INDIVIDUAL = "add or remove one individual (one count in each of at most k cells)"

TREES = ("none", "dyadic")
"""A wavelet coefficient may be negative, and none of these mechanisms publishes negative counts."""


@dataclass(frozen=True, kw_only=True)
class Histogram(Tabled):
    """A mechanism whose cost depends on the non-zero cells only; over the cells or over the sums of dyadic ranges."""

    k: int = 1
    """Most cells that one individual is in; 1 if a record is an individual. It must be declared: a histogram does not show it."""

    neighbours = INDIVIDUAL

    def __post_init__(self) -> None:
        one_of("transform", self.transform, TREES)
        positive("k", self.k, whole=True)

    def most(self, data: Contingency) -> int:
        """To how many published counts one individual adds one, at most: k, times the levels of a tree."""
        return int(self.k) * self.table(data).sensitivity


def check_delta(delta: object) -> None:
    """Raise unless it is a valid δ."""
    positive("delta", delta)
    if delta >= 1:  # type: ignore[operator]
        raise UserError(f"delta={delta!r} is not valid: expected a number between 0 and 1, both excluded")
