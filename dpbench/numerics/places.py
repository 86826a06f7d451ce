"""Uniform choice of distinct places in domains too large to list, at a cost that depends on what is chosen."""

from __future__ import annotations

import numpy as np


def distinct(size: int, domain: int, rng: np.random.Generator) -> np.ndarray:
    """`size` distinct numbers of range(domain), every subset equally likely, sorted."""
    if size > domain // 2:
        rest = distinct(domain - size, domain, rng)
        return absent(rest, np.arange(size))
    # The first `size` distinct values of one uniform stream: each round draws as many as are still missing.
    chosen = np.empty(0, dtype=np.int64)
    while chosen.size < size:
        drawn = np.concatenate([chosen, rng.integers(0, domain, size - chosen.size)])
        # From the second round on, most values are already sorted, which a stable sort exploits.
        drawn.sort(kind="stable" if chosen.size else "quicksort")
        new = np.ones(drawn.size, dtype=bool)
        np.not_equal(drawn[1:], drawn[:-1], out=new[1:])
        chosen = drawn if new.all() else drawn[new]
    return chosen


def absent(taken: np.ndarray, ranks: np.ndarray) -> np.ndarray:
    """The numbers of given rank (0 is the first) among those not in the sorted `taken`; sorted ranks stay sorted."""
    before = taken - np.arange(taken.size)  # free numbers below each taken one
    return ranks + np.searchsorted(before, ranks, side="right")


def free(size: int, taken: np.ndarray, domain: int, rng: np.random.Generator) -> np.ndarray:
    """`size` distinct numbers of range(domain) outside the sorted `taken`, uniformly, sorted."""
    return absent(taken, distinct(size, domain - taken.size, rng))


def merge(
    places: np.ndarray, values: np.ndarray, more: np.ndarray, more_values: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Merge two sorted lists of places with their values."""
    at = np.searchsorted(places, more) + np.arange(more.size)
    old = np.ones(places.size + more.size, dtype=bool)
    old[at] = False
    out, out_values = np.empty(old.size, dtype=np.int64), np.empty(old.size, dtype=np.result_type(values, more_values))
    out[at], out_values[at] = more, more_values
    out[old], out_values[old] = places, values
    return out, out_values


def cascade(size: int, domain: int, bias: float, rng: np.random.Generator) -> np.ndarray:
    """`size` distinct numbers of range(domain) that are clustered, sorted: of each interval's numbers, a randomly chosen half
    of the interval gets the share `bias`, as far as it has space."""
    index, count = np.zeros(1, dtype=np.int64), np.full(1, size, dtype=np.int64)
    for level in range((domain - 1).bit_length() - 1, -1, -1):
        width = 1 << level
        start = index * (2 * width)
        room = np.clip(domain - start, 0, width), np.clip(domain - start - width, 0, width)
        heads = np.where(rng.random(index.size) < 0.5, bias, 1 - bias)
        left = np.clip(rng.binomial(count, heads), count - room[1], room[0])
        index = (2 * index[:, None] + np.array([0, 1])).ravel()
        count = np.stack([left, count - left], axis=1).ravel()
        index, count = index[count > 0], count[count > 0]
    return index
