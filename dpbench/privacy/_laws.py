"""Geometric distributions by their exact distribution functions, and the tables in which a random word is looked up.

A word u of B bits stands for a real number U in [u, u + 1) / 2^B, whose further bits are not drawn yet. The outcome is the
first k with U < F(k). With T_k = floor(2^B F(k)), u < T_k or u > T_k decides. Only if u = T_k are more bits drawn and
compared with more digits of F; the end of a table is such a case, too. So the distribution is exact, whatever B is.
Used by the samplers of exact noise only.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpbench.privacy._bounds import Bounds, exp_minus, settled

WIDTH = 320
"""Precision of the computation of tables, in bits (96 digits). More than 45 digits of a table's last entry are correct."""

SURE = 150
"""Bits of a table's numbers that are certainly correct. A floor that they do not determine is computed again."""

More = Callable[[], int]
"""64 fresh bits."""


@dataclass(frozen=True)
class GeometricLaw:
    """A distribution on 0, 1, 2, ... with F(k) = (1 - d a^(k+1)) c, a = exp(-1/scale).

    "magnitude": |x| of the two-sided geometric distribution, d = 2/(1+a), c = 1. "geometric": P[k] = (1-a) a^k, d = c = 1.
    "digit": the same given k < m, d = 1, c = 1/(1 - a^m).
    """

    kind: str
    scale: Fraction
    bits: int
    """B, the length of the words that are looked up."""
    m: int = 0

    def floor(self, k: int, bits: int) -> int:
        """floor(2^bits F(k)), exactly. e to a rational power is transcendental, so 2^bits F(k) is never an integer."""
        if self.kind == "digit" and k >= self.m - 1:
            return 1 << bits
        return settled(lambda wide: self._bounds(k, wide), bits)

    def _bounds(self, k: int, bits: int) -> Bounds:
        """2^bits F(k), from below and from above."""
        # For a digit, 1 - a^m may be as small as m/scale, which needs that many more bits.
        extra = 32 + max(0, self.scale.numerator.bit_length() - self.scale.denominator.bit_length())
        wide = bits + 2 * extra
        one = 1 << wide
        low, high = exp_minus((k + 1) / self.scale, wide)
        if self.kind == "magnitude":
            a = exp_minus(1 / self.scale, wide)
            low, high = 2 * low * one // (one + a[1]), -(-2 * high * one // (one + a[0]))
        found = one - high, one - low
        if self.kind == "digit":
            end = exp_minus(self.m / self.scale, wide)
            found = found[0] * one // (one - end[0]), -(-found[1] * one // (one - end[1]))
        return found[0] >> 2 * extra, -(-found[1] >> 2 * extra)

    @cached_property
    def entries(self) -> NDArray[np.uint64]:
        """T_0, T_1, ... until the next would be 2^B - 1 or more, then the largest number as end mark."""
        most, one = (1 << self.bits) - 1, 1 << WIDTH
        power = a = exp_minus(1 / self.scale, WIDTH)[0]
        if self.kind == "magnitude":
            power = 2 * a * one // (one + a)
        whole = one if self.kind != "digit" else one * one // (one - exp_minus(self.m / self.scale, WIDTH)[0])
        drop, border = SURE - self.bits, (1 << SURE - self.bits) - 1
        found: list[int] = []
        while True:
            if self.kind == "digit" and len(found) == self.m - 1:
                found.append(most)  # F = 1: all remaining words
                break
            value = (one - power) * whole >> WIDTH if self.kind == "digit" else one - power
            value >>= WIDTH - SURE
            entry = value >> drop
            # If the digits do not determine the floor, it is computed with as many as needed.
            if value & border in (0, border):
                entry = self.floor(len(found), self.bits)
            if entry >= most:
                break
            found.append(entry)
            power = power * a >> WIDTH
        return np.array([*found, (1 << 64) - 1], dtype=np.uint64)

    def guide(self, bits: int) -> NDArray[np.int32]:
        """For each prefix of a word, the first k that it can lead to."""
        starts = np.arange(1 << bits, dtype=np.uint64) << np.uint64(self.bits - bits)
        return np.searchsorted(self.entries, starts).astype(np.int32)

    def resolve(self, word: int, more: More) -> int:
        """The outcome of a word, with as many more bits as needed."""
        bits = self.bits
        k = bisect.bisect_left(self._sorted, word)
        if self.kind == "digit" and k == self.m - 1:
            return k
        if k < len(self._sorted) and word < self._sorted[k]:
            return k
        while True:
            at = self.floor(k, bits)
            if word < at:
                return k
            if word > at:
                k += 1
            else:
                word, bits = word << 64 | more(), bits + 64

    @cached_property
    def _sorted(self) -> list[int]:
        return [int(entry) for entry in self.entries[:-1]]


@dataclass(frozen=True)
class Sign:
    """Whether a draw is G, with probability 1/(1+a), or -1 - G: so zero has the right probability."""

    scale: Fraction
    bits: int = 32

    @cached_property
    def entry(self) -> int:
        """floor(2^B / (1 + a))."""
        return self._floor(self.bits)

    def _floor(self, bits: int) -> int:
        def bounds(wide: int) -> Bounds:
            one = 1 << wide
            low, high = exp_minus(1 / self.scale, wide)
            return one * one // (one + high), -(-one * one // (one + low))

        return settled(bounds, bits)

    def resolve(self, word: int, more: More) -> bool:
        """Whether it is G."""
        bits, at = self.bits, self.entry
        while word == at:
            word, bits = word << 64 | more(), bits + 64
            at = self._floor(bits)
        return word < at
