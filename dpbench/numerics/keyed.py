"""Random generators keyed by a seed and words, so that two uses of one seed never share random numbers.

Imported by everything that is seeded: data, queries, the steps of a release.
"""

from __future__ import annotations

import functools
import hashlib

import numpy as np


def stream(seed: int, *words: str) -> np.random.Generator:
    """The generator for a seed and the use that the words name: the same on every machine, different for other words."""
    return np.random.default_rng(np.random.SeedSequence([*key("\0".join(words)), seed]))


@functools.lru_cache(maxsize=1024)
def key(name: str) -> tuple[int, ...]:
    """A name as four 32-bit integers. All keys have the same length, so that concatenated keys stay distinct."""
    digest = hashlib.blake2b(name.encode(), digest_size=16).digest()
    return tuple(int.from_bytes(digest[at : at + 4], "little") for at in range(0, 16, 4))
