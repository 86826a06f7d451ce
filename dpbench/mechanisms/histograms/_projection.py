"""The distribution of an ALP table: counts randomly rounded to units, in hashed unary, with every bit flipped at random."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpbench.numerics import unary

NEVER = 700.0
"""From this ε on e^ε leaves the range of doubles, and no bit is ever flipped."""

BLOCK = 1 << 20
"""Bits flipped at a time; needs eight bytes each."""


def flip_probability(alpha: float, epsilon: float) -> float:
    """q = 1/(2 + α (e^ε - 1)/ε). One more count sets one more bit with probability ε/α, and a bit that is set is output as
    set (1-q)/q times as often: 1 + (ε/α)((1-q)/q - 1) = e^ε. Needs ε <= α and integer counts."""
    if epsilon > NEVER:
        return 0.0
    return 1 / (2 + alpha * math.expm1(epsilon) / epsilon)


@dataclass(frozen=True, eq=False)
class Projection:
    """`scaled` are the counts in units of α/ε, each at one of the `places`."""

    places: NDArray[np.int64]
    scaled: NDArray[np.float64]
    starts: NDArray[np.int64]
    """First bit of each level, and the number of bits."""
    seed: int
    q: float

    def draw(self, rng: np.random.Generator) -> NDArray[np.uint8]:
        whole = np.floor(self.scaled)
        up = rng.random(self.scaled.size) < self.scaled - whole
        bits = self._written(whole, up)
        for start in range(0, bits.size, BLOCK):
            part = bits[start : start + BLOCK]
            part ^= rng.random(part.size) < self.q
        return bits

    def log_probability(self, outcome: NDArray[np.uint8]) -> float:
        """The sum over its bits, which are independent."""
        chances = self.independent()[np.arange(outcome.size), outcome]
        return float(np.log(chances).sum())

    def outcomes(self) -> Iterator[NDArray[np.uint8]]:
        """Every table: for audits with few bits."""
        return (np.array(bits, dtype=np.uint8) for bits in itertools.product((0, 1), repeat=int(self.starts[-1])))

    def independent(self) -> NDArray[np.float64]:
        """The probabilities of each bit being 0 and 1. A place sets all of its bits for certain except the highest, and that
        one by its own rounding: no rounding affects two bits."""
        whole = np.floor(self.scaled)
        surely = self._written(whole, np.zeros(whole.size, dtype=bool))
        unset, fraction = 1.0 - surely, self.scaled - whole
        up = fraction > 0
        highest = unary.bits_at(self.starts, self.places[up], whole[up].astype(np.int64), self.seed)
        np.multiply.at(unset, highest, 1 - fraction[up])
        is_set = (1 - unset) * (1 - self.q) + unset * self.q
        return np.stack([unset * (1 - self.q) + (1 - unset) * self.q, is_set], axis=1)

    def _written(self, whole: NDArray[np.float64], up: NDArray[np.bool_]) -> NDArray[np.uint8]:
        return unary.write(self.starts, self.places, whole.astype(np.int64) + up, self.seed)
