"""The law of an ALP table: counts rounded at random to units, written in hashed unary, and every bit flipped at random."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpbench.numerics import unary

BLOCK = 1 << 20
"""Bits flipped at a time, which needs eight bytes for each."""

ENUMERATED = 16
"""Most roundings, as a power of two, that a probability is summed over."""


def flip_probability(alpha: float, epsilon: float) -> float:
    """q = 1/(2 + α (e^ε - 1)/ε). One more count sets one more bit with probability ε/α, and a bit that is set shows as
    such (1-q)/q times as often: 1 + (ε/α)((1-q)/q - 1) = e^ε. It needs ε <= α and whole counts."""
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
        """The sum over all roundings: few enough on tiny domains only."""
        whole = np.floor(self.scaled)
        fraction = self.scaled - whole
        open_ = np.flatnonzero(fraction > 0)
        if open_.size > ENUMERATED:
            raise NotImplementedError(
                f"probabilities are summed over up to 2^{ENUMERATED} roundings, not 2^{open_.size}"
            )
        chance = 0.0
        for rounded in itertools.product((False, True), repeat=open_.size):
            up = np.zeros(whole.size, dtype=bool)
            up[open_] = rounded
            flips = int(np.count_nonzero(self._written(whole, up) != outcome))
            rounding = float(np.prod(np.where(rounded, fraction[open_], 1 - fraction[open_])))
            chance += rounding * self.q**flips * (1 - self.q) ** (outcome.size - flips)
        return math.log(chance)

    def _written(self, whole: NDArray[np.float64], up: NDArray[np.bool_]) -> NDArray[np.uint8]:
        return unary.write(self.starts, self.places, whole.astype(np.int64) + up, self.seed)
