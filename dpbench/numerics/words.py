"""Words in one block of letters, as Arrow stores them: a hash of each, and whether words are equal to listed ones.

Word i is `letters[ends[i] : ends[i + 1]]`. Eight letters are read at once, as a number: `eights[k]` is
`letters[k : k + 8]`, so that the last seven letters of a block begin no such number and are read one by one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpbench.numerics.compiled import kernel

PRIME = np.uint64(0x9E3779B97F4A7C15)
BYTE, HALF, WORD = np.uint64(8), np.uint64(32), np.uint64(64)


def eights(letters: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """The number that begins at each letter: a view, without a copy."""
    if letters.size < 8:
        return np.empty(0, dtype=np.uint64)
    return np.lib.stride_tricks.as_strided(letters[:8].view(np.uint64), (letters.size - 7,), (1,), writeable=False)


@kernel()
def hashes(ends, letters, eights, out):  # type: ignore[no-untyped-def]
    """A 64-bit number for each word: equal words have equal numbers, and different words nearly always different ones."""
    for i in range(out.size):
        at, left = np.int64(ends[i]), np.int64(ends[i + 1]) - np.int64(ends[i])
        mixed = (np.uint64(left) + PRIME) * PRIME
        while left > 0:
            if at < eights.size:
                part = eights[at]
                if left < 8:  # letters of the next word do not count
                    part <<= WORD - BYTE * np.uint64(left)
            else:
                part = np.uint64(0)
                size = left if left < 8 else 8
                for k in range(size):
                    part |= np.uint64(letters[at + k]) << WORD - BYTE * np.uint64(size - k)
            mixed = (mixed ^ part) * PRIME
            mixed ^= mixed >> HALF
            at += 8
            left -= 8
        out[i] = mixed


@kernel()
def firsts(codes, out):  # type: ignore[no-untyped-def]
    """Where each code occurs first; `out` starts with -1 everywhere."""
    for i in range(codes.size):
        if out[codes[i]] < 0:
            out[codes[i]] = i


@kernel()
def equal(ends, letters, eights, codes, listed_ends, listed_letters, listed_eights):  # type: ignore[no-untyped-def]
    """Whether word i is the listed word `codes[i]`, for every i."""
    for i in range(codes.size):
        code = codes[i]
        at, other = np.int64(ends[i]), np.int64(listed_ends[code])
        left = np.int64(ends[i + 1]) - at
        if np.int64(listed_ends[code + 1]) - other != left:
            return False
        while left > 0:
            if at < eights.size and other < listed_eights.size:
                differs = eights[at] ^ listed_eights[other]
                if left < 8:
                    differs <<= WORD - BYTE * np.uint64(left)
                if differs:
                    return False
            else:
                for k in range(left if left < 8 else 8):
                    if letters[at + k] != listed_letters[other + k]:
                        return False
            at += 8
            other += 8
            left -= 8
    return True
