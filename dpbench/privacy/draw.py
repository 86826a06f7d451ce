"""The step `draw`: one outcome of a distribution that a mechanism states itself. Used by noise.py."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np

from dpbench.privacy.step import RandomStep

DrawnOutcome = TypeVar("DrawnOutcome")


class Law(Protocol[DrawnOutcome]):
    """A distribution that a mechanism draws one outcome from: a list of columns, of entries, or a synthetic table."""

    def draw(self, rng: np.random.Generator) -> DrawnOutcome:
        """One outcome."""
        ...

    def log_probability(self, outcome: DrawnOutcome) -> float:
        """The logarithm of the outcome's probability. Raises NotImplementedError with the reason if no closed form is known."""
        ...


@dataclass(frozen=True, eq=False)
class DrawStep(RandomStep, kind="draw"):
    """One outcome of `law`. An audit enumerates the law, or asks it for a bound."""

    law: Law[Any]
    values: tuple[()] = ()

    inexact = "the distribution is drawn with floating-point numbers"

    def parameters(self) -> Mapping[str, Any]:
        return {}

    def draw(self, rng: np.random.Generator) -> Any:
        return self.law.draw(rng)
