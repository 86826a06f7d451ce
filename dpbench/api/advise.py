"""`dpbench.advise(columns=..., users=..., row=..., epsilon=...)`: the verb `advise`, for programs."""

from __future__ import annotations

from dpbench.errors import one_of
from dpbench.mechanisms.base import parse_epsilon
from dpbench.ranking.advice import GUARANTEES, Advice, Shape
from dpbench.ranking.advice import advise as advised


def advise(*, columns: float, users: float, row: float, epsilon: float | str, guarantee: str = "pure") -> Advice:
    """Which mechanism to use for column counts, from public facts alone: nothing of the data is read.

    `row` is the mean number of columns that a user has; `guarantee` is "pure" or "delta". `.best.who` of the result is the
    mechanism, `.recommendations` has all of them with their expected errors relative to the best, `.nearest` the settings of
    the boards on record that decided.
    """
    one_of("guarantee", guarantee, GUARANTEES)
    return advised(Shape(columns, users, row, parse_epsilon(epsilon)), GUARANTEES[guarantee])
