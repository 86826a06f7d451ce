"""The sources of random bits for exact noise: words of 64 bits. Used by exact.py and noise.py only."""

from __future__ import annotations

import os
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

SEEDED, SYSTEM = "seeded generator", "operating system"
"""The names by which a release states its source of randomness."""


class Words(Protocol):
    """A source of words, each uniform on 0 .. 2^64 - 1 and independent of all others."""

    def take(self, number: int) -> NDArray[np.uint64]:
        """Draw `number` words."""
        ...


class Seeded:
    """Words of a seeded generator: the same seed gives the same noise. For experiments."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng

    def take(self, number: int) -> NDArray[np.uint64]:
        return self._rng.integers(0, 1 << 64, number, dtype=np.uint64)


class System:
    """Words from the operating system, which cannot be drawn again. For a real release."""

    def take(self, number: int) -> NDArray[np.uint64]:
        return np.frombuffer(os.urandom(8 * number), dtype=np.uint64)
