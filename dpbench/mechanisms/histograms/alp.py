"""The approximate Laplace projection: pure ε, access time by the levels of a cell, space for non-zero cells only."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dpbench.data import Contingency, Summary
from dpbench.data.stages import Stage
from dpbench.data.summary import Entries, Projected
from dpbench.errors import positive
from dpbench.mechanisms.histograms._projection import Projection, flip_probability
from dpbench.mechanisms.histograms.base import Histogram
from dpbench.mechanisms.tables import SparseTable
from dpbench.privacy import Budget, Noise

ROOM = 8
"""Bits of a level for each cell that reaches it, so that at most one bit in nine is set by another cell."""

BITS = 2**27
"""Most bits of a table; if it would have more, units are made larger."""

LARGEST_COUNT = 2.0**52
"""Largest noise of the largest count: above it doubles do not represent every integer."""

LEVELS = 2**20
"""Most levels, for the same reason."""

SURE = math.log(50)
"""Laplace noise exceeds this many scales with probability 1 %."""

LARGEST, REACH = 0.02, 0.05
"""Shares of ε for the largest count and the widths of the levels, if they are not declared."""


def _cut(data: Contingency, transform: str, table: SparseTable, largest: int) -> Summary:
    """The true values, limited to what the table has levels for."""
    weights = np.minimum(table.values, largest)
    return Entries(size=data.size, shape=data.shape, transform=transform, cells=table.places, weights=weights)


@dataclass(frozen=True, kw_only=True)
class ALP(Histogram, name="alp"):
    """The ALP mechanism: y = M(i) ε/α, rounded at random, as y hashed bits, one on each level; every bit flipped with q.

    Aumüller, Lebeda, Pagh: Differentially Private Sparse Vectors with Low Error, Optimal Space, and Fast Access, CCS 2021. A
    cell's estimate is the y that agrees with most of its bits, times α/ε. Its error is about 3/ε for any domain size, but it is
    never negative, so that the errors of empty cells add up in sums.
    """

    alpha: float = 4.0
    """α: one unit is α/ε counts. Smaller units mean less rounding, but bits are flipped more often."""
    largest: int | None = None
    """β, the largest count that the table has levels for; larger counts are cut off. None: a noisy maximum."""
    buckets: int | None = None
    """s, the bits per level. None: eight per cell that reaches the level, by noisy numbers of cells."""

    paper = "Aumüller, Lebeda, Pagh: Differentially Private Sparse Vectors with Low Error, Optimal Space, CCS 2021"
    place = "the ALP mechanism, with a q that spends all of ε on whole counts"
    reconstructed = "the noisy choice of β and of s, which the paper takes as given"
    label, look = "ALP", 10
    audited = (
        {"largest": 8, "buckets": 3},
        {"largest": 3, "buckets": 5, "alpha": 1.5, "k": 2},
        {"largest": 100, "buckets": 40, "k": 3},
        {"buckets": 6},
        {"largest": 30, "transform": "dyadic"},
        {"k": 2, "transform": "dyadic", "buckets": 6},
        {},
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("alpha", self.alpha)
        for name in ("largest", "buckets"):
            if getattr(self, name) is not None:
                positive(name, getattr(self, name), whole=True)

    def publish(self, data: Contingency, epsilon: float, noise: Noise) -> Projected:
        table, budget = self.table(data), Budget(epsilon)
        largest = self._largest(table, budget, noise)
        reach = self._reach(data, budget, noise)
        rate = budget.rest() / self.most(data)  # ε of one count
        alpha = max(float(self.alpha), rate, largest * rate / LEVELS)
        while (widths := self._widths(largest, alpha / rate, reach)).sum() > BITS and widths.size > 1:
            alpha *= 2
        seed = int(noise.stream("hashes").integers(0, 2**63))
        starts = np.concatenate([[0], np.cumsum(widths)])
        scaled = np.minimum(table.values, largest) * (rate / alpha)
        # Rounding to units, collisions of bits and flips are one draw: their error counts as noise.
        cut = Stage("bounding", partial(_cut, data, self.transform, table, largest))
        law = Projection(table.places, scaled, starts, seed, flip_probability(alpha, rate))
        return Projected(
            size=data.size,
            shape=data.shape,
            transform=self.transform,
            bits=noise.draw(law, step="table"),
            starts=starts,
            seed=seed,
            places=table.size,
            unit=alpha / rate,
            chosen={"alpha": alpha, "largest": largest, "levels": widths.size, "entries": int(starts[-1])},
            stages=(cut,),
        )

    def refusal(self, data: Contingency, epsilon: float) -> str:
        """A reason if noise alone would make the table too large."""
        needed = {
            "largest": SURE * self._moved() / LARGEST / LARGEST_COUNT,
            "buckets": ROOM / 2 * SURE * self.most(data) / REACH / BITS,
        }
        for name, least in needed.items():
            if getattr(self, name) is None and epsilon < least:
                hint = f"expected {least:.2g} or more, or a number for `{name}`"
                return f"epsilon={epsilon:g} is too small to choose `{name}` with noise: {hint}"
        if (self.buckets or 0) > BITS:
            return f"buckets={self.buckets} is too much for one level: expected at most {BITS}"
        return ""

    def _moved(self) -> int:
        """How much one individual moves the largest count: by one, or by k in a tree, as all its cells may be in one range."""
        return 1 if self.transform == "none" else int(self.k)

    def _largest(self, table: SparseTable, budget: Budget, noise: Noise) -> int:
        """β: the noisy maximum plus a margin, so that it is too small with probability 1 %."""
        if self.largest is not None:
            return int(self.largest)
        scale = self._moved() / budget.take(LARGEST)
        noisy = noise.laplace(table.values.max(initial=0), scale=scale, step="largest")
        return max(1, math.ceil(float(noisy) + SURE * scale))

    def _reach(self, data: Contingency, budget: Budget, noise: Noise) -> NDArray[np.float64] | None:
        """Bits for the places with 1, 2, 4, 8, ... counts or more, by their noisy number; None if s is declared.

        One more count in a place crosses at most one of these limits, so that one individual moves them by k in L1. Even if
        noise lowers a number by its 1 % quantile, there are still four bits per place.
        """
        if self.buckets is not None:
            return None
        bits = np.frexp(self.table(data).values.astype(np.float64))[1]  # of a count of 2^(j-1) to 2^j - 1: j
        reach = np.bincount(bits, minlength=65)[::-1].cumsum()[::-1][1:]
        scale = self.most(data) / budget.take(REACH)
        noisy = noise.laplace(reach, scale=scale, step="reach")
        return np.ceil(ROOM * np.maximum(0.0, noisy) + ROOM / 2 * SURE * scale)

    def _widths(self, largest: int, unit: float, reach: NDArray[np.float64] | None) -> NDArray[np.int64]:
        """The number of bits of each level. There are as many levels as β has units."""
        levels = math.ceil(largest / unit)
        if reach is None:
            return np.full(levels, int(self.buckets or 1))
        # A place sets the bit of level b (from 0) only if it has more than b units.
        band = np.frexp(np.maximum(1.0, np.floor(np.arange(levels) * unit)))[1] - 1
        return np.minimum(reach[band], BITS).astype(np.int64)
