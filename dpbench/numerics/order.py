"""The ascending order of millions of real numbers. Used by mechanisms that sort the columns by a noisy count.

Each value is packed into one integer: its highest bits, and its position in the lowest bits. The integers are sorted digit
by digit (radix sort), which is about nine times as fast as sorting positions by comparing values. Values that agree in all
the bits that were kept may then be in the wrong order. They are neighbours, and few, and one pass puts them right.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpbench.numerics.compiled import kernel

DIGIT = 8
"""Bits of one digit."""
MOVES = 4
"""Moves per value after which the last pass gives up: so many values agree that a general sort is faster."""


def ascending(values: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The positions of finite values in ascending order, and the sorted values. Equal values keep their order.

    >>> order, sorted_values = ascending(np.array([2.5, -1.0, 0.0, -1.0]))
    >>> order.tolist(), sorted_values.tolist()
    ([1, 3, 2, 0], [-1.0, -1.0, 0.0, 2.5])
    """
    position_bits = int(values.size).bit_length()
    keys = _sorted_keys(values, position_bits)
    keys &= np.uint64((1 << position_bits) - 1)
    order = keys.view(np.int64)
    sorted_values = values[order]
    if not _mend(order, sorted_values, MOVES * values.size):
        order = np.argsort(values, kind="stable")
        sorted_values = values[order]
    return order, sorted_values


@kernel()
def _sorted_keys(values, position_bits):  # type: ignore[no-untyped-def]
    """One integer per value, sorted: it ascends with the value in its high bits and holds the position in its low bits."""
    n, digits, radix = values.size, (63 - position_bits) // DIGIT + 1, 1 << DIGIT
    keys, others = np.empty(n, np.uint64), np.empty(n, np.uint64)
    floats, counts = keys.view(np.float64), np.zeros((digits, radix), np.int64)
    low = (np.uint64(1) << np.uint64(position_bits)) - np.uint64(1)
    sign, last = np.uint64(1) << np.uint64(63), np.uint64(radix - 1)
    for i in range(n):
        floats[i] = values[i] + 0.0  # -0.0 becomes 0.0
        # Set the sign bit of positive numbers; turn all bits of negative ones, which ascend with the magnitude.
        key = keys[i] ^ (~np.uint64(0) if keys[i] & sign else sign)
        keys[i] = (key & ~low) | np.uint64(i)
        for digit in range(digits):
            counts[digit, (key >> np.uint64(position_bits + digit * DIGIT)) & last] += 1
    # From the lowest digit of the value up. The positions ascend already, and each pass keeps the order of equal digits.
    for digit in range(digits):
        shift = np.uint64(position_bits + digit * DIGIT)
        places, place = counts[digit], 0
        for k in range(radix):
            place, places[k] = place + places[k], place
        for i in range(n):
            k = (keys[i] >> shift) & last
            others[places[k]] = keys[i]
            places[k] += 1
        keys, others = others, keys
    return keys


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
