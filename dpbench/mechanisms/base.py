"""The contract of a mechanism: a frozen dataclass of the paper's parameters with one verb, `release`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from dpbench.data import Data, Release
from dpbench.errors import UserError, positive
from dpbench.registry import Registry

MECHANISMS: Registry[type[Mechanism]] = Registry("mechanism", "dpbench.mechanisms", method="release")

ROW = "add or remove one row (user)"


@dataclass(frozen=True, kw_only=True)
class Mechanism:
    """Base of all mechanisms. A subclass states its facts as class attributes and defines `publish`.

    `class GS(Mechanism, name="gs")` registers it; a class without a name is used by its dotted path.
    """

    name: ClassVar[str] = ""
    paper: ClassVar[str] = ""
    """Paper id (gs, sparse, analytics, sensitivity, epicrec), or a reference for a method of none of them."""
    place: ClassVar[str] = ""
    """Section, algorithm, figure or theorem that defines it."""
    kinds: ClassVar[tuple[str, ...]] = ("incidence",)
    """Data kinds it takes."""
    privacy: ClassVar[str] = "ε"
    """The guarantee: "ε", "(ε, δ)" or "none"."""
    neighbours: ClassVar[str] = ROW
    reconstructed: ClassVar[str] = ""
    """What of it is our reading of a part the text does not give; empty when nothing is."""

    def __init_subclass__(cls, name: str | None = None, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if name is not None:
            cls.name = name
            MECHANISMS.add(name, cls)

    def release(self, data: Data, epsilon: float, rng: np.random.Generator) -> Release:
        """Publish `data` once under `epsilon`; every random number comes from `rng`, and `data` is not changed."""
        budget = parse_epsilon(epsilon)
        if reason := self.unfit(data):
            raise UserError(f"{self.name or type(self).__name__}: {reason}")
        return self.publish(data, budget, rng)

    def publish(self, data: Any, epsilon: float, rng: np.random.Generator) -> Release:
        """The mechanism itself: what the paper's pseudocode says."""
        raise NotImplementedError

    def unfit(self, data: Data) -> str:
        """Why this mechanism cannot take `data` (the plan shows it and leaves the cell out); empty when it can."""
        kind = getattr(data, "kind", type(data).__name__)
        if kind not in self.kinds:
            return f"takes {' or '.join(self.kinds)} data, not {kind}"
        return ""

    def not_private(self) -> str:
        """Why a release with these parameters is not differentially private; empty when it is."""
        return ""


@dataclass(frozen=True, kw_only=True)
class Bounded(Mechanism):
    """A mechanism whose noise grows with Δ, the largest number of ones a row may hold."""

    bound: int | None = None
    """Declared largest row. None: the largest observed one, as the papers do, which looks at the data."""

    def __post_init__(self) -> None:
        if self.bound is not None:
            positive("bound", self.bound, whole=True)

    def sensitivity(self, data: Any) -> int:
        """Δ₁(Q): the declared bound, or the observed one (at least 1, so that empty data has noise too)."""
        return max(1, data.largest_row) if self.bound is None else int(self.bound)

    def unfit(self, data: Any) -> str:
        if reason := super().unfit(data):
            return reason
        if self.bound is not None and data.largest_row > self.bound:
            return f"bound={self.bound} is below the largest row {data.largest_row}: the noise would not cover it"
        return ""

    def not_private(self) -> str:
        return (
            "" if self.bound is not None else "Δ is the largest observed row, which looks at the data: declare `bound`"
        )


def mechanism(name: str, **parameters: Any) -> Any:
    """`mechanism("gs", sampling="column")`: a mechanism by name or dotted path, with the paper's parameters."""
    return MECHANISMS.make(name, **parameters)


def parse_epsilon(value: object) -> float:
    """A privacy budget as users write it: a positive number, or `ln2`, `ln3` ..."""
    number = math.nan
    if isinstance(value, Real) and not isinstance(value, bool):
        number = float(value)
    elif isinstance(value, str):
        text = value.strip().lower()
        logarithm = text.startswith("ln")
        try:
            number = float(text.removeprefix("ln").strip("() "))
            number = math.log(number) if logarithm else number
        except ValueError:
            number = math.nan
    if not 0 < number < math.inf:
        raise UserError(f"epsilon={value!r} is not valid: expected a positive number, ln2 or ln3")
    return number
