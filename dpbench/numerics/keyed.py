"""Generators keyed by words besides a seed, so that two uses of one seed never share their random numbers.

Imported by whoever seeds something: data, queries, the steps of a release.
"""

from __future__ import annotations

import functools
import hashlib

import numpy as np


def stream(seed: int, *words: str) -> np.random.Generator:
    """The generator of a seed for the use that the words name: the same on every machine, another for other words."""
    return np.random.default_rng(np.random.SeedSequence([*key("\0".join(words)), seed]))


@functools.lru_cache(maxsize=1024)
def key(name: str) -> tuple[int, ...]:
    """A name as four whole numbers of 32 bits. Of one length for all names, so that no two keys run into each other."""
    digest = hashlib.blake2b(name.encode(), digest_size=16).digest()
    return tuple(int.from_bytes(digest[at : at + 4], "little") for at in range(0, 16, 4))
