"""What the clipped mechanisms share: scaling rows down to a norm C, and the private choice of C. Imported by clipped.py."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpbench.data import ColumnData
from dpbench.errors import UserError, positive
from dpbench.mechanisms.base import Bounded, Mechanism
from dpbench.numerics.exponential import probabilities
from dpbench.numerics.rows import weighed_counts
from dpbench.privacy import Noise

NEGLIGIBLE = 1e-12

PARTS = 2**24
"""For exact noise, weights are multiples of 1/PARTS: then sums of weighted rows are exact."""


@dataclass(frozen=True, kw_only=True)
class Clipped(Bounded):
    """What both share: the private choice of m, and the weighting of rows. Not a mechanism itself.

    A row x of norm ‖x‖ above C gets the weight C/‖x‖. Raising C by one costs t, the mean noise of all d columns at C = 1,
    and saves |x|₁/‖x‖ for every row above C. The total error is least where both are equal: the choice of m targets that.
    """

    paper = "Amin, Kulesza, Muñoz Medina, Vassilvitskii: Bounding User Contributions, ICML 2019"
    place = "the trade-off of bias and noise; a quantile by the exponential mechanism: Smith, STOC 2011"
    reconstructed = "candidates, utility and share of the choice; C is chosen once for all columns"
    kinds = ("incidence", "records")

    bound: int | None = None
    """Declared size of the largest row, the last candidate. None: d, as no row holds more columns than there are. Larger
    rows are scaled down like all others, and are no reason to refuse the data."""
    m: int | None = None
    """A fixed m that was not chosen by looking at the data: the whole budget then publishes the counts."""
    share: float = 0.05
    """f, the part of the budget that chooses m."""
    ratio: float = 1.1
    """Each candidate for m is about this many times the previous one."""

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("share", self.share)
        if self.share >= 1:
            raise UserError(f"share={self.share!r} is not valid: expected a number between 0 and 1, both excluded")
        if not 1 < self.ratio < math.inf:
            raise UserError(f"ratio={self.ratio!r} is not valid: expected a number above 1")
        if self.m is not None:
            positive("m", self.m, whole=True)
            for name in ("bound", "share", "ratio"):
                if getattr(self, name) != getattr(Clipped, name):
                    raise UserError(f"{name}={getattr(self, name)!r} has no effect: m={self.m} is given, not chosen")

    def unfit(self, data: Any) -> str:
        if reason := Mechanism.unfit(self, data):  # not Bounded's check, which wants every row within the bound
            return reason
        if data.repeats and self.bound is None and self.m is None:
            return "a user may hold an item more than once, so the number of items bounds no user: declare `bound`"
        return ""

    def not_private(self) -> str:
        return ""

    def sensitivity(self, data: ColumnData) -> int:
        """The largest |x|₁ that the candidates allow for."""
        return data.columns if self.bound is None else int(self.bound)

    def split(self, epsilon: float) -> tuple[float, float]:
        """f ε, which chooses m, and the rest ε', which publishes the counts."""
        return (0.0, epsilon) if self.m is not None else (self.share * epsilon, (1 - self.share) * epsilon)

    # What the norm is.

    def sizes(self, columns: ColumnData) -> np.ndarray:
        """The quantity that m limits, for every row."""
        raise NotImplementedError

    def end(self, columns: ColumnData) -> int:
        """The largest candidate: the size of the largest row allowed for."""
        raise NotImplementedError

    def weights(self, sizes: np.ndarray, m: int) -> np.ndarray:
        """The weight of each row, at most 1."""
        raise NotImplementedError

    def target(self, columns: ColumnData, epsilon: float) -> float:
        """t, the mean noise of all d columns at C = 1."""
        raise NotImplementedError

    def savings(self, columns: ColumnData, epsilon: float) -> tuple[np.ndarray | None, float]:
        """|x|₁/‖x‖ of every row (None if it is always 1), and the cap R on it."""
        raise NotImplementedError

    # The choice.

    def grid(self, columns: ColumnData) -> np.ndarray:
        """1 = m_1 < m_2 < ..., the last one `end`."""
        row, most = [1], self.end(columns)
        while row[-1] < most:
            row.append(min(most, max(row[-1] + 1, int(row[-1] * self.ratio))))
        return np.array(row)

    def saved(self, columns: ColumnData, epsilon: float) -> np.ndarray:
        """S_i, the sum of min(R, |x|₁/‖x‖) over the rows larger than m_i. One more row raises it by at most R."""
        savings, most = self.savings(columns, epsilon)

        def sums() -> np.ndarray:
            grid = self.grid(columns)
            exceeded = np.searchsorted(grid, self.sizes(columns), side="left")  # how many m_i each row exceeds
            weights = None if savings is None else np.minimum(savings, most)
            return np.cumsum(np.bincount(exceeded, weights, minlength=grid.size + 1)[::-1])[::-1][1:]

        return columns.memo(("saved", type(self).__name__, self.end(columns), self.ratio, most), sums)

    def utility(self, columns: ColumnData, epsilon: float) -> np.ndarray:
        """u_i = -max(0, S_i - t, t - S_{i-1}): zero where t lies between S_i and S_{i-1}, otherwise minus the distance.

        There is no candidate below m_1 or above the last m: S_0 = ∞, and the last S is -∞. (With S_0 = n, as the number of rows
        would suggest, the choice is near uniform where t is far above n, instead of choosing m = 1.)
        """
        inner, t = self.saved(columns, epsilon)[:-1], self.target(columns, epsilon)
        return -np.maximum(0.0, np.maximum(np.append(inner, -np.inf) - t, t - np.append(np.inf, inner)))

    def choose(self, columns: ColumnData, epsilon: float, noise: Noise) -> int:
        """m, by the exponential mechanism. u moves by at most R, but not in one direction."""
        if self.m is not None:
            return int(self.m)
        budget, most = self.split(epsilon)[0], self.savings(columns, epsilon)[1]
        at = noise.choose(self.utility(columns, epsilon), epsilon=budget, sensitivity=most, monotone=False)
        return int(self.grid(columns)[at])

    def choices(self, columns: ColumnData, epsilon: float) -> Iterator[tuple[float, int]]:
        """(probability, m) of every outcome of the choice that is not negligible."""
        if self.m is not None:
            yield 1.0, int(self.m)
            return
        budget, most = self.split(epsilon)[0], self.savings(columns, epsilon)[1]
        chances = probabilities(budget / (2 * most) * self.utility(columns, epsilon))
        for at in np.flatnonzero(chances > NEGLIGIBLE):
            yield float(chances[at]), int(self.grid(columns)[at])

    # The counts.

    def clipped(self, columns: ColumnData, m: int, form: str = "float") -> np.ndarray:
        """c^m, the column counts of the weighted rows. For exact noise weights are rounded down, so that no row exceeds C."""
        weights = self.weights(self.sizes(columns), m)
        if form == "exact":
            weights = np.floor(weights * PARTS) / PARTS
        return weighed_counts(columns.indptr, columns.indices, columns.counts, weights)

    def told(self, columns: ColumnData, m: int, clipped: np.ndarray) -> dict[str, float]:
        """Diagnostics, as both are exact: how many rows were scaled down, and the mean error caused by that alone."""
        return {
            "clipped_rows": int(np.count_nonzero(self.sizes(columns) > m)),
            "clipping_error": float((columns.counts - clipped).mean()),
        }
