"""The K largest columns by Gumbel noise: its law by enumeration, privacy by all rows, and (ε, δ) exactly."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

import dpbench
from dpbench import Incidence
from dpbench.errors import UserError
from dpbench.mechanisms.baselines._gumbel import GumbelRanking, zcdp_rate

from naive import columns as naive

COUNTS = [2, 7, 7, 3, 0, 6]


def data_of(counts):
    """Rows of one cell each: these column counts."""
    rows = [[column] for column, count in enumerate(counts) for _ in range(count)]
    return Incidence.from_rows(rows, columns=len(counts))


class Caught:
    """In place of `Noise`: keeps the law that a mechanism draws from."""

    def draw(self, law):
        self.law = law
        return np.empty(0, dtype=np.int64)


def law_of(mechanism, counts, epsilon):
    noise = Caught()
    mechanism.publish(data_of(counts), epsilon, noise)
    return noise.law


def chances_of(mechanism, counts, epsilon):
    """What the mechanism draws, by its own probabilities; rankings that cannot be are left out."""
    law = law_of(mechanism, counts, epsilon)
    lengths = range(mechanism.k + 1)
    rankings = itertools.chain(*(itertools.permutations(range(len(counts)), n) for n in lengths))
    found = {s: math.exp(law.log_probability(np.array(s, dtype=np.int64))) for s in rankings}
    assert math.fsum(found.values()) == pytest.approx(1)
    return {s: chance for s, chance in found.items() if chance > 0}


def assert_drawn(rankings, chances):
    """Chi-square; the rarest rankings are pooled until they are expected 5 times. False-alarm rate 1e-4."""
    place = {key: at for at, key in enumerate(sorted(chances, key=chances.__getitem__))}
    drawn = np.bincount([place[tuple(int(c) for c in r)] for r in rankings], minlength=len(place))
    expected = np.array(sorted(chances.values())) * len(rankings)
    pool = int(np.searchsorted(np.cumsum(expected), 5)) + 1
    if pool < len(place):
        pooled = [np.append(values[:pool].sum(), values[pool:]) for values in (drawn, expected)]
        assert stats.chisquare(*pooled).pvalue > 1e-4


@pytest.mark.parametrize("k", [1, 2, 3, 6])
def test_one_round_of_noise_is_peeling(k):
    """Exactly: the law's own probabilities are those of K rounds of the exponential mechanism."""
    chances = chances_of(dpbench.mechanism("gumbel_topk", k=k), COUNTS, 1.5)
    assert chances == pytest.approx(naive.exponential_peeling(COUNTS, k, 1.5), rel=1e-10)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_rankings_are_drawn_with_their_probability(k):
    mechanism, rng, data = dpbench.mechanism("gumbel_topk", k=k), np.random.default_rng(1), data_of(COUNTS)
    drawn = [mechanism.release(data, 1.5, rng).top for _ in range(6000)]
    assert_drawn(drawn, naive.exponential_peeling(COUNTS, k, 1.5))


def test_pure_choices_are_private_for_every_added_row():
    """Exactly: the probabilities of what we draw move by at most e^ε for any row of any size, and nearly so for some."""
    mechanism, worst = dpbench.mechanism("gumbel_topk", k=2), 0.0
    for counts in ([0, 2, 2, 3], [1, 1, 1, 1], [5, 0, 0, 1]):
        before = chances_of(mechanism, counts, 1.0)
        for row in itertools.product((0, 1), repeat=4):
            after = chances_of(mechanism, [c + one for c, one in zip(counts, row, strict=True)], 1.0)
            worst = max(worst, *(abs(math.log(after[s] / before[s])) for s in before))
    assert 0.6 < worst <= 1 + 1e-9


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-2), (1.0, 1e-3), (3.0, 0.05)])
def test_approximate_choices_are_private_for_every_added_row(epsilon, delta):
    """Exactly: Σ max(0, P - e^ε P') ≤ δ over all rows, with K so large that δ buys something."""
    mechanism, worst = dpbench.mechanism("gumbel_topk_delta", k=4, delta=delta), 0.0
    assert mechanism.rate(epsilon) > epsilon / 4
    for counts in ([0, 2, 2, 3, 1], [1, 1, 1, 1, 1], [9, 0, 0, 1, 0]):
        before = chances_of(mechanism, counts, epsilon)
        for row in itertools.product((0, 1), repeat=5):
            after = chances_of(mechanism, [c + one for c, one in zip(counts, row, strict=True)], epsilon)
            worst = max(worst, *(naive.hockey_stick(*pair, epsilon) for pair in ((before, after), (after, before))))
    assert worst <= delta


@pytest.mark.parametrize(
    ("epsilon", "delta", "k"), [(0.1, 1e-6, 100), (1.0, 1e-6, 100), (1.0, 1e-6, 1), (5.0, 1e-9, 20)]
)
def test_rate_spends_all_of_epsilon(epsilon, delta, k):
    """ρ + 2 √(ρ ln 1/δ) = ε with ρ = K e₀²/8; plain composition where that gives more."""
    rho = k * zcdp_rate(epsilon, delta, k) ** 2 / 8
    assert rho + 2 * math.sqrt(rho * math.log(1 / delta)) == pytest.approx(epsilon)
    rate = dpbench.mechanism("gumbel_topk_delta", k=k, delta=delta).rate(epsilon)
    assert rate == max(epsilon / k, zcdp_rate(epsilon, delta, k))
    assert (rate > epsilon / k) == (k > 1)


UNKNOWN = [(1, 2, 1.0, 0.01), (2, 2, 0.5, 0.1), (2, 3, 2.0, 0.1), (3, 3, 1.0, 1e-3)]


@pytest.mark.parametrize(("k", "reach", "epsilon", "delta"), UNKNOWN)
def test_unknown_domain_has_the_naive_law(k, reach, epsilon, delta):
    mechanism, rng = dpbench.mechanism("gumbel_topk_unknown", k=k, reach=reach, delta=delta), np.random.default_rng(2)
    rate, part = mechanism.rates(epsilon)
    assert part in (delta, delta / 2)
    for counts in ([12, 9, 9, 1], [3, 0, 0, 0], [0, 0, 0, 0], [40, 9, 2, 3]):
        expected = naive.limited_domain(counts, k, reach, rate, part)
        assert chances_of(mechanism, counts, epsilon) == pytest.approx(expected, rel=1e-9)
        data = data_of(counts)
        assert_drawn([mechanism.release(data, epsilon, rng).top for _ in range(800)], expected)


@pytest.mark.parametrize(("k", "reach", "epsilon", "delta"), UNKNOWN)
def test_unknown_domain_is_private_for_every_added_row(k, reach, epsilon, delta):
    """Exactly, over counts at which a row brings columns in, or moves them past the last one looked at; and δ is used up
    where plain composition leaves all of it to the stop mark."""
    mechanism, worst = dpbench.mechanism("gumbel_topk_unknown", k=k, reach=reach, delta=delta), 0.0
    for counts in ([0, 0, 0, 0], [1, 1, 1, 1], [5, 2, 2, 1], [2, 2, 0, 0], [9, 1, 0, 0], [3, 3, 3, 2]):
        before = chances_of(mechanism, counts, epsilon)
        for row in itertools.product((0, 1), repeat=4):
            after = chances_of(mechanism, [c + one for c, one in zip(counts, row, strict=True)], epsilon)
            worst = max(worst, *(naive.hockey_stick(*pair, epsilon) for pair in ((before, after), (after, before))))
    assert worst <= delta
    if mechanism.rates(epsilon)[1] == delta:
        assert worst > 0.85 * delta


def test_unknown_domain_names_no_column_that_no_row_holds():
    mechanism, rng = dpbench.mechanism("gumbel_topk_unknown", k=3, reach=4, delta=0.5), np.random.default_rng(3)
    data = data_of([50, 0, 0, 20, 0, 0])
    named = [mechanism.release(data, 3.0, rng).top for _ in range(300)]
    assert set(np.concatenate(named).tolist()) == {0, 3}
    short = dpbench.mechanism("gumbel_topk_unknown", k=10, reach=10, delta=0.1)
    assert short.unfit(data) == ""  # K is the most that may be named
    empty = Incidence.from_rows([], columns=5)
    assert short.release(empty, 1.0, rng).published().tolist() == [10.0]  # k alone


def test_a_million_columns_are_chosen_from():
    rng = np.random.default_rng(4)
    counts = rng.zipf(1.6, 1_000_000).clip(max=200_000)
    top = GumbelRanking(None, counts, 100, 100.0, None).draw(rng)
    assert np.unique(top).size == 100
    sure = np.zeros(10_000)
    sure[[7, 3, 5]] = 10_000, 9000, 8000
    assert GumbelRanking(None, sure, 3, 3.0, None).draw(rng).tolist() == [7, 3, 5]


def test_what_is_no_ranking_has_no_probability():
    law = GumbelRanking(None, np.array(COUNTS), 2, 1.0, None)
    for outcome in ([1, 1], [1], [1, 2, 3], [1, 9]):
        assert law.log_probability(np.array(outcome)) == -math.inf


def test_what_does_not_fit_says_so():
    assert "cannot choose 7 columns" in dpbench.mechanism("gumbel_topk", k=7).unfit(data_of(COUNTS))
    for name, parameters, words in (
        ("gumbel_topk", {"k": 0}, "k=0"),
        ("gumbel_topk_delta", {"delta": 0}, "delta=0"),
        ("gumbel_topk_delta", {"delta": 1.0}, r"delta=1\.0"),
        ("gumbel_topk_unknown", {"k": 10, "reach": 9}, "reach=9 is below k=10"),
    ):
        with pytest.raises(UserError, match=words):
            dpbench.mechanism(name, **parameters)
    assert dpbench.mechanism("gumbel_topk").privacy == "ε"
    assert dpbench.mechanism("gumbel_topk_delta").privacy == "(ε, δ)"
