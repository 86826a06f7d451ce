"""Closed forms, places, transforms and hashing below the sparse mechanisms, against enumeration and naive versions.

Statistical tests have fixed seeds; with fresh ones each would fail about once in ten thousand runs.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from dpbench.mechanisms.sparse import _synthesis as synthesis
from dpbench.mechanisms.sparse import _zeros as zeros
from dpbench.mechanisms.sparse._priority import priorities, top, zero_priorities
from dpbench.numerics import dyadic, geometric, haar, hashing, places

from naive import sparse as naive

ALARM = 1e-4
ALPHAS = (math.exp(-0.1), math.exp(-1), math.exp(-0.1 / 21), 0.5)


def fits(observed: np.ndarray, probability: np.ndarray) -> float:
    """p-value of observed counts against a law; bins with fewer than 8 expected are put together."""
    expected = probability / probability.sum() * observed.sum()
    small = expected < 8
    observed, expected = (
        np.append(x[~small], x[small].sum()) if small.any() else x for x in (observed.astype(float), expected)
    )
    if expected[-1] == 0:
        assert observed[-1] == 0
        observed, expected = observed[:-1], expected[:-1]
    return stats.chisquare(observed, expected).pvalue


# The law of the zeros.


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("theta", [1, 5, 12.3])
@pytest.mark.parametrize("tau", [1, 7, 40, 12.7, 33.001, 1234.5, 1e8])
def test_closed_forms_equal_the_series(alpha: float, theta: float, tau: float) -> None:
    series = naive.sample_series(alpha, tau, theta)
    np.testing.assert_allclose(zeros.sample_probability(alpha, tau, theta), series.sum(), rtol=1e-10)
    tail = np.cumsum(series[::-1])[::-1] / series.sum()
    x = np.arange(math.ceil(theta), 200)
    np.testing.assert_allclose(zeros.sample_tail(alpha, tau, x, theta), tail[x], rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("tau", [1, 2, 9, 50])
def test_closed_forms_at_whole_tau_are_the_papers(alpha: float, tau: int) -> None:
    np.testing.assert_allclose(zeros.sample_probability(alpha, tau), naive.paper_threshold(alpha, tau), rtol=1e-11)
    for theta in range(1, tau + 1):
        expected = naive.paper_filter_threshold(alpha, tau, theta)
        np.testing.assert_allclose(zeros.sample_probability(alpha, tau, theta), expected, rtol=1e-10)
    v = np.arange(-3 * tau - 5, 3 * tau + 6)
    expected = [naive.paper_cdf(alpha, tau, int(x)) for x in v]
    np.testing.assert_allclose(zeros.sample_cdf(alpha, tau, v), expected, rtol=1e-10, atol=1e-12)


def test_the_papers_whole_tau_form_fails_at_a_real_one() -> None:
    """The erratum: at τ = 2.5 the closed form of the text is off, the series is not."""
    alpha, tau = 0.9, 2.5
    series = naive.sample_series(alpha, tau, 1).sum()
    assert abs(2 * alpha * (1 - alpha**tau) / (tau * (1 - alpha**2)) - series) > 1e-3
    assert zeros.sample_probability(alpha, tau) == pytest.approx(series, rel=1e-12)


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("theta", [1, 4, 7.5])
def test_filter_probability(alpha: float, theta: float) -> None:
    x = np.arange(math.ceil(theta), 60000)
    one = ((1 - alpha) / (1 + alpha) * alpha**x).sum()
    assert zeros.pass_probability(alpha, theta, two_sided=False) == pytest.approx(one, rel=1e-10)
    assert zeros.pass_probability(alpha, theta) == pytest.approx(2 * one, rel=1e-10)


def test_moments_of_the_noise() -> None:
    for alpha in ALPHAS:
        x = np.arange(-60000, 60001)
        mass = (1 - alpha) / (1 + alpha) * alpha ** np.abs(x)
        assert geometric.mean_abs(alpha) == pytest.approx((mass * np.abs(x)).sum(), rel=1e-10)
        assert geometric.variance(alpha) == pytest.approx((mass * x.astype(float) ** 2).sum(), rel=1e-10)


def test_theta_and_tau_for_a_target() -> None:
    """θ = ln(t(1+α)/m)/ln α lets t zeros pass; τ = (‖M‖₁ + 2mα/(1-α²))/t. Golden: m = 10^6, t = 10^5, ε = 0.1."""
    alpha, m, t = math.exp(-0.1), 10**6, 10**5
    for two_sided in (False, True):
        theta = zeros.theta_for(alpha, t, m, two_sided)
        assert m * (2 if two_sided else 1) * alpha**theta / (1 + alpha) == pytest.approx(t)
    assert zeros.theta_for(alpha, t, m, two_sided=False) == pytest.approx(math.log(0.1 * (1 + alpha)) / -0.1)
    assert zeros.theta_for(alpha, 10 * m, m) == 1
    assert zeros.tau_for(alpha, t, m, 10**7) == pytest.approx((10**7 + 2 * m * alpha / (1 - alpha**2)) / t)


@pytest.mark.parametrize(
    ("alpha", "tau", "theta"),
    [(0.5, 3, 1), (0.9, 2.5, 1), (0.9, 12.7, 5), (0.99, 40.3, 1), (0.998, 1e7, 30), (0.999, 15, 20)],
)
def test_values_of_chosen_zeros_have_their_law(alpha: float, tau: float, theta: float) -> None:
    """The last two have supports beyond the grid, so the halving is used too. False alarms: 6 in ten thousand."""
    n = 60_000
    drawn = zeros.sampled(alpha, tau, theta, n, np.random.default_rng(2))
    law = naive.sample_series(alpha, tau, theta, 40_000)
    assert fits(np.bincount(np.abs(drawn), minlength=law.size), law) > ALARM
    assert stats.binomtest(int((drawn > 0).sum()), n).pvalue > ALARM


def test_values_that_pass_have_their_law() -> None:
    alpha, theta, n = 0.8, 6.2, 60_000
    drawn = zeros.passed(alpha, theta, True, n, np.random.default_rng(3))
    x = np.arange(200)
    assert fits(np.bincount(np.abs(drawn), minlength=200), np.where(x >= theta, alpha**x, 0)) > ALARM
    assert stats.binomtest(int((drawn > 0).sum()), n).pvalue > ALARM
    assert zeros.passed(alpha, theta, False, 1000, np.random.default_rng(3)).min() == 7


@pytest.mark.parametrize(("number", "p"), [(1000, 0.1), (10**12, 5e-11), (10**17, 5e-16), (50, 1e-9)])
def test_number_of_chosen_zeros(number: int, p: float) -> None:
    """Mean and variance, also where 1 - p has lost p's digits (numpy's own binomial is off by 7 % at 10^17)."""
    rng = np.random.default_rng(4)
    drawn = np.array([zeros.upgraded(number, p, rng) for _ in range(20_000)])
    mean = number * p
    assert abs(drawn.mean() - mean) < 4 * math.sqrt(mean / 20_000) + 1e-3
    assert abs(drawn.var() - mean * (1 - p)) < 4 * math.sqrt((2 * mean**2 + mean) / 20_000) + 1e-3


# Places.


@pytest.mark.parametrize(("size", "domain"), [(0, 5), (2, 6), (3, 6), (5, 6), (6, 6)])
def test_every_subset_is_equally_likely(size: int, domain: int) -> None:
    rng = np.random.default_rng(5)
    seen = dict.fromkeys(itertools.combinations(range(domain), size), 0)
    for _ in range(300 * len(seen)):
        seen[tuple(int(x) for x in places.distinct(size, domain, rng))] += 1
    counts = np.array(list(seen.values()))
    assert len(counts) == 1 or fits(counts, np.ones(len(counts))) > ALARM


def test_free_places_are_uniform_outside_the_taken() -> None:
    rng = np.random.default_rng(6)
    taken, domain = np.array([0, 3, 4, 9]), 11
    drawn = np.concatenate([places.free(3, taken, domain, rng) for _ in range(4000)])
    counts = np.bincount(drawn, minlength=domain)
    assert not counts[taken].any()
    assert fits(np.delete(counts, taken), np.ones(domain - taken.size)) > ALARM


def test_places_in_a_domain_that_no_array_holds() -> None:
    rng = np.random.default_rng(7)
    domain = 2**62
    taken = places.distinct(1000, domain, rng)
    drawn = places.free(100_000, taken, domain, rng)
    assert drawn.size == 100_000
    assert (np.diff(drawn) > 0).all()
    assert not np.isin(drawn, taken).any()
    assert stats.kstest(drawn / domain, "uniform").pvalue > ALARM


def test_merge() -> None:
    out, values = places.merge(np.array([2, 5]), np.array([1, 2]), np.array([0, 3, 9]), np.array([7, 8, 9]))
    assert out.tolist() == [0, 2, 3, 5, 9]
    assert values.tolist() == [7, 1, 8, 2, 9]
    assert places.merge(np.empty(0, int), np.empty(0), np.array([1]), np.array([4]))[1].tolist() == [4]


def test_cascade_fills_exactly_and_crowds() -> None:
    rng = np.random.default_rng(8)
    for size, domain in ((1, 1), (5, 7), (700, 1000), (1000, 1000), (5000, 100_003)):
        drawn = places.cascade(size, domain, 0.8, rng)
        assert drawn.size == size
        assert (np.diff(drawn) > 0).all()
        assert drawn[0] >= 0
        assert drawn[-1] < domain
    crowded = np.bincount(places.cascade(5000, 100_000, 0.8, rng) // 1000, minlength=100)
    even = np.bincount(places.distinct(5000, 100_000, rng) // 1000, minlength=100)
    assert crowded.var() > 20 * even.var()


# Transforms.


def table(size: int, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, dict[int, int]]:
    cells = places.distinct(n, size, rng)
    counts = rng.integers(1, 9, n)
    return cells, counts, dict(zip(cells.tolist(), counts.tolist(), strict=True))


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 13, 16, 37])
def test_transforms_and_ranges_against_naive(size: int) -> None:
    rng = np.random.default_rng(size)
    for n in {0, 1, size // 2, size}:
        cells, counts, plain = table(size, n, rng)
        for fast, slow, module in (
            (dyadic.nodes, naive.dyadic, dyadic),
            (haar.coefficients, naive.haar, haar),
        ):
            where, values = fast(cells, counts, size)
            assert (np.diff(where) > 0).all()
            assert dict(zip(where.tolist(), values.tolist(), strict=True)) == slow(plain, size)
            full = np.zeros(module.offsets(size)[-1])
            full[where] = values
            lo, hi = (
                np.array(x) for x in zip(*itertools.combinations_with_replacement(range(size + 1), 2), strict=True)
            )
            answers = module.range_sum(lambda p, full=full: full[p], size, lo, hi)
            truth = [sum(c for cell, c in plain.items() if a <= cell < b) for a, b in zip(lo, hi, strict=True)]
            np.testing.assert_allclose(answers, truth, atol=1e-9)


@pytest.mark.parametrize("size", [1, 6, 13, 16])
def test_ranges_use_the_nodes_that_the_tree_gives(size: int) -> None:
    """With random values at every node the answer depends on which nodes are used, so the decomposition itself is checked."""
    rng = np.random.default_rng(9)
    values = rng.normal(size=dyadic.offsets(size)[-1])
    nodes = dict(enumerate(values.tolist()))
    for lo, hi in itertools.combinations_with_replacement(range(size + 1), 2):
        answer = dyadic.range_sum(lambda p: values[p], size, np.array([lo]), np.array([hi]))
        assert answer[0] == pytest.approx(naive.dyadic_range(nodes, size, lo, hi))
    wavelets = rng.normal(size=haar.offsets(size)[-1])
    coefficient = dict(enumerate(wavelets.tolist()))
    for cell in range(size - 1):  # the last one reaches the end of the domain, where padding counts as zero
        answer = haar.range_sum(lambda p: wavelets[p], size, np.array([cell]), np.array([cell + 1]))
        assert answer[0] == pytest.approx(naive.haar_cell(coefficient, size, cell))


@pytest.mark.parametrize("size", [1, 5, 16, 29])
def test_consistency_drops_what_lacks_an_ancestor(size: int) -> None:
    rng = np.random.default_rng(10)
    total = int(dyadic.offsets(size)[-1])
    for share in (0.3, 0.7, 0.95):
        for _ in range(20):
            chosen = np.flatnonzero(rng.random(total) < share)
            kept = chosen[dyadic.consistent(chosen, size)]
            assert set(kept.tolist()) == naive.consistent(set(chosen.tolist()), size)


def test_transforms_of_huge_domains_stay_small() -> None:
    rng = np.random.default_rng(11)
    size = 10**12
    cells, counts, _ = table(size, 1000, rng)
    where, values = dyadic.nodes(cells, counts, size)
    assert where.size <= 1000 * (math.log2(size / 1000) + 2)
    assert where[-1] == dyadic.offsets(size)[-1] - 1
    assert values[-1] == counts.sum()
    assert haar.coefficients(cells, counts, size)[0][-1] == haar.offsets(size)[-1] - 1


# Hashing.


@pytest.mark.parametrize("size", [1, 2, 3, 100, 1023, 1025])
def test_shuffle_is_a_bijection_with_its_inverse(size: int) -> None:
    shuffle = hashing.Shuffle(size, 3)
    moved = shuffle.places(np.arange(size))
    assert sorted(moved.tolist()) == list(range(size))
    assert shuffle.cells(moved).tolist() == list(range(size))


def test_shuffle_of_a_huge_domain_looks_uniform() -> None:
    size = 10**15 + 7
    moved = hashing.Shuffle(size, 1).places(np.arange(20_000))
    assert stats.kstest(moved / size, "uniform").pvalue > ALARM
    assert abs(np.corrcoef(moved[1:], moved[:-1])[0, 1]) < 0.03
    np.testing.assert_array_equal(hashing.Shuffle(size, 1).cells(moved), np.arange(20_000))


def test_buckets_and_signs_are_fair() -> None:
    bucket, sign = hashing.bucket_and_sign(np.arange(100_000), 37, seed=12345)
    assert fits(np.bincount(bucket, minlength=37), np.ones(37)) > ALARM
    assert stats.binomtest(int((sign > 0).sum()), sign.size).pvalue > ALARM
    assert abs(np.corrcoef(bucket, sign)[0, 1]) < 0.02


# Priorities.


def test_top_is_exact() -> None:
    q = np.array([3.0, 9.0, 1.0, 7.0])
    assert top(q, 2)[0].tolist() == [False, True, False, True]
    assert top(q, 2)[1] == 3.0
    assert top(q, 4)[1] == 0.0
    assert top(q, 9)[0].all()


@pytest.mark.parametrize(("theta", "slack"), [(1, 6.0), (1, -1e9), (3, 6.0), (3, -1e9)])
def test_priorities_of_zeros_have_their_law(theta: float, slack: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Against all zeros' priorities drawn one by one; a guess far too high (slack -1e9) forces layer after layer.

    Compared: how many of the best 12 are zeros, the best priority and the 13th. False alarms: 12 in ten thousand.
    """
    monkeypatch.setattr("dpbench.mechanisms.sparse._priority.SLACK", slack)
    alpha, number, s = 0.7, 40, 12
    rng, other = np.random.default_rng(13), np.random.default_rng(14)
    found = {"fast": [], "slow": []}
    for _ in range(3000):
        mine = rng.integers(3, 9, 6)
        q = priorities(mine, rng)
        v, zq = zero_priorities(alpha, theta, number, mine, q, s, rng)
        found["fast"].append(_seen(q, zq, v, s))
        mine = other.integers(3, 9, 6)
        q = mine / (1 - other.random(6))
        v = np.array([naive.noise(alpha, other) for _ in range(number)])
        v = v[np.abs(v) >= theta]
        found["slow"].append(_seen(q, np.abs(v) / (1 - other.random(v.size)), v, s))
    fast, slow = (np.array(found[name]) for name in ("fast", "slow"))
    for column in range(fast.shape[1]):
        assert stats.ks_2samp(fast[:, column], slow[:, column]).pvalue > ALARM, column


def _seen(q: np.ndarray, zero_q: np.ndarray, zero_values: np.ndarray, s: int) -> list[float]:
    both = np.concatenate([q, zero_q])
    best, tau = top(both, s)
    chosen = np.abs(zero_values)[best[q.size :]]
    return [float(chosen.size), both.max(), tau, float(chosen.sum())]


# Synthetic data.


def test_split_is_multinomial() -> None:
    """Two segments, three and two places: all cell frequencies against their probabilities."""
    rng = np.random.default_rng(15)
    mass = np.array([1.0, 2.0, 3.0, 5.0, 1.0])
    total = np.zeros(5)
    squares = np.zeros(5)
    for _ in range(4000):
        drawn = synthesis.split(np.array([10, 6]), np.array([0, 3]), np.array([3, 5]), mass, rng)
        assert drawn[:3].sum() == 10
        assert drawn[3:].sum() == 6
        total += drawn
        squares += drawn**2
    for part, records in ((slice(0, 3), 10), (slice(3, 5), 6)):
        p = mass[part] / mass[part].sum()
        assert fits(total[part], p) > ALARM
        np.testing.assert_allclose(squares[part] / 4000 - (total[part] / 4000) ** 2, records * p * (1 - p), rtol=0.12)


def test_urn_is_dirichlet_multinomial() -> None:
    """Number of different draws of one urn over two colours against the exact law; false alarms one in ten thousand."""
    rng = np.random.default_rng(16)
    draws, prior, colours = 5, 0.7, 2
    first = []
    for _ in range(6000):
        origin, _ = synthesis.urn(np.array([draws]), np.array([prior * colours]), rng)
        colour = rng.integers(0, colours, draws)[origin]
        first.append(np.count_nonzero(colour == 0))
    law = stats.betabinom.pmf(np.arange(draws + 1), draws, prior, prior)
    assert fits(np.bincount(first, minlength=draws + 1), law) > ALARM


@pytest.mark.parametrize("counts", [(3, 2), (9, 4), (2, 30)])
def test_scatter_is_dirichlet_multinomial_by_urn_and_by_weights(counts: tuple[int, int]) -> None:
    """The count of one place in each of two groups of 4 and 5 places against the exact law, for few draws (urn), many
    (weights) and one of each; false alarms twice in ten thousand."""
    rng = np.random.default_rng(17)
    prior, sizes, starts = 0.7, np.array([4, 5]), np.array([10, 20])
    held = []
    for _ in range(5000):
        places_drawn, numbers = synthesis.scatter(np.array(counts), starts, sizes, prior, rng, block=4)
        assert (np.diff(places_drawn) > 0).all()
        assert numbers.min() > 0
        assert numbers[places_drawn < 20].sum() == counts[0]
        assert numbers[places_drawn >= 20].sum() == counts[1]
        full = dict(zip(places_drawn.tolist(), numbers.tolist(), strict=True))
        assert set(full) <= {10, 11, 12, 13, 20, 21, 22, 23, 24}
        held.append((full.get(12, 0), full.get(24, 0)))
    for column, (draws, size) in enumerate(zip(counts, sizes, strict=True)):
        law = stats.betabinom.pmf(np.arange(draws + 1), draws, prior, prior * (size - 1))
        assert fits(np.bincount([h[column] for h in held], minlength=draws + 1), law) > ALARM


def test_prior_keeps_its_promise() -> None:
    """The tail is δ at the chosen prior and above it just below; the exact law agrees; other records make it rarer."""
    epsilon, delta, records, cells = 2.0, 1e-4, 500, 50
    prior = synthesis.prior_for(epsilon, delta, records, cells)
    assert synthesis.excess(epsilon, prior, records, cells) <= delta
    limit = math.expm1(epsilon) * prior
    exact = stats.betabinom.sf(math.floor(limit), records, prior + 1, prior * (cells - 1) + records - 1)
    assert synthesis.excess(epsilon, prior, records, cells) == pytest.approx(exact, rel=1e-6)
    for others in (1, 3, 10, 50):
        assert synthesis.excess(epsilon, prior, records, cells, others) <= delta
    for fewer in (1, 10, 100, 400):
        assert synthesis.excess(epsilon, prior, fewer, cells) <= delta
    assert synthesis.prior_for(8.6, 1e-5, 30_000, 4001) < prior < synthesis.prior_for(0.1, 1e-5, 500, 50)
