"""The K largest as one set, and in a domain that is found first: probabilities by enumeration, privacy by all pairs."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

import dpbench
from dpbench import Incidence
from dpbench.mechanisms.baselines._canonical import CanonicalSubset
from dpbench.mechanisms.baselines._discovery import DiscoveredRanking, discovery_noise
from dpbench.mechanisms.histograms._stability import gaussian_delta
from dpbench.numerics.gaussian import delta_of

from naive import modern as naive


def falling(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    order = np.argsort(-counts, kind="stable")
    return order, counts[order]


def assert_drawn(law: CanonicalSubset | DiscoveredRanking, chances: dict[tuple[int, ...], float], seed: int) -> None:
    """Chi-square over 20000 draws, what is expected less than 8 times pooled: false-alarm rate 1e-5."""
    rng, keys = np.random.default_rng(seed), list(chances)
    drawn = [tuple(law.draw(rng).tolist()) for _ in range(20000)]
    expected = np.array([chances[key] for key in keys]) * len(drawn)
    seen = np.array([drawn.count(key) for key in keys])
    assert seen.sum() == len(drawn)
    rare = expected < 8
    pairs = [np.append(values[~rare], values[rare].sum()) for values in (seen, expected)]
    pairs = [values[pairs[1] > 0] for values in pairs]
    assert stats.chisquare(*pairs).pvalue > 1e-5


COUNTS = [[4, 9, 9, 2, 0, 7], [5, 5, 5, 5, 5], [0, 0, 1, 8], [3, 1, 1, 1, 1, 0, 0]]


@pytest.mark.parametrize("counts", COUNTS, ids=str)
@pytest.mark.parametrize("k", [1, 2, 4])
def test_sets_have_the_probability_of_their_loss(counts: list[int], k: int) -> None:
    law = CanonicalSubset(*falling(np.array(counts)), k, 0.8)
    expected = naive.canonical_chances(counts, k, 0.8)
    found = {tuple(s.tolist()): math.exp(law.log_probability(s)) for s in law.outcomes()}
    assert found.keys() == expected.keys()
    np.testing.assert_allclose([found[s] for s in expected], list(expected.values()), rtol=1e-9)
    assert law.log_probability(np.array([0] * (k + 1))) == -math.inf


@pytest.mark.parametrize(("counts", "k"), [(COUNTS[0], 3), (COUNTS[1], 2), (COUNTS[3], 3)], ids=str)
def test_sets_are_drawn_with_these_probabilities(counts: list[int], k: int) -> None:
    assert_drawn(CanonicalSubset(*falling(np.array(counts)), k, 0.8), naive.canonical_chances(counts, k, 0.8), seed=k)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_one_row_changes_no_set_by_more_than_epsilon(k: int) -> None:
    for counts in itertools.product(range(3), repeat=4):
        before = naive.canonical_chances(counts, k, 1.0)
        for row in itertools.product((0, 1), repeat=4):
            after = naive.canonical_chances([c + r for c, r in zip(counts, row, strict=True)], k, 1.0)
            assert max(abs(math.log(after[s] / before[s])) for s in before) <= 1 + 1e-12


def test_a_million_columns_with_few_distinct_counts_are_drawn_from_without_a_table_of_them() -> None:
    counts = np.concatenate([np.arange(1000, 0, -1), np.zeros(10**6, dtype=np.int64)])
    law = CanonicalSubset(np.arange(counts.size), counts, 100, 1.0)
    assert law.logs.shape == (100, 901)
    drawn = law.draw(np.random.default_rng(1))
    assert np.unique(drawn).size == 100
    sure = CanonicalSubset(np.arange(counts.size), counts, 100, 1000.0)
    assert sure.draw(np.random.default_rng(1)).tolist() == list(range(100))


# A domain that is found first.


def test_noise_of_the_discovery_is_that_of_its_paper_and_keeps_delta() -> None:
    """T = max over t of 1/√t + σ Φ⁻¹((1-δ/2)^(1/t)). Times √t, rows of t columns are a sparse histogram, whose δ is known."""
    for epsilon, delta, bound in [(0.5, 1e-6, 30), (0.05, 0.01, 7), (4.0, 1e-9, 100), (1.0, 0.4, 5), (0.1, 0.5, 4)]:
        sigma, threshold = discovery_noise(epsilon, delta, bound)
        shown = delta / 2 if delta < epsilon else (1 - math.exp(-epsilon)) / 2
        assert delta_of(epsilon + math.log(1 - shown), sigma) == pytest.approx(delta - shown, rel=1e-6)
        needed = [1 / math.sqrt(t) + sigma * stats.norm.ppf((1 - shown) ** (1 / t)) for t in range(1, bound + 1)]
        assert threshold == pytest.approx(max(needed), rel=1e-6)
        for t in range(1, bound + 1):
            root = math.sqrt(t)
            assert gaussian_delta(epsilon, sigma * root, threshold * root - 1, t) <= delta


def law_of(n: int, k: int, seed: int, scale: float = 3.0) -> DiscoveredRanking:
    rng = np.random.default_rng(seed)
    return DiscoveredRanking(2 * np.arange(n), rng.random(n) * 6, rng.integers(0, 9, n), k, scale, (1.2, 3.0))


@pytest.mark.parametrize(("n", "k"), [(0, 2), (1, 1), (4, 1), (4, 2), (5, 3), (2, 3)])
def test_rankings_have_their_probability_over_all_domains(n: int, k: int) -> None:
    law = law_of(n, k, seed=n)
    expected = naive.discovered_chances(
        law.columns.tolist(), law.weights, law.counts.tolist(), k, law.scale, law.sigma, law.threshold
    )
    found = {tuple(r.tolist()): math.exp(law.log_probability(r)) for r in law.outcomes()}
    assert found.keys() == expected.keys()
    np.testing.assert_allclose([found[r] for r in expected], list(expected.values()), rtol=1e-7, atol=1e-13)
    assert law.log_probability(np.array([1] * k)) == -math.inf


def test_rankings_are_drawn_with_these_probabilities() -> None:
    law = law_of(4, 2, seed=9)
    assert_drawn(law, {tuple(r.tolist()): math.exp(law.log_probability(r)) for r in law.outcomes()}, seed=3)


def test_weights_of_a_row_have_length_one_and_bounds_are_kept() -> None:
    data = Incidence.from_rows([[0, 1, 2, 3], [1], [], [1, 3]], columns=6)
    mechanism = dpbench.mechanism("discovery_topk", k=2, bound=4)
    weights, held = mechanism.weights(data)
    assert held.tolist() == [0, 1, 2, 3]
    np.testing.assert_allclose(weights, [0.5, 0.5 + 1 + 0.5**0.5, 0.5, 0.5 + 0.5**0.5])
    assert mechanism.unfit(data) == ""
    assert "below the largest row 4" in dpbench.mechanism("discovery_topk", k=2, bound=3).unfit(data)


def test_frequent_columns_are_found_and_ranked() -> None:
    data = Incidence.from_rows([[0, 1]] * 3000 + [[0]] * 500 + [[2]], columns=5)
    release = dpbench.mechanism("discovery_topk", k=3, bound=2).release(data, 1.0, 5)
    assert release.top.tolist() == [0, 1]
