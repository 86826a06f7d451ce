"""What all mechanisms of sparse share: the table that noise goes to, plain or transformed, and the choice of form.

Every summary exists twice. The laborious form adds noise to all m places and summarises the result; the shortcut draws
the summary itself, from the n non-zero places and the few zeros that it would have chosen, with the same distribution.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpbench.data import Contingency, Data
from dpbench.data.summary import TRANSFORMS
from dpbench.errors import UserError, one_of, positive
from dpbench.mechanisms.base import Mechanism
from dpbench.numerics import dyadic, geometric, haar
from dpbench.privacy import Noise

INDIVIDUAL = "add or remove one individual (one count of one cell)"

FITS = 2**27
"""Most places of a table that is written out in full: 1 GB of numbers, and as much again for its prefix sums."""

SMALLEST_RATE = 1e-9
"""Least ε/Δ: below it whole-number noise leaves the range in which float64 holds whole numbers."""


@dataclass(frozen=True, eq=False)
class Table:
    """M as noise sees it: sorted places of the non-zero entries, their whole values, m = `size`, and Δ."""

    places: np.ndarray
    values: np.ndarray
    size: int
    sensitivity: int

    @property
    def zeros(self) -> int:
        """m - n."""
        return self.size - self.places.size

    def noisy(self, alpha: float, noise: Noise) -> np.ndarray:
        """M'(i) of the non-zero entries."""
        return noise.geometric(self.values, alpha=alpha, step="nonzeros")

    def dense(self, alpha: float, noise: Noise) -> np.ndarray:
        """M', the whole noisy table."""
        full = np.zeros(self.size)
        full[self.places] = self.values
        return noise.geometric(full, alpha=alpha, step="table")


def _table(data: Contingency, transform: str) -> Table:
    if transform == "none":
        return Table(data.cells, data.counts, data.size, 1)
    # One individual is in one node a level, or moves one coefficient a level and the total.
    levels = (data.size - 1).bit_length() + 1
    make = dyadic.nodes if transform == "dyadic" else haar.coefficients
    return Table(*make(data.cells, data.counts, data.size), _places(data, transform), levels)


def _places(data: Contingency, transform: str) -> int:
    """Number of places that noise goes to."""
    if transform == "none":
        return data.size
    return int((dyadic if transform == "dyadic" else haar).offsets(data.size)[-1])


@dataclass(frozen=True, kw_only=True)
class Tabled(Mechanism):
    """A mechanism on contingency tables, over the cells or over a transform of them."""

    transform: str = "none"
    """none, dyadic (sums over dyadic ranges) or haar (wavelet coefficients); ranges are answered accordingly."""

    kinds, neighbours = ("contingency",), INDIVIDUAL

    def __post_init__(self) -> None:
        one_of("transform", self.transform, TRANSFORMS)

    def table(self, data: Contingency) -> Table:
        return data.memo(("table", self.transform), lambda: _table(data, self.transform))

    def domain(self, data: Any) -> int:
        """m: the number of places, cells or those of the transform."""
        return _places(data, self.transform)


@dataclass(frozen=True, kw_only=True)
class Sparse(Tabled):
    """A mechanism of the paper, with noise in whole numbers."""

    paper = "sparse"

    def alpha(self, epsilon: float, sensitivity: float) -> float:
        """α = exp(-ε/Δ)."""
        if epsilon / sensitivity < SMALLEST_RATE:
            least = SMALLEST_RATE * sensitivity
            raise UserError(f"epsilon={epsilon} is too small for noise in whole numbers: expected {least:g} or more")
        return geometric.decay(epsilon, sensitivity)

    def writes_all(self) -> bool:
        """Whether a release is as large as the domain."""
        return False

    def unfit(self, data: Data) -> str:
        if reason := super().unfit(data):
            return reason
        if self.writes_all() and (size := self.domain(data)) > FITS:
            return f"writes all {size:.3g} places of the domain, and at most {FITS:.3g} fit"
        return ""


@dataclass(frozen=True, kw_only=True)
class Summarised(Sparse):
    """A mechanism that publishes a list of chosen places, drawn by the shortcut or, to compare, laboriously."""

    laborious: bool = False
    """Add noise to every place first, then summarise: same distribution, cost of the domain."""
    ratio: float = 1.0
    """Size of the summary as a multiple of n, where no parameter says it."""

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("ratio", self.ratio)

    def writes_all(self) -> bool:
        return self.laborious

    def stepwise(self) -> Mechanism:
        """The laborious form: noise on every place, whatever the data are."""
        return replace(self, laborious=True)

    def target(self, data: Any, given: int | None) -> int:
        """Size of the summary: as given, or in proportion to n."""
        return int(given) if given is not None else max(1, round(self.ratio * data.nonzeros))

    def inexact(self) -> str:
        if self.laborious:
            return ""
        return (
            "the shortcut draws the zeros that are chosen with floating-point numbers; laborious=true has exact noise"
        )

    def not_private(self) -> str:
        looked = " and ".join(name for name, given in self.told().items() if given is None)
        if not looked:
            return ""
        return f"{looked} chosen from n or ‖M‖₁, which the paper takes as not sensitive: give numbers instead"

    def told(self) -> dict[str, Any]:
        """Parameters that are taken from the data when they are not told (None)."""
        raise NotImplementedError


def check_optional(**parameters: Any) -> None:
    """Raise unless each is None or a positive number; s and t must be whole."""
    for name, value in parameters.items():
        if value is not None:
            positive(name, value, whole=name in ("s", "t"))


def check_consistent(consistent: bool, transform: str) -> None:
    """Raise where the consistency check means nothing."""
    if consistent and transform != "dyadic":
        raise UserError(f"consistent=True needs transform='dyadic', not {transform!r}: only a tree has ancestors")


Chosen = tuple[np.ndarray, np.ndarray]
"""Sorted places and their noisy values."""


def chosen_nonzeros(table: Table, keep: Callable[[np.ndarray], np.ndarray], alpha: float, noise: Noise) -> Chosen:
    """Noise on the non-zero entries, and those of them that `keep` says."""
    noisy = table.noisy(alpha, noise)
    kept = keep(noisy)
    return table.places[kept], noisy[kept]


def chosen_of_all(table: Table, keep: Callable[[np.ndarray], np.ndarray], alpha: float, noise: Noise) -> Chosen:
    """Noise on every entry, and those that `keep` says: the laborious form."""
    full = table.dense(alpha, noise)
    kept = np.flatnonzero(keep(full))
    return kept, full[kept]
