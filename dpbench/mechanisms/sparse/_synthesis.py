"""Synthetic counts from a Dirichlet posterior over a huge domain, at a cost proportional to the non-zeros and the output."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dpbench.numerics.places import absent, merge


@dataclass(frozen=True, eq=False)
class Posterior:
    """Synthetic individuals, as many in each group as it has: p ~ Dirichlet(n + α), then draws from p. A distribution for
    `Noise.draw`: an outcome consists of the sorted non-empty cells and their counts."""

    cells: np.ndarray
    """The non-zero cells, sorted."""
    counts: np.ndarray
    width: int
    """Number of cells per group: group g begins at cell g times the width."""
    prior: float

    def draw(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        group, first, last, people = groups(self.cells, self.counts, self.width)
        empty = self.width - (last - first)  # zero cells of each group

        # One Gamma draw per cell; the zero cells of a group share one place, after its other cells.
        slot = np.arange(first.size)
        mass = np.insert(rng.gamma(self.counts + self.prior), last, _gamma(self.prior * empty, rng))
        drawn = split(people, first + slot, last + slot + 1, mass, rng)
        zero_slots = last + slot
        kept = np.delete(drawn, zero_slots)

        # Individuals in zero cells are spread over the zero cells of their group, all equally likely.
        ranks, numbers = scatter(drawn[zero_slots], group[first] * self.width - first, empty, self.prior, rng)
        return merge(self.cells[kept > 0], kept[kept > 0], absent(self.cells, ranks), numbers)

    def log_probability(self, outcome: tuple[np.ndarray, np.ndarray]) -> float:
        """Dirichlet-multinomial: in each group N! Γ(A)/Γ(N + A) times Γ(x + a)/(x! Γ(a)) for each cell, a = n + α."""
        from scipy.special import gammaln

        cells, numbers = outcome
        group, first, _, people = groups(self.cells, self.counts, self.width)
        held = np.bincount(np.searchsorted(group[first], cells // self.width), numbers, first.size)
        if held.size != people.size or np.any(held != people) or not np.isin(cells // self.width, group).all():
            return -math.inf
        mass = np.full(cells.size, self.prior)
        _, at, where = np.intersect1d(self.cells, cells, assume_unique=True, return_indices=True)
        mass[where] += self.counts[at]
        whole = people + self.prior * self.width
        each = gammaln(people + 1) + gammaln(whole) - gammaln(people + whole)
        return float(each.sum() + (gammaln(numbers + mass) - gammaln(numbers + 1) - gammaln(mass)).sum())

    def outcomes(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Every table with the same number of people in each group: for audits of small data."""
        group, first, _, people = groups(self.cells, self.counts, self.width)
        cells = (group[first][:, None] * self.width + np.arange(self.width)).reshape(-1)
        for parts in itertools.product(*(_compositions(int(n), self.width) for n in people)):
            numbers = np.array([number for part in parts for number in part], dtype=np.int64)
            yield cells[numbers > 0], numbers[numbers > 0]


def _compositions(total: int, places: int) -> Iterator[tuple[int, ...]]:
    """All ways to put `total` into `places`."""
    if places == 1:
        yield (total,)
        return
    for here in range(total + 1):
        for rest in _compositions(total - here, places - 1):
            yield (here, *rest)


def groups(cells: np.ndarray, counts: np.ndarray, width: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The group of each cell; where each group begins and ends among the cells; and how many people it holds."""
    group = cells // width
    first = np.flatnonzero(np.diff(group, prepend=-1))
    return group, first, np.append(first[1:], cells.size), np.add.reduceat(counts, first)


def _gamma(shape: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Gamma draws that allow a shape of zero (a group without zero cells)."""
    return np.where(shape > 0, rng.gamma(np.maximum(shape, 1e-300)), 0.0)


def split(
    counts: np.ndarray, starts: np.ndarray, ends: np.ndarray, mass: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Multinomial draws over many segments [start, end) of `mass` at once, by halving each until a single place is left."""
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

    Returns the places drawn, sorted, and how often. The cost is the smaller of draws and places: few draws use Pólya's
    urn, many use one weight per place, a block of places at a time.
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
        filled = np.flatnonzero(held)
        shift = np.repeat(starts[part] - (ends - sizes[part]), sizes[part])
        places, numbers = merge(places, numbers, filled + shift[filled], held[filled])
    return places, numbers


def urn(counts: np.ndarray, mass: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Pólya urns: draw i of an urn is new with probability mass/(mass + i), otherwise a copy of a uniformly chosen earlier draw.

    For each draw, urn by urn: the draw that it finally copies, and the urn. A draw that copies itself is new.
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
    """The smallest prior count per cell for which synthetic data is (ε, δ)-private.

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
