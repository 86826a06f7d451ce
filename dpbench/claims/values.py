"""Uncertain numbers, and arithmetic with them. Imported by the expressions.

A value is an array of draws or, once it is settled, an interval that holds at a stated level. Smooth arithmetic works draw by
draw. A choice among values (the least, the largest, an absolute value) would favour extreme draws. Each candidate is therefore
settled first, with its share of the error: the result is right whenever the intervals of all candidates are.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpbench.claims.laws import ConfidenceDistribution

Operator = Callable[[float, float], float]


@dataclass(frozen=True)
class UncertainNumber:
    """An uncertain number: `low` and `high` are the same array of draws, or the two ends of an interval."""

    point: float
    low: np.ndarray
    high: np.ndarray
    law: ConfidenceDistribution | None = None
    """Set if it is a plain mean, whose limits need no draws."""

    @classmethod
    def of(cls, number: float) -> UncertainNumber:
        return cls(number, np.asarray(number, dtype=float), np.asarray(number, dtype=float))

    @property
    def settled(self) -> bool:
        return self.low.ndim == 0

    @property
    def certain(self) -> bool:
        return self.settled and bool(self.low == self.high)

    def interval(self, error: float) -> tuple[float, float]:
        """The limits that hold with probability 1 - error, half of the error on either side."""
        if self.settled:
            return float(self.low), float(self.high)
        if self.law is not None:
            low, high = self.law.quantile(np.array([error / 2, 1 - error / 2]))
            return float(low), float(high)
        if np.isnan(self.low).all():
            return float("nan"), float("nan")
        # One of the draws, not interpolated: some may be infinite.
        low = np.nanquantile(self.low, error / 2, method="lower")
        return float(low), float(np.nanquantile(self.high, 1 - error / 2, method="higher"))

    def rising(self, function: Callable[[np.ndarray], np.ndarray]) -> UncertainNumber:
        """The value of an increasing function of this number."""
        point, low = float(function(np.asarray(self.point))), function(self.low)
        return UncertainNumber(point, low, function(self.high) if self.settled else low)


class Spending:
    """The allowed error of a measure, shared by all values that are settled in it.

    A measure is evaluated twice: the first time counts these values.
    """

    def __init__(self, error: float, shares: int = 1) -> None:
        self.error = error
        self.shares = shares
        self.count = 0

    def settle(self, value: UncertainNumber) -> UncertainNumber:
        if value.settled:
            return value
        self.count += 1
        low, high = value.interval(self.error / self.shares)
        return UncertainNumber(value.point, np.asarray(low), np.asarray(high))


def combine(symbol: Operator, left: UncertainNumber, right: UncertainNumber, spend: Spending) -> UncertainNumber:
    """Two values added, subtracted, multiplied or divided, or one raised to a fixed power."""
    if left.settled != right.settled and not (left.certain or right.certain):
        left, right = spend.settle(left), spend.settle(right)
    point = float(symbol(np.float64(left.point), np.float64(right.point)))
    if symbol is operator.pow:
        return _power(point, left, right, spend)
    if symbol is operator.truediv and right.settled and right.low <= 0 <= right.high and not right.certain:
        return UncertainNumber(point, np.asarray(-np.inf), np.asarray(np.inf))
    return UncertainNumber(point, *_corners(symbol, left, right))


def _corners(symbol: Operator, left: UncertainNumber, right: UncertainNumber) -> tuple[np.ndarray, np.ndarray]:
    """The ends of the result lie at corners: each of these operators is monotone in both arguments."""
    if not (left.settled and right.settled):
        row = np.asarray(symbol(left.low, right.low))  # type: ignore[arg-type]
        return row, row
    corners = [symbol(a, b) for a in (left.low, left.high) for b in (right.low, right.high)]  # type: ignore[arg-type]
    return np.min(corners, axis=0), np.max(corners, axis=0)


def _power(point: float, base: UncertainNumber, exponent: UncertainNumber, spend: Spending) -> UncertainNumber:
    if not base.certain and bool(np.any(base.low < 0)):
        base = spend.settle(base)  # an even power folds at 0 like an absolute value
        if exponent.certain and float(exponent.point) % 2 == 0:
            base = folded(base)
    return UncertainNumber(point, *_corners(operator.pow, base, exponent))


def folded(value: UncertainNumber) -> UncertainNumber:
    """The absolute value of a settled value."""
    ends = np.abs([value.low, value.high])
    low = 0.0 if value.low <= 0 <= value.high else float(ends.min())
    return UncertainNumber(abs(value.point), np.asarray(low), np.asarray(float(ends.max())))


def extreme(
    choose: Callable[[Sequence[float]], Any], values: Sequence[UncertainNumber], spend: Spending
) -> UncertainNumber:
    """The least or the largest (`choose`) of some values."""
    settled = [spend.settle(value) for value in values]
    point, low, high = (
        float(choose([float(getattr(value, end)) for value in settled])) for end in ("point", "low", "high")
    )
    return UncertainNumber(point, np.asarray(low), np.asarray(high))


def place(least: bool, values: Sequence[UncertainNumber], axis: np.ndarray, spend: Spending) -> UncertainNumber:
    """Where on an axis the least (or the largest) value may be: every position that no other value certainly beats."""
    settled = [spend.settle(value) for value in values]
    sign = 1 if least else -1
    best = [float(value.low if least else value.high) * sign for value in settled]
    worst = min(float(value.high if least else value.low) * sign for value in settled)
    possible = axis[[end <= worst for end in best]]
    if not len(possible):  # undefined numbers cannot be compared
        possible = axis
    chosen = axis[int(np.argmin([sign * value.point for value in settled]))]
    return UncertainNumber(float(chosen), np.asarray(float(possible.min())), np.asarray(float(possible.max())))


def average(values: Sequence[UncertainNumber], spend: Spending) -> UncertainNumber:
    total = values[0]
    for value in values[1:]:
        total = combine(operator.add, total, value, spend)
    return combine(operator.truediv, total, UncertainNumber.of(len(values)), spend)
