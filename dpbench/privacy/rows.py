"""The step `rows`: a Poisson sample of rows, which amplifies privacy. Used by noise.py."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbench.numerics.arrays import Floats
from dpbench.privacy._words import Words
from dpbench.privacy.step import RandomStep


@dataclass(frozen=True, eq=False)
class RowsStep(RandomStep, kind="rows"):
    """A sample that contains each of n rows (`values`) with probability `rate`. An audit amplifies the cost of later steps."""

    values: int
    rate: float

    def parameters(self) -> Mapping[str, Any]:
        return {"rate": self.rate}

    def check(self) -> None:
        if not 0 <= self.rate <= 1:
            raise ValueError(f"rate={self.rate!r} is not valid: expected a number from 0 to 1")

    def draw(self, rng: np.random.Generator) -> NDArray[np.int64]:
        return poisson_rows(int(self.values), float(self.rate), rng)

    def tiled(self, size: int) -> RowsStep:
        return replace(self, values=max(size, int(self.values)))

    def uniforms(self, output: Any, exact: bool, rng: np.random.Generator) -> Floats:
        """One number per row: below the rate if it is in the sample, and above otherwise."""
        taken = np.zeros(int(self.values), dtype=bool)
        taken[output] = True
        rate, part = float(self.rate), rng.random(taken.size)
        return np.where(taken, rate * part, rate + (1 - rate) * part) if 0 < rate < 1 else part[:0]

    def draw_exact(self, words: Words) -> NDArray[np.int64]:
        return below(int(self.values), float(self.rate), words)


def poisson_rows(n: int, rate: float, rng: np.random.Generator) -> NDArray[np.int64]:
    """A sample of range(n) that contains each row independently with probability `rate`, ascending.

    The gaps between rows are geometric and drawn in order, so a larger n changes none of the earlier rows.
    """
    if rate <= 0 or n == 0:
        return np.empty(0, dtype=np.int64)
    if rate >= 1:
        return np.arange(n, dtype=np.int64)
    decay = -math.log1p(-rate)
    parts: list[NDArray[np.float64]] = []
    last = -1.0
    while last < n:
        expected = (n - last) * rate
        size = int(expected + 4 * math.sqrt(expected)) + 16
        # A gap beyond the end is limited to n + 1, so that the sums stay finite integers.
        with np.errstate(over="ignore"):
            gaps = np.floor(np.minimum(rng.standard_exponential(size) / decay, n)) + 1
        parts.append(last + np.cumsum(gaps))
        last = float(parts[-1][-1])
    rows = np.concatenate(parts)
    return rows[rows < n].astype(np.int64)


def below(n: int, rate: float, words: Words) -> NDArray[np.int64]:
    """The rows of range(n), each with probability `rate`, ascending. The rate is lowered slightly, never raised.

    One word per row, in order: one more row at the end changes nothing for the others.
    """
    limit = math.floor(Fraction(rate) * (1 - Fraction(1, 1 << 40)) * (1 << 64)) if rate < 1 else 1 << 64
    if limit >= 1 << 64:
        return np.arange(n, dtype=np.int64)
    return np.flatnonzero(words.take(n) < np.uint64(limit))
