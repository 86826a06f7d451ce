"""The ascending order of millions of real numbers. Used by mechanisms that sort the columns by a noisy count.

Each value is packed into one integer: a key that ascends with the value in the high bits, and its position in the lowest bits.
The integers are sorted digit by digit (radix sort). The key has only 27 bits. It is the floating-point representation of the
distance from the median plus the usual distance: equal steps around the median, where most values are, and growing steps
beyond. Values with the same key may then be in the wrong order. They are neighbours, and few, and one pass puts them right.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpbench.numerics.compiled import kernel

DIGIT, DIGITS = 9, 3
"""Bits of one digit, and digits of the key: each takes one pass over the memory."""
MOVES = 4
"""Moves per value after which the last pass gives up: so many values agree that a general sort is faster."""
LOOKED_AT = 1000
"""About the number of values that the median and the usual distance from it are taken from. They affect the time only."""


def ascending(values: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The positions of finite values in ascending order, and the sorted values. Equal values keep their order.

    >>> order, sorted_values = ascending(np.array([2.5, -1.0, 0.0, -1.0]))
    >>> order.tolist(), sorted_values.tolist()
    ([1, 3, 2, 0], [-1.0, -1.0, 0.0, 2.5])
    """
    if not values.size:
        return np.empty(0, np.int64), np.empty(0)
    some = np.sort(values[:: -(-values.size // LOOKED_AT)])
    # Allocated by numpy, which asks for large pages of memory; a kernel does not.
    order, sorted_values = _by_keys(values, some, np.empty(values.size, np.int64), np.empty(values.size, np.int64))
    if not _mend(order, sorted_values, MOVES * values.size):
        order = np.argsort(values, kind="stable")
        sorted_values = values[order]
    return order, sorted_values


@kernel()
def _by_keys(values, some, keys, others):  # type: ignore[no-untyped-def]
    """The positions by ascending key, and the values in that order. `some`: a few of the values, sorted; `keys` and `others` are
    overwritten."""
    n, radix, half = values.size, 1 << DIGIT, 1 << (DIGIT * DIGITS - 1)
    middle, usual = some[some.size // 2], (some[3 * some.size // 4] - some[some.size // 4]) / 2
    floats, counts = keys.view(np.float64), np.zeros((DIGITS, radix), np.int64)
    farthest = 0.0
    for i in range(n):
        farthest = max(farthest, abs(values[i] - middle))
    if not 0.0 < usual < np.inf:
        usual = min(farthest, 1e300) * 2.0**-20
    floats[0] = usual
    zero = keys[0]
    floats[0] = farthest + usual
    shift = 0
    while (keys[0] - zero) >> shift >= half:
        shift += 1
    position_bits = 0
    while n >> position_bits:
        position_bits += 1
    last = radix - 1
    for i in range(n):
        floats[i] = abs(values[i] - middle) + usual
        steps = (keys[i] - zero) >> shift
        key = half + steps if values[i] >= middle else half - 1 - steps
        keys[i] = (key << position_bits) | i
        for digit in range(DIGITS):
            counts[digit, (key >> (digit * DIGIT)) & last] += 1
    # From the lowest digit up. The positions ascend already, and each pass keeps the order of equal digits.
    for digit in range(DIGITS):
        shift = position_bits + digit * DIGIT
        places, place = counts[digit], 0
        for k in range(radix):
            place, places[k] = place + places[k], place
        for i in range(n):
            k = (keys[i] >> shift) & last
            others[places[k]] = keys[i]
            places[k] += 1
        keys, others = others, keys
    sorted_values = others.view(np.float64)
    low = (1 << position_bits) - 1
    for i in range(n):
        keys[i] &= low
        sorted_values[i] = values[keys[i]]
    return keys, sorted_values


@kernel()
def _mend(order, sorted_values, most):  # type: ignore[no-untyped-def]
    """Put almost sorted values in order, and their positions with them. False if that takes more than `most` moves."""
    moves = 0
    for i in range(1, sorted_values.size):
        value = sorted_values[i]
        if value < sorted_values[i - 1]:
            position, k = order[i], i
            while k > 0 and value < sorted_values[k - 1]:
                sorted_values[k], order[k] = sorted_values[k - 1], order[k - 1]
                k -= 1
            sorted_values[k], order[k] = value, position
            moves += i - k
            if moves > most:
                return False
    return True
