"""Exact noise: discrete distributions drawn with integers only, so that every output has exactly its probability.

Floating-point noise has gaps that can reveal which of two neighbours was the input (Mironov 2012). Here every random word
is compared with the exact distribution function, with more bits and more digits if the first ones do not decide. Scales are
rationals. Those of a mechanism, which computes in doubles, are raised slightly, never lowered (`raised`).
Used by the steps that add noise to integers.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbench.privacy import _kernels as kernels
from dpbench.privacy._bounds import noise_scale
from dpbench.privacy._laws import GeometricLaw, Sign
from dpbench.privacy._words import Words

ONE_TABLE = 1024
"""Largest scale whose distribution fits one table. Above it, G = m A + B with tables for A and for the digits of B."""

HEAD = 256
"""Largest scale of A."""

DIGIT = 10
"""Most bits of a digit of B."""

FINER = 4
"""How many bits finer the guide of a digit is than the digit, so that it nearly always gives the right one."""

BLOCK = 1 << 14
"""Draws at a time, so that their words stay in the processor's cache."""


def discrete_laplace(size: int, scale: Fraction, words: Words) -> NDArray[np.int64]:
    """Independent draws of P[x] = (1-a)/(1+a) a^|x|, a = exp(-1/scale); zeros where the scale is 0."""
    if scale == 0:
        return np.zeros(size, dtype=np.int64)
    return law(scale).draw(size, words)


@functools.lru_cache(maxsize=64)
def law(scale: Fraction) -> DiscreteLaplace:
    """The tables of a scale, computed once."""
    return DiscreteLaplace(scale)


class DiscreteLaplace:
    """The two-sided geometric distribution with a given scale."""

    def __init__(self, scale: Fraction) -> None:
        self.scale = scale
        shift = max(0, math.ceil(math.log2(scale / HEAD))) if scale > ONE_TABLE else 0
        """How many bits of G are drawn as digits."""
        self.digits: list[GeometricLaw] = []
        if not shift:
            self.head = GeometricLaw("magnitude", scale, 63)
        else:
            number = -(-shift // DIGIT)
            self.each = -(-shift // number)
            shift = number * self.each
            self.head = GeometricLaw("geometric", scale / (1 << shift), 64)
            # The highest digit first, in the order in which they are combined.
            places = [self.each * at for at in reversed(range(number))]
            self.digits = [GeometricLaw("digit", scale / (1 << place), 32, 1 << self.each) for place in places]
            self.sign = Sign(scale)
            self._digit_entries = np.array([digit.entries[: 1 << self.each] for digit in self.digits])
            self._digit_guides = np.array([digit.guide(self.each + FINER) for digit in self.digits], dtype=np.int16)
        bits = min(16, max(8, math.ceil(math.log2(self.head.scale)) + 6))
        self._guide, self._shift = self.head.guide(bits), np.uint64(self.head.bits - bits)

    def draw(self, size: int, words: Words) -> NDArray[np.int64]:
        """`size` independent draws."""
        out = np.empty(size, dtype=np.int64)
        open_places = np.empty(BLOCK, dtype=np.int64)
        for start in range(0, size, BLOCK):
            part = out[start : start + BLOCK]
            given, left = self._look_up(part, open_places, words)
            for place in open_places[:left]:
                part[place] = self._resolve(np.atleast_1d(given[place]), words)
        return out

    def _look_up(
        self, part: NDArray[np.int64], open_places: NDArray[np.int64], words: Words
    ) -> tuple[NDArray[np.uint64], int]:
        """The draws as far as their words decide them, the words, and the number of undecided draws."""
        if not self.digits:
            given = words.take(part.size)
            return given, kernels.look_up(given, self.head.entries, self._guide, self._shift, part, open_places)
        given = words.take(part.size * self._row).reshape(part.size, self._row)
        left = kernels.look_up_large(
            given,
            self.head.entries,
            self._guide,
            self._shift,
            self._digit_entries,
            self._digit_guides,
            np.uint64(32 - self.each - FINER),
            self.each,
            np.uint64(self.sign.entry),
            part,
            open_places,
        )
        return given, left

    @property
    def _row(self) -> int:
        """Words per draw: one for the head, half a word for the sign and for each digit."""
        return 2 + len(self.digits) // 2

    def _resolve(self, given: NDArray[np.uint64], words: Words) -> int:
        """One draw from its words and as many more as needed."""
        more = functools.partial(more_bits, words)
        first = int(given[0])
        if not self.digits:
            k = self.head.resolve(first >> 1, more)
            return -k if first & 1 else k
        halves = [part for word in given[1:] for part in (int(word) & 0xFFFFFFFF, int(word) >> 32)]
        g = self.head.resolve(first, more)
        for digit, half in zip(self.digits, halves[1:], strict=False):
            g = (g << self.each) + digit.resolve(half, more)
        return g if self.sign.resolve(halves[0], more) else -1 - g


def more_bits(words: Words) -> int:
    """One more word, as an integer of any length."""
    return int(words.take(1)[0])


LARGEST_WHOLE = 2.0**53
"""From this size on, doubles do not represent every integer."""


def as_integers(values: NDArray[Any]) -> NDArray[np.int64]:
    """Integers, which may be given as doubles."""
    if np.issubdtype(values.dtype, np.integer):
        return values.astype(np.int64, copy=False)
    if np.any(values != np.rint(values)) or np.any(np.abs(values) >= LARGEST_WHOLE):
        raise ValueError("the values are not whole numbers, or too large to be sure of it")
    return values.astype(np.int64)


def add_discrete_laplace(values: NDArray[np.int64], scales: NDArray[np.float64], words: Words) -> NDArray[np.int64]:
    """values + discrete Laplace noise with one scale, or one per value."""
    if not np.ndim(scales):
        return values + _draw(values.size, float(scales), words).reshape(values.shape)
    flat, noisy = np.ravel(scales), values.reshape(-1).copy()
    for scale in np.unique(flat):
        places = np.flatnonzero(flat == scale)
        noisy[places] += _draw(places.size, float(scale), words)
    return noisy.reshape(values.shape)


def _draw(size: int, scale: float, words: Words) -> NDArray[np.int64]:
    return discrete_laplace(size, noise_scale(scale) if scale else Fraction(0), words)
