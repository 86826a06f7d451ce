"""Samples of at most l records per user, and their counts: the loops of analytics, Algorithms 1 and 2.

A sample is an array of positions of records, in the order of the users. All loops pass once over the users. The greedy
one reads every record once, the random one only those it takes.
"""

from __future__ import annotations

import numpy as np

from dpbench.data import ColumnData
from dpbench.numerics.compiled import kernel
from dpbench.numerics.rows import weighed_counts


def sample_offsets(indptr: np.ndarray, most: int) -> np.ndarray:
    """Where each user's part of a sample of at most `most` records begins; the last entry is the sample's size."""
    offsets = np.zeros(indptr.size, dtype=np.int64)
    np.cumsum(np.minimum(np.diff(indptr), most), out=offsets[1:])
    return offsets


def random_sample(indptr: np.ndarray, most: int, rng: np.random.Generator) -> np.ndarray:
    """Positions of a simple random sample, without replacement, of `most` records per user; all of them if there are fewer."""
    offsets = sample_offsets(indptr, most)
    largest = int(np.diff(indptr).max(initial=0))
    return _random_sample(indptr, offsets, largest, rng)


def expected_counts(columns: ColumnData, most: int) -> np.ndarray:
    """The mean column counts over all random samples of `most` records per user. Of n records each has probability most/n."""

    def weighed() -> np.ndarray:
        weights = np.minimum(1.0, most / np.maximum(columns.row_sizes, 1))
        return weighed_counts(columns.indptr, columns.indices, columns.counts, weights)

    return columns.memo(("expected counts", most), weighed)


def greedy_sample(
    indptr: np.ndarray, items: np.ndarray, scores: np.ndarray, most: int, rng: np.random.Generator
) -> np.ndarray:
    """Positions of each user's `most` records with the highest item scores. Ties are broken uniformly at random."""
    offsets = sample_offsets(indptr, most)
    largest = int(np.diff(indptr).max(initial=0))
    ranks, groups = score_ranks(scores)
    return _greedy_sample(indptr, items, ranks, groups, offsets, most, largest, rng)


def score_ranks(scores: np.ndarray) -> tuple[np.ndarray, int]:
    """Rank of each score, 0 the highest, equal scores the same rank; and the number of ranks.

    The table of ranks is looked up once per record, so it has the smallest type: 35 kB at Netflix's 17770 items.
    """
    values, inverse = np.unique(scores, return_inverse=True)
    groups = values.size
    return (groups - 1 - inverse).astype(np.uint16 if groups <= 1 << 16 else np.uint32), groups


@kernel()
def edge_counts(
    items: np.ndarray, contexts: np.ndarray, places: np.ndarray, n_items: int, n_contexts: int
) -> np.ndarray:
    """Number of records at the positions `places` with each item and context."""
    counts = np.zeros((n_items, n_contexts), dtype=np.int64)
    for place in places:
        counts[items[place], contexts[place]] += 1
    return counts


@kernel()
def item_counts(items: np.ndarray, places: np.ndarray, n_items: int) -> np.ndarray:
    """Number of records at `places` with each item."""
    counts = np.zeros(n_items, dtype=np.int64)
    for place in places:
        counts[items[place]] += 1
    return counts


@kernel()
def _random_sample(indptr: np.ndarray, offsets: np.ndarray, largest: int, rng: np.random.Generator) -> np.ndarray:
    """The first steps of a Fisher-Yates shuffle of each user's positions, undone before the next user."""
    sample = np.empty(offsets[-1], dtype=np.int64)
    order = np.arange(largest)
    for k in range(indptr.size - 1):
        start, size = indptr[k], indptr[k + 1] - indptr[k]
        at, taken = offsets[k], offsets[k + 1] - offsets[k]
        if taken == size:
            for i in range(size):
                sample[at + i] = start + i
            continue
        for i in range(taken):
            j = i + int(rng.random() * (size - i))
            order[i], order[j] = order[j], order[i]
            sample[at + i] = start + order[i]
        # A position beyond the first ones was changed only if it was drawn itself.
        for i in range(taken):
            order[i] = i
            order[sample[at + i] - start] = sample[at + i] - start
    return sample


@kernel()
def _greedy_sample(
    indptr: np.ndarray,
    items: np.ndarray,
    ranks: np.ndarray,
    groups: int,
    offsets: np.ndarray,
    most: int,
    largest: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """One pass over the records: list those below a guessed rank, then take the best of the list.

    The guess depends on the user's size (in powers of two) and adapts. It affects the time, never the result.
    """
    sample = np.empty(offsets[-1], dtype=np.int64)
    rank = np.empty(largest + 1, dtype=np.int32)
    place = np.empty(largest + 1, dtype=np.int32)
    guess = np.full(64, groups, dtype=np.int64)
    for k in range(indptr.size - 1):
        start, size, at = indptr[k], indptr[k + 1] - indptr[k], offsets[k]
        if size <= most:
            for i in range(size):
                sample[at + i] = start + i
            continue
        magnitude = 0
        while size >> magnitude:
            magnitude += 1
        below = guess[magnitude]
        listed = _list_below(items[start : start + size], ranks, below, rank, place)
        if listed < most:
            guess[magnitude] = min(groups, below + below // 4 + 1)
            below = groups
            listed = _list_below(items[start : start + size], ranks, below, rank, place)
        elif listed > 2 * most:
            guess[magnitude] = below - below // 16
        last = _last_rank(rank[:listed], most, below)
        _take_best(rank[:listed], place, last, start, sample[at : at + most], rng)
    return sample


@kernel()
def _list_below(items, ranks, below, rank, place):  # type: ignore[no-untyped-def]
    """List rank and position of the items with a rank below `below`. Branch-free, because mispredicted branches are slower."""
    listed = np.uint32(0)
    for i in range(items.size):
        this = np.int32(ranks[np.uint32(items[i])])
        rank[listed] = this
        place[listed] = i
        listed += np.uint32(this < below)
    return np.int64(listed)


@kernel()
def _last_rank(rank, most, below):  # type: ignore[no-untyped-def]
    """The lowest rank r such that at least `most` listed ranks are r or lower, by bisection."""
    low, high = 0, below - 1
    while low < high:
        middle = np.int32((low + high) // 2)
        within = np.int32(0)
        for i in range(rank.size):
            within += np.int32(rank[i] <= middle)
        if within >= most:
            high = int(middle)
        else:
            low = int(middle) + 1
    return low


@kernel()
def _take_best(
    rank: np.ndarray, place: np.ndarray, last: int, start: int, sample: np.ndarray, rng: np.random.Generator
) -> None:
    """Take all below the rank `last`, and a random choice of those with exactly that rank to fill up."""
    taken, tied = np.uint32(0), np.uint32(0)
    for i in range(rank.size):
        # Branch-free: both lists are always written, but grow only if the entry belongs to them.
        here = place[i]
        sample[taken] = start + here
        taken += np.uint32(rank[i] < last)
        place[tied] = here
        tied += np.uint32(rank[i] == last)
    missing = sample.size - np.int64(taken)
    for i in range(missing):
        j = i + int(rng.random() * (np.int64(tied) - i)) if tied > missing else i
        place[i], place[j] = place[j], place[i]
        sample[np.int64(taken) + i] = start + place[i]
