"""Lower and upper bounds of exponentials of rationals, in integers of any length. Exact noise is compared with them.

Every rounding has a stated direction. Used by the samplers of exact noise only.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from dpbench.errors import UserError

SIGNIFICANT = 36
"""Significant bits of a scale. Scales that differ only by floating-point rounding become equal and share one table."""

ROUNDING = Fraction(1, 1 << 40)
"""Relative error allowed for the double in which a scale was computed: thousands of roundings of 2^-53 each."""

LARGEST = 1 << 54
"""From this scale on, noise leaves the range of 64-bit integers."""

Bounds = tuple[int, int]


def raised(number: float | Fraction) -> Fraction:
    """A rational that is not below the true value of a positive number, and above it by less than one part in 10^10.

    A double is assumed to have a relative error of up to 2^-40. A Fraction is exact, and is kept if it is short.
    """
    if isinstance(number, Fraction) and max(number.numerator, number.denominator).bit_length() <= 64:
        return number
    exact = Fraction(number) * (1 + ROUNDING)
    # The exponent of the last bit that is kept.
    last = exact.numerator.bit_length() - exact.denominator.bit_length() - SIGNIFICANT
    unit = Fraction(1 << last) if last >= 0 else Fraction(1, 1 << -last)
    return -(-exact // unit) * unit


def noise_scale(scale: float | Fraction) -> Fraction:
    """The scale of exact noise, not below the one that was asked for."""
    found = raised(scale)
    if found >= LARGEST:
        raise UserError(f"the noise has the scale {float(scale):.3g}: exact noise needs one below {LARGEST:.3g}")
    return found


def exp_minus(x: Fraction, bits: int) -> Bounds:
    """Whole numbers around 2^bits exp(-x), at most 2 apart, for x ≥ 0."""
    halvings = max(0, x.numerator.bit_length() - x.denominator.bit_length() + 3)  # x / 2^halvings ≤ 1/2
    guard = 64 + halvings
    width = bits + guard
    y = (x.numerator << width) // (x.denominator << halvings)
    # Each term is too small by less than 2 units, and there are fewer than 250: 2^9 in all, the rest of the series and
    # the rounding of y included.
    total, term, n = 1 << width, 1 << width, 0
    while term:
        n += 1
        term = (term * y >> width) // n
        total += -term if n % 2 else term
    for _ in range(halvings):  # a square doubles the error, and adds less than 1 unit
        total = total * total >> width
    error = 1 << (halvings + 11)
    return max(0, (total - error) >> guard), -((-(total + error)) >> guard)


def settled(bounds: Callable[[int], Bounds], bits: int) -> int:
    """floor(2^bits p), for a p that `bounds` encloses to any precision. The search ends because p is irrational."""
    more = 64
    while True:
        low, high = bounds(bits + more)
        if low >> more == high >> more:
            return low >> more
        more *= 2
