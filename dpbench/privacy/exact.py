"""Exact noise: discrete distributions drawn with integers only, so that every output has exactly its probability.

Floating-point noise has gaps that can reveal which of two neighbours was the input (Mironov 2012). Here every random word
is compared with the exact distribution function, with more bits and more digits if the first ones do not decide. Scales are
rationals. Those of a mechanism, which computes in doubles, are raised slightly, never lowered (`raised`).
Used by noise.py. Nothing here knows what the noise is for.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpbench.privacy import _kernels as kernels
from dpbench.privacy._bounds import exp_minus, noise_scale, raised
from dpbench.privacy._laws import Law, Sign
from dpbench.privacy._words import Words

__all__ = ["DiscreteLaplace", "below", "discrete_gaussian", "discrete_laplace", "draw_one", "noise_scale", "raised"]

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
        self.digits: list[Law] = []
        if not shift:
            self.head = Law("magnitude", scale, 63)
        else:
            number = -(-shift // DIGIT)
            self.each = -(-shift // number)
            shift = number * self.each
            self.head = Law("geometric", scale / (1 << shift), 64)
            # The highest digit first, in the order in which they are combined.
            places = [self.each * at for at in reversed(range(number))]
            self.digits = [Law("digit", scale / (1 << place), 32, 1 << self.each) for place in places]
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
        more = functools.partial(_more, words)
        first = int(given[0])
        if not self.digits:
            k = self.head.resolve(first >> 1, more)
            return -k if first & 1 else k
        halves = [part for word in given[1:] for part in (int(word) & 0xFFFFFFFF, int(word) >> 32)]
        g = self.head.resolve(first, more)
        for digit, half in zip(self.digits, halves[1:], strict=False):
            g = (g << self.each) + digit.resolve(half, more)
        return g if self.sign.resolve(halves[0], more) else -1 - g


def _more(words: Words) -> int:
    return int(words.take(1)[0])


def discrete_gaussian(size: int, sigma: Fraction, words: Words) -> NDArray[np.int64]:
    """Independent draws of P[x] ∝ exp(-x²/2σ²) (Canonne, Kamath, Steinke 2020, Algorithm 3).

    A discrete Laplace draw y of scale t = ⌊σ⌋ + 1 is kept with probability exp(-(|y| - σ²/t)²/2σ²).
    """
    out = np.zeros(size, dtype=np.int64)
    if sigma == 0:
        return out
    t = math.floor(sigma) + 1
    places = np.arange(size)
    while places.size:
        drawn = discrete_laplace(places.size, Fraction(t), words)
        kept = _kept(drawn, sigma, t, words)
        out[places[kept]] = drawn[kept]
        places = places[~kept]
    return out


UNSURE = 2.0**-44
"""Far above the error of exp(-γ) in doubles, if γ is off by a few units in its last place."""


def _kept(drawn: NDArray[np.int64], sigma: Fraction, t: int, words: Words) -> NDArray[np.bool_]:
    """An exact coin for each draw: doubles decide all but one in 10^13, integers the rest."""
    s = float(sigma)
    distance = (np.abs(drawn) - s * s / t) / s
    chance = np.exp(-distance * distance / 2)
    given = words.take(drawn.size)
    coin = (given >> np.uint64(11)) * 2.0**-53
    kept = coin < chance
    for place in np.flatnonzero(np.abs(coin - chance) < UNSURE):
        x = (abs(int(drawn[place])) - sigma * sigma / t) ** 2 / (2 * sigma * sigma)
        kept[place] = _coin(x, int(given[place]), words)
    return kept


def _coin(x: Fraction, word: int, words: Words) -> bool:
    """Whether the number in [0, 1) that begins with `word` is below exp(-x)."""
    if x == 0:
        return True
    bits = 64
    while True:
        low, high = exp_minus(x, bits)
        if word + 1 <= low:
            return True
        if word >= high:
            return False
        word, bits = word << 64 | _more(words), bits + 64


def below(n: int, rate: float, words: Words) -> NDArray[np.int64]:
    """The rows of range(n), each with probability `rate`, ascending. The rate is lowered slightly, never raised.

    One word per row, in order: one more row at the end changes nothing for the others.
    """
    limit = math.floor(Fraction(rate) * (1 - Fraction(1, 1 << 40)) * (1 << 64)) if rate < 1 else 1 << 64
    if limit >= 1 << 64:
        return np.arange(n, dtype=np.int64)
    return np.flatnonzero(words.take(n) < np.uint64(limit))


def draw_one(exponents: NDArray[np.int64], unit: Fraction, words: Words) -> int:
    """Index i with probability ∝ exp(-unit e_i), for integers e_i ≥ 0 whose minimum is 0."""
    with np.errstate(under="ignore"):
        ends = np.cumsum(np.exp(-float(unit) * exponents))
    # Every weight is off by less than 2^-50; a sum by that much per weight and per rounding of a number up to n.
    error = float(exponents.size) * (exponents.size + 8) * 2.0**-49
    word, bits = _more(words), 64
    target = word * 2.0**-64 * ends[-1]
    at = int(np.searchsorted(ends, target, side="right"))
    if at < ends.size and target + error < ends[at] and (at == 0 or target - error > ends[at - 1]):
        return at
    while True:
        wide = bits + 64
        weights = [exp_minus(unit * int(e), wide) for e in exponents]
        low, high = sum(w[0] for w in weights), sum(w[1] for w in weights)
        # U lies in [word, word + 1) / 2^bits, and U times the sum of all weights lies between these.
        first, last = word * low >> bits, -(-(word + 1) * high >> bits)
        begin = [0, 0]
        for place, (less, more) in enumerate(weights):
            if first >= begin[1] and last <= begin[0] + less:
                return place
            begin = [begin[0] + less, begin[1] + more]
        word, bits = word << 64 | _more(words), bits + 64
