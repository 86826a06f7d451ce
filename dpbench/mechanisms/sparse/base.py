"""What all mechanisms of sparse share: noise in whole numbers, and the choice of form.

Every summary exists twice. The laborious form adds noise to all m places and summarises the result; the shortcut draws
the summary itself, from the n non-zero places and the few zeros that it would have chosen, with the same distribution.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np

from dpbench.data import Contingency, Data
from dpbench.errors import UserError, one_of, positive
from dpbench.mechanisms.base import Mechanism
from dpbench.mechanisms.tables import FITS, SparseTable, Tabled, sensitivity_of, table_of
from dpbench.numerics import geometric
from dpbench.privacy import Budget, Noise

SMALLEST_RATE = 1e-9
"""Smallest ε/Δ for integer noise."""


@dataclass(frozen=True, kw_only=True)
class Sparse(Tabled):
    """A mechanism of the paper, with noise in whole numbers."""

    rebuild: bool = False
    """Compute the transform in every release, as somebody who publishes once must, instead of once for all. For timings."""

    paper = "sparse"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rebuild and self.transform == "none":
            raise UserError("rebuild=True has no effect: transform='none' leaves nothing to build")

    def table(self, data: Contingency) -> SparseTable:
        return table_of(data, self.transform) if self.rebuild else super().table(data)

    def alpha(self, epsilon: float, sensitivity: float) -> float:
        """α = exp(-ε/Δ)."""
        return geometric.decay(epsilon, sensitivity)

    def moved(self, data: Any) -> int:
        """Δ: how much one individual moves the numbers that get noise."""
        return sensitivity_of(data, self.transform)

    def table_budget(self, epsilon: float) -> float:
        """The part of ε for the noise on the table."""
        return epsilon

    def least(self, data: Any) -> float:
        """The smallest ε: below it, integer noise leaves the range in which doubles represent every integer."""
        return SMALLEST_RATE * self.moved(data) / self.table_budget(1.0)

    def refusal(self, data: Any, epsilon: float) -> str:
        if epsilon < (least := self.least(data)):
            return f"epsilon={epsilon:g} is too small for noise in whole numbers: expected {least:g} or more"
        return self.too_large(data, self.alpha(self.table_budget(epsilon), self.moved(data)))

    def too_large(self, data: Any, alpha: float) -> str:
        """Why the output would not fit; empty if it does."""
        return ""

    def writes_all(self) -> bool:
        """Whether a release is as large as the domain."""
        return False

    def unfit(self, data: Data) -> str:
        if reason := super().unfit(data):
            return reason
        if self.writes_all() and (size := self.domain(data)) > FITS:
            return f"writes all {size:.3g} places of the domain, and at most {FITS:.3g} fit: a summary such as filter does not"
        return ""


@dataclass(frozen=True)
class Sizes:
    """n and ‖M‖₁ of a table, from which sizes and thresholds are chosen."""

    nonzeros: int
    total: int
    public: bool = False
    """Whether they are noisy, and so may be published."""

    @classmethod
    def of(cls, data: Contingency) -> Sizes:
        """The true ones."""
        return cls(data.nonzeros, data.total)

    def published(self) -> dict[str, float]:
        return {"nonzeros": self.nonzeros, "total": self.total} if self.public else {}


@dataclass(frozen=True, kw_only=True)
class Summarised(Sparse):
    """A mechanism that publishes a list of chosen places, drawn by the shortcut or, to compare, laboriously."""

    laborious: bool = False
    """Add noise to every place first, then summarise: same distribution, but the cost depends on the domain."""
    ratio: float = 1.0
    """Size of the summary as a multiple of n, if no parameter gives it."""
    private_size: float = 0.0
    """Share of ε for noisy n and ‖M‖₁, from which sizes and thresholds are then chosen. 0: from the true ones at no cost, as
    in the paper, which treats them as not sensitive."""

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("ratio", self.ratio)
        share = self.private_size
        if isinstance(share, bool) or not isinstance(share, Real) or not 0 <= share < 1:
            raise UserError(f"private_size={self.private_size!r} is not valid: expected a share of ε from 0 to below 1")

    def check_private_size(self) -> None:
        """Raise if noisy sizes would be paid for but not used."""
        if self.private_size and None not in self.told().values():
            given = ", ".join(self.told())
            raise UserError(
                f"private_size={self.private_size} has no effect: {given} leave nothing to choose from n or ‖M‖₁"
            )

    def writes_all(self) -> bool:
        return self.laborious

    def stepwise(self) -> Mechanism:
        """The laborious form: noise on every place, whatever the data is."""
        return replace(self, laborious=True)

    def table_budget(self, epsilon: float) -> float:
        return epsilon * (1 - self.private_size)

    def least(self, data: Any) -> float:
        of_table = super().least(data)
        return max(of_table, 2 * SMALLEST_RATE / self.private_size) if self.private_size else of_table

    def sizes(self, data: Contingency, epsilon: float, noise: Noise) -> Sizes:
        """n and ‖M‖₁, from which parameters are chosen: the true ones, or noisy ones that are paid for."""
        if not self.private_size:
            return Sizes.of(data)
        # One individual moves n by one at most, and ‖M‖₁ by one.
        alpha = self.alpha(Budget(epsilon).take(self.private_size), 2)
        n, total = noise.geometric(np.array([data.nonzeros, data.total]), alpha=alpha, step="sizes")
        n = min(max(1, int(n)), self.domain(data))
        return Sizes(n, max(n, int(total)), public=True)

    def target(self, sizes: Sizes, given: int | None) -> int:
        """Size of the summary: as given, or in proportion to n."""
        return int(given) if given is not None else max(1, round(self.ratio * sizes.nonzeros))

    def inexact(self) -> str:
        if self.laborious:
            return ""
        return (
            "the shortcut draws the zeros that are chosen with floating-point numbers; laborious=true has exact noise"
        )

    def not_private(self) -> str:
        looked = " and ".join(name for name, given in self.told().items() if given is None)
        if not looked or self.private_size:
            return ""
        return f"{looked} chosen from n or ‖M‖₁, which the paper takes as not sensitive: give numbers, or private_size"

    def told(self) -> dict[str, Any]:
        """Parameters that are chosen from the data if they are not given (None)."""
        raise NotImplementedError


def check_optional(**parameters: Any) -> None:
    """Raise unless each is None or a positive number; s and t must be whole."""
    for name, value in parameters.items():
        if value is not None:
            positive(name, value, whole=name in ("s", "t"))


def check_negatives(negatives: str, transform: str) -> None:
    """Raise if rounding negative values up makes no sense."""
    one_of("negatives", negatives, ("keep", "zero"))
    if negatives == "zero" and transform == "haar":
        raise UserError("negatives='zero' and transform='haar': a wavelet coefficient may be negative, a count may not")


def check_consistent(consistent: bool, transform: str) -> None:
    """Raise if the consistency check makes no sense."""
    if consistent and transform != "dyadic":
        raise UserError(f"consistent=True needs transform='dyadic', not {transform!r}: only a tree has ancestors")


Chosen = tuple[np.ndarray, np.ndarray]
"""Sorted places and their noisy values."""


def chosen_nonzeros(table: SparseTable, keep: Callable[[np.ndarray], np.ndarray], alpha: float, noise: Noise) -> Chosen:
    """Add noise to the non-zero entries, and keep those that `keep` selects."""
    noisy = table.noisy(alpha, noise)
    kept = keep(noisy)
    return table.places[kept], noisy[kept]


def chosen_of_all(table: SparseTable, keep: Callable[[np.ndarray], np.ndarray], alpha: float, noise: Noise) -> Chosen:
    """Add noise to every entry, and keep those that `keep` selects: the laborious form."""
    full = table.dense(alpha, noise)
    kept = np.flatnonzero(keep(full))
    return kept, full[kept]
