"""The privacy loss that a mechanism certainly has where one row changes what it takes from the data: for claims.

Imported by claims; imports the sequential test.
"""

from __future__ import annotations

from typing import Any

from dpbench.audit.finding import Pair
from dpbench.audit.sequential import sequential_test
from dpbench.data import Incidence
from dpbench.mechanisms.base import MECHANISMS

DRAWS = 800
"""Releases of each neighbour. They limit the loss that can be shown: with n draws about ln(n/10)."""


def looked_at_pairs() -> list[Pair]:
    """What betrays a mechanism that takes its parameters from the data: one row changes the largest row, or the
    frequencies worth keeping, and with them the noise of everybody."""
    many, few = [[0]] * 200, [[0]] * 4
    return [
        Pair(
            "a row twenty times as large as any",
            Incidence.from_rows(many, columns=20),
            Incidence.from_rows([*many, list(range(20))], columns=20),
        ),
        # At ε = 1 and a bound of 2, the fifth 1 makes FPA keep a second coefficient.
        Pair("a fifth 1", Incidence.from_rows(few, columns=2), Incidence.from_rows([*few, [0]], columns=2)),
    ]


def certain_loss(name: str, epsilon: float, **parameters: Any) -> float:
    """A lower bound of the loss of a mechanism with these parameters (95 % confidence); at least 0."""
    mechanism = MECHANISMS.make(name, **parameters)
    pairs = [pair for pair in looked_at_pairs() if not mechanism.unfit(pair.before) + mechanism.unfit(pair.after)]
    options = {"alpha": 0.05, "draws": DRAWS, "boosting": False, "until_sure": False}
    return sequential_test(mechanism, pairs, epsilon=epsilon, **options).loss
