"""The samples themselves: at most l records a user, small users whole, random ones uniform, greedy ones right.

Chi-square tests have a false-alarm rate of 1e-4 each; there are fewer than ten. All seeds are fixed.
"""

from __future__ import annotations

from collections import Counter
from itertools import combinations, pairwise

import numpy as np
import pytest
from scipy import stats

from dpbench.mechanisms.analytics._samples import edge_counts, greedy_sample, item_counts, random_sample, score_ranks

LEVEL = 1e-4


def made(sizes: list[int], items: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Offsets, and items with many repeats."""
    rng = np.random.default_rng(seed)
    indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return indptr, np.minimum(rng.geometric(0.2, indptr[-1]) - 1, items - 1).astype(np.int32)


def by_user(indptr: np.ndarray, sample: np.ndarray) -> list[list[int]]:
    return [sample[(sample >= a) & (sample < b)].tolist() for a, b in pairwise(indptr)]


SIZES = [0, 1, 3, 4, 5, 60, 0, 300, 4, 17, 1000, 2]


@pytest.mark.parametrize("most", [1, 4, 7, 1000, 5000])
@pytest.mark.parametrize("greedy", [False, True])
def test_each_user_gives_l_records_or_all(most: int, greedy: bool) -> None:
    indptr, items = made(SIZES, 40)
    rng = np.random.default_rng(1)
    scores = rng.integers(0, 5, 40).astype(float)
    for _ in range(20):
        sample = greedy_sample(indptr, items, scores, most, rng) if greedy else random_sample(indptr, most, rng)
        parts = by_user(indptr, sample)
        assert sum(map(len, parts)) == sample.size
        for part, size in zip(parts, SIZES, strict=True):
            assert len(part) == len(set(part)) == min(size, most)


def test_random_sample_is_uniform_over_subsets_and_forgets_the_user_before() -> None:
    """All subsets of 3 of 6 records have the same chance, also behind a larger and a smaller user."""
    indptr = np.array([0, 9, 15, 17])
    rng = np.random.default_rng(2)
    found = Counter(tuple(sorted(by_user(indptr, random_sample(indptr, 3, rng))[1])) for _ in range(20_000))
    subsets = list(combinations(range(9, 15), 3))
    assert stats.chisquare([found[s] for s in subsets]).pvalue > LEVEL
    assert set(found) <= set(subsets)


@pytest.mark.parametrize("most", [1, 2, 10, 64])
def test_greedy_sample_takes_the_highest_scores(most: int) -> None:
    """Many users of all sizes, so that the guessed rank errs to both sides: the scores taken are always the best."""
    rng = np.random.default_rng(3)
    sizes = [*rng.integers(0, 400, 150).tolist(), 3000, *rng.integers(0, 40, 150).tolist()]
    indptr, items = made(sizes, 700, seed=4)
    items = rng.permutation(700).astype(np.int32)[items]
    scores = np.maximum(rng.laplace(1.0, 2.0, 700), 0.0)
    parts = by_user(indptr, greedy_sample(indptr, items, scores, most, rng))
    for k, part in enumerate(parts):
        own = scores[items[indptr[k] : indptr[k + 1]]]
        assert sorted(scores[items[part]]) == sorted(own)[::-1][:most][::-1]


def test_greedy_sample_gives_ties_equal_chance() -> None:
    """Two of nine records are better than all, one worse, six share a score: which two of these is left to chance."""
    items = np.array([0, 3, 1, 1, 2, 0, 1, 2, 2], dtype=np.int32)
    scores = np.array([5.0, 1.0, 1.0, 0.0])
    indptr = np.array([0, 9])
    rng = np.random.default_rng(5)
    found = Counter(tuple(sorted(greedy_sample(indptr, items, scores, 4, rng).tolist())) for _ in range(15_000))
    pairs = [tuple(sorted((0, 5, *pair))) for pair in combinations((2, 3, 4, 6, 7, 8), 2)]
    assert set(found) <= set(pairs)
    assert stats.chisquare([found[p] for p in pairs]).pvalue > LEVEL


def test_greedy_sample_among_items_of_no_popularity_is_random() -> None:
    """Counts below zero all become popularity 0: a user of such items is sampled evenly."""
    items = np.arange(12, dtype=np.int32)
    rng = np.random.default_rng(6)
    found = Counter(
        place for _ in range(4000) for place in greedy_sample(np.array([0, 12]), items, np.zeros(12), 3, rng).tolist()
    )
    assert stats.chisquare([found[i] for i in range(12)]).pvalue > LEVEL


def test_score_ranks() -> None:
    ranks, groups = score_ranks(np.array([0.0, 3.0, 0.5, 3.0]))
    assert (ranks.tolist(), groups, ranks.dtype) == ([2, 0, 1, 0], 3, np.uint16)
    wide, groups = score_ranks(np.arange(70_000.0))
    assert wide.dtype == np.uint32
    assert (wide[0], wide[-1], groups) == (69_999, 0, 70_000)


def test_counts_of_a_sample() -> None:
    items, contexts = np.array([2, 0, 2, 1], np.int32), np.array([1, 0, 1, 1], np.uint8)
    places = np.array([0, 2, 3])
    assert item_counts(items, places, 4).tolist() == [0, 1, 2, 0]
    assert edge_counts(items, contexts, places, 4, 2).tolist() == [[0, 0], [0, 1], [0, 2], [0, 0]]
