"""Hashed unary numbers: a number y at a place sets one bit on each of the levels 1 to y, chosen by a hash of place and level.

Bits are stored as bytes; level b (from 0) has the bits starts[b] to starts[b+1] - 1. Places may share bits.
Used by the ALP mechanism, which writes such a table, and by its release, which reads it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbench.numerics.compiled import kernel

LAG = 64
"""The search ends when the score is this many bits below its best. If under a third of the bits above y are set, it would
catch up less than once in 10^19 times. So reading a place takes time proportional to its y, not to all levels."""


@kernel()
def _bit(place, level, starts, seed):  # type: ignore[no-untyped-def]
    """The position of a place's bit on a level: splitmix64 from the seed, one step per level."""
    z = np.uint64(place) + seed + np.uint64(level + 1) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return starts[level] + np.int64(z % np.uint64(starts[level + 1] - starts[level]))


@kernel()
def _write(bits, starts, places, heights, seed):  # type: ignore[no-untyped-def]
    for i in range(places.size):
        for level in range(heights[i]):
            bits[_bit(places[i], level, starts, seed)] = 1


@kernel()
def _read(bits, starts, places, seed):  # type: ignore[no-untyped-def]
    heights = np.empty(places.size)
    for i in range(places.size):
        total, best, height, ties = 0, 0, 0, 1
        for level in range(starts.size - 1):
            total += 1 if bits[_bit(places[i], level, starts, seed)] else -1
            if total > best:
                best, height, ties = total, level + 1, 1
            elif total == best:
                height += level + 1
                ties += 1
            elif total < best - LAG:
                break
        heights[i] = height / ties
    return heights


@kernel()
def _at(starts, places, levels, seed):  # type: ignore[no-untyped-def]
    bits = np.empty(places.size, dtype=np.int64)
    for i in range(places.size):
        bits[i] = _bit(places[i], levels[i], starts, seed)
    return bits


def bits_at(starts: NDArray[np.int64], places: NDArray[Any], levels: NDArray[np.int64], seed: int) -> NDArray[np.int64]:
    """The position of each place's bit on the level given for it."""
    return np.asarray(_at(starts, places.astype(np.int64), levels, np.uint64(seed)))


def write(starts: NDArray[np.int64], places: NDArray[Any], heights: NDArray[np.int64], seed: int) -> NDArray[np.uint8]:
    """The table in which each place sets its bits on the first `heights` levels."""
    bits = np.zeros(int(starts[-1]), dtype=np.uint8)
    _write(bits, starts, places.astype(np.int64), heights, np.uint64(seed))
    return bits


def estimate(bits: NDArray[np.uint8], starts: NDArray[np.int64], places: NDArray[np.int64], seed: int) -> NDArray[Any]:
    """For each place, the y that agrees with most of its bits (set up to y, not set above); the mean if there are several."""
    return _read(bits, starts, places, np.uint64(seed))
