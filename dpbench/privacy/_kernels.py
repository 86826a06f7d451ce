"""Compiled look-ups of random words in the tables of exact noise. Used by exact.py only.

If a word alone does not determine the outcome, the kernel notes its position and the caller resolves it.
"""

from __future__ import annotations

import numpy as np

from dpbench.numerics.compiled import kernel


@kernel()
def look_up(words, entries, guide, shift, out, open_places):  # type: ignore[no-untyped-def]
    """Two-sided draws from one table of |x|: 63 bits for |x|, and the last bit for the sign. A negative zero is zero.

    Returns how many positions are unresolved.
    """
    left = 0
    for i in range(words.size):
        word = words[i]
        u = word >> np.uint64(1)
        k = np.int64(guide[u >> shift])
        while u > entries[k]:
            k += 1
        minus = -np.int64(word & np.uint64(1))
        out[i] = (k ^ minus) - minus
        if u == entries[k] or k == entries.size - 1:
            open_places[left] = i
            left += 1
    return left


@kernel()
def look_up_large(words, head, head_guide, head_shift, digits, guides, shift, each, sign, out, open_places):  # type: ignore[no-untyped-def]
    """Two-sided draws as G or -1 - G, where G consists of a head and digits of `each` bits, each looked up separately.

    `words` has one row per draw: the first word for the head, half a word for the sign, half a word for each digit.
    Returns how many positions are unresolved.
    """
    left, half = 0, np.uint64(32)
    low = np.uint64((1 << 32) - 1)
    for i in range(words.shape[0]):
        u = words[i, 0]
        k = np.int64(head_guide[u >> head_shift])
        while u > head[k]:
            k += 1
        unsure = u == head[k] or k == head.size - 1
        part = words[i, 1] & low
        minus = -np.int64(part >= sign)
        unsure |= part == sign
        for digit in range(digits.shape[0]):
            at = digit + 1
            part = words[i, 1 + at // 2]
            part = part >> half if at % 2 else part & low
            b = np.int64(guides[digit, part >> shift])
            while part > digits[digit, b]:
                b += 1
            unsure |= part == digits[digit, b]
            k = (k << each) + b
        out[i] = k ^ minus  # -1 - G is the complement of G
        if unsure:
            open_places[left] = i
            left += 1
    return left
