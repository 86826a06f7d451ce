"""Seeded hashing of whole numbers: buckets and signs for sketches, and shuffles of domains too large to list."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dpbench.numerics import keyed

MIX = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


def mixed(numbers: np.ndarray, seed: int) -> np.ndarray:
    """64 well-mixed bits per number (the finaliser of splitmix64, after adding the seed)."""
    z = numbers.astype(np.uint64) + np.uint64(seed)
    z = (z ^ (z >> np.uint64(30))) * MIX[0]
    z = (z ^ (z >> np.uint64(27))) * MIX[1]
    return z ^ (z >> np.uint64(31))


def bucket_and_sign(numbers: np.ndarray, buckets: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """h(i) in range(buckets) and g(i) = ±1, from separate bits of one hash."""
    bits = mixed(numbers, seed)
    sign = 1 - 2 * (bits & np.uint64(1)).astype(np.int64)
    return ((bits >> np.uint64(1)) % np.uint64(buckets)).astype(np.int64), sign


def block_bucket_and_sign(
    numbers: np.ndarray, blocks: tuple[int, ...], buckets: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """The same for a row of buckets split into equal parts, one per block of numbers: `blocks` are the first numbers.

    Numbers of different blocks never share a bucket.
    """
    width = buckets // len(blocks)
    bucket, sign = bucket_and_sign(numbers, width, seed)
    if len(blocks) > 1:
        bucket += width * (np.searchsorted(blocks, numbers, side="right") - 1)
    return bucket, sign


class Shuffle:
    """A seeded bijection of range(size): odd factors and xor-shifts on the next power of two, repeated until inside."""

    ROUNDS = 3

    def __init__(self, size: int, seed: int) -> None:
        rng = keyed.stream(seed, "shuffle", str(size))
        self.size, self.bits = size, max(1, (size - 1).bit_length())
        self.shift = np.uint64((self.bits + 1) // 2)
        self.mask = np.uint64((1 << self.bits) - 1)
        odd = [int(x) | 1 for x in rng.integers(0, 2**63, self.ROUNDS)]
        self.factors = [np.uint64(x & int(self.mask)) for x in odd]
        self.inverses = [np.uint64(pow(x, -1, 1 << self.bits)) for x in odd]
        self.terms = [np.uint64(int(x) & int(self.mask)) for x in rng.integers(0, 2**63, self.ROUNDS)]

    def places(self, cells: np.ndarray) -> np.ndarray:
        """Where each cell goes."""
        return self._walk(cells, self._forth)

    def cells(self, places: np.ndarray) -> np.ndarray:
        """Which cell went to each place."""
        return self._walk(places, self._back)

    def _walk(self, numbers: np.ndarray, step: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        x = step(np.asarray(numbers).astype(np.uint64))
        outside = np.flatnonzero(x >= self.size)
        while outside.size:
            x[outside] = step(x[outside])
            outside = outside[x[outside] >= self.size]
        return x.astype(np.int64)

    def _forth(self, x: np.ndarray) -> np.ndarray:
        for factor, term in zip(self.factors, self.terms, strict=True):
            x = (x * factor + term) & self.mask
            x = x ^ (x >> self.shift)
        return x

    def _back(self, x: np.ndarray) -> np.ndarray:
        for inverse, term in zip(reversed(self.inverses), reversed(self.terms), strict=True):
            x = x ^ (x >> self.shift)  # a shift by half the bits or more is its own inverse
            x = ((x - term) * inverse) & self.mask
        return x
