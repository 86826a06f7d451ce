"""Synthetic counts from a Dirichlet posterior over a huge domain, at the cost of the non-zeros and the output."""

from __future__ import annotations

import math

import numpy as np

from dpbench.numerics.places import merge


def split(
    counts: np.ndarray, starts: np.ndarray, ends: np.ndarray, mass: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Multinomial draws over many segments [start, end) of `mass` at once, by halving each until one place is left."""
    running = np.concatenate([[0.0], np.cumsum(mass)])
    drawn = np.zeros(mass.size, dtype=np.int64)
    while counts.size:
        single = ends - starts == 1
        drawn[starts[single]] = counts[single]
        open_ = ~single & (counts > 0)
        counts, starts, ends = counts[open_], starts[open_], ends[open_]
        middle = (starts + ends) // 2
        left, right = running[middle] - running[starts], running[ends] - running[middle]
        share = np.divide(left, left + right, out=np.full(left.size, 0.5), where=left + right > 0)
        first = rng.binomial(counts, np.clip(share, 0, 1))
        counts = np.concatenate([first, counts - first])
        starts, ends = np.concatenate([starts, middle]), np.concatenate([middle, ends])
    return drawn


def scatter(
    counts: np.ndarray,
    starts: np.ndarray,
    sizes: np.ndarray,
    prior: float,
    rng: np.random.Generator,
    block: int = 2**22,
) -> tuple[np.ndarray, np.ndarray]:
    """`counts` draws each from p ~ Dirichlet(prior, prior, ...) over the places start to start + size - 1.

    The places that were drawn, sorted, and how often. Costs the smaller of draws and places: few draws go by Pólya's
    urn, many by a weight for every place, a block of places at a time.
    """
    crowded = counts > sizes
    few = np.where(crowded, 0, counts)
    origin, which = urn(few, prior * sizes, rng)
    drawn = (starts[which] + np.floor(rng.random(which.size) * sizes[which]).astype(np.int64))[origin]
    drawn.sort()
    first = np.flatnonzero(np.diff(drawn, prepend=-1))
    places, numbers = drawn[first], np.diff(first, append=drawn.size)
    many = np.flatnonzero(crowded)
    for part in np.split(many, np.flatnonzero(np.diff(np.cumsum(sizes[many]) // block)) + 1):
        ends = np.cumsum(sizes[part])
        held = split(counts[part], ends - sizes[part], ends, rng.gamma(prior, size=int(sizes[part].sum())), rng)
        found = np.flatnonzero(held)
        shift = np.repeat(starts[part] - (ends - sizes[part]), sizes[part])
        places, numbers = merge(places, numbers, found + shift[found], held[found])
    return places, numbers


def urn(counts: np.ndarray, mass: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Pólya urns: draw i of an urn is new with probability mass/(mass + i), else a copy of an earlier one, any alike.

    For each of all draws, urn after urn: the draw it copies in the end, and the urn. One that copies itself is new.
    """
    which = np.repeat(np.arange(counts.size), counts)
    first = np.repeat(np.cumsum(counts) - counts, counts)
    number = np.arange(which.size) - first
    new = rng.random(which.size) * (mass[which] + number) < mass[which]
    origin = np.where(new, number, np.floor(rng.random(which.size) * number).astype(np.int64)) + first
    while np.any((further := origin[origin]) != origin):
        origin = further
    return origin, which


def prior_for(epsilon: float, delta: float, records: int, cells: int) -> float:
    """The smallest prior count a cell for which synthetic data are (ε, δ)-private.

    A record alone in its cell changes the likelihood by 1 + m/α, where m, the cell's synthetic count, is beta-binomial:
    m > (e^ε - 1) α may happen with probability δ at most. Others in the cell, or a smaller group, make it less likely.
    """
    low, high = 1e-9, 1e9
    for _ in range(80):
        middle = math.sqrt(low * high)
        if excess(epsilon, middle, records, cells) > delta:
            low = middle
        else:
            high = middle
    return high


def excess(epsilon: float, prior: float, records: int, cells: int, others: int = 0) -> float:
    """P[m > (e^ε - 1)(α + others)] in a cell that holds one record and `others` more."""
    from scipy.special import betaln, gammaln

    limit = math.expm1(epsilon) * (prior + others) if epsilon < 700 else math.inf
    if limit >= records:
        return 0.0
    a, b = prior + 1 + others, prior * (cells - 1) + records - 1 - others
    if b <= 0:
        return 1.0
    mean = records * a / (a + b)
    spread = math.sqrt(mean * (1 + records / (a + b)))
    k = np.arange(math.floor(limit) + 1, min(records, math.floor(limit + 50 * spread + mean + 1000)) + 1)
    chosen = gammaln(records + 1) - gammaln(k + 1) - gammaln(records - k + 1)
    return float(np.exp(chosen + betaln(k + a, records - k + b) - betaln(a, b)).sum())
