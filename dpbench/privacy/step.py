"""`RandomStep`: one kind of random step in one class, with its sampler, its exact form and its privacy loss.

Each kind has a module of its own; `Noise` draws it, and an audit computes its loss. Imports words only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpbench.numerics.arrays import Floats
from dpbench.privacy._words import Words


@dataclass(frozen=True, eq=False)
class Cost:
    """The loss of one step between two neighbours, over all outputs and both directions."""

    pure: float = 0.0
    squared: float = 0.0
    """For Gaussian noise: the squared distance of the two means, in standard deviations."""
    laws: tuple[Floats, Floats] | None = None
    """For an enumerated draw: the probability of each outcome on both neighbours."""
    sure: bool = True
    """Whether the cost is exact, not only an upper bound."""


class RandomStep:
    """One step: exact values and public parameters in, a random output out. A subclass is a frozen dataclass.

    `class LaplaceStep(RandomStep, kind="laplace")` makes the loss of the step known to audits.
    """

    kind: ClassVar[str] = ""
    inexact: ClassVar[str] = ""
    """Why it has no exact form; empty if it has one."""
    per_value: ClassVar[bool] = False
    """Whether the output is one noisy number per value."""

    values: Any
    """What the data determines and noise must hide: counts, scores; the number of rows of a sample."""

    def __init_subclass__(cls, kind: str, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.kind = kind
        STEPS[kind] = cls

    def parameters(self) -> Mapping[str, Any]:
        """What must be equal on neighbours, bit for bit: scale, alpha, epsilon ..."""
        raise NotImplementedError

    def check(self) -> None:
        """Raise ValueError if a parameter is not valid."""

    def draw(self, rng: np.random.Generator) -> Any:
        """The output, with floating-point noise."""
        raise NotImplementedError

    def draw_exact(self, words: Words) -> Any:
        """The output, drawn with integers only. Every rounding of values and parameters is in favour of privacy."""
        raise NotImplementedError

    def tiled(self, size: int) -> RandomStep | None:
        """The same step on at least `size` values, to test its sampler by one draw; None if it must be drawn again and again."""
        return None

    def uniforms(self, output: Any, exact: bool, rng: np.random.Generator) -> Floats | None:
        """Numbers that are independent and uniform on (0, 1) if an output has the stated distribution, to test the sampler. None:
        the step does not say what its distribution is."""
        return None

    @classmethod
    def cost(cls, values: Floats, others: Floats, parameters: Mapping[str, NDArray[Any]]) -> Cost:
        """The largest log ratio of the output's densities, given the values on two neighbours, which are finite."""
        raise ValueError(f"{cls.kind} has no cost in closed form")


STEPS: dict[str, type[RandomStep]] = {}
"""All steps that were imported, by kind."""


def positive(what: str, value: float) -> None:
    """Raise ValueError unless a parameter is a positive number."""
    if not 0 < value < np.inf:
        raise ValueError(f"{what}={value!r} is not valid: expected a positive number")
