"""The baselines of none of the five papers: noise by its closed forms, choices by exact enumeration, privacy by all rows."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import integrate, stats

import dpbench
from dpbench import Incidence
from dpbench.errors import UserError
from dpbench.mechanisms.baselines._topk import Joint, Peeling
from dpbench.numerics.gaussian import analytic_sigma, delta_of

from naive import modern as naive


def data_of(counts):
    """Rows of one cell each: these column counts."""
    rows = [[column] for column, count in enumerate(counts) for _ in range(count)]
    return Incidence.from_rows(rows, columns=len(counts))


COUNTS = [2, 7, 7, 3, 0, 6]
DATA = data_of(COUNTS)


def scale_is(noise, law, mean_size):
    """Shape by Kolmogorov-Smirnov, false-alarm rate 1e-4; mean size within four standard errors, 6e-5."""
    assert stats.kstest(noise, law.cdf).pvalue > 1e-4
    assert abs(np.abs(noise).mean() - mean_size) < 4 * np.abs(noise).std() / math.sqrt(len(noise))


def test_linf_noise_has_the_norm_and_the_direction_of_its_density():
    """|x|_∞ of a density ∝ exp(-ε |x|_∞) in d dimensions is Gamma(d, 1/ε), and x over it is uniform on the surface of
    the cube. False-alarm rates 1e-4 and 6e-5; 6000 norms see a factor 1.1 (of 1/√d) and a Gamma(d+1)."""
    mechanism, rng = dpbench.mechanism("linf"), np.random.default_rng(1)
    noise = np.array([mechanism.release(DATA, 0.5, rng).counts - COUNTS for _ in range(6000)])
    norm = np.abs(noise).max(axis=1)
    scale_is(norm, stats.gamma(6, scale=2), 12)
    at = np.abs(noise).argmax(axis=1)
    assert stats.chisquare(np.bincount(at, minlength=6)).pvalue > 1e-4
    others = np.array([np.delete(row, k)[0] for row, k in zip(noise, at, strict=True)]) / norm
    assert stats.kstest(others, stats.uniform(-1, 2).cdf).pvalue > 1e-4
    assert mechanism.expected_error(DATA, 0.5) == 7
    sizes = np.abs(noise).mean(axis=1)
    assert abs(sizes.mean() - 7) < 4 * sizes.std() / math.sqrt(6000)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-6), (1.0, 1e-5), (5.0, 1e-3), (1.0, 1e-9)])
def test_gaussian_noise_is_just_private_enough(epsilon, delta):
    """δ by integrating max(p - e^ε q, 0) over the two shifted normals, which knows nothing of the closed form."""
    sigma = analytic_sigma(epsilon, delta)
    start = sigma**2 * epsilon + 0.5  # where p = e^ε q
    excess = lambda x: stats.norm.pdf(x, 1, sigma) - math.exp(epsilon) * stats.norm.pdf(x, 0, sigma)  # noqa: E731
    spent, _ = integrate.quad(excess, start, start + 40 * sigma, epsabs=1e-14, limit=200)
    assert spent == pytest.approx(delta, rel=1e-4)
    assert delta_of(epsilon, sigma) == pytest.approx(delta, rel=1e-6)
    assert delta_of(epsilon, 0.99 * sigma) > delta
    if epsilon <= 1:
        assert sigma < math.sqrt(2 * math.log(1.25 / delta)) / epsilon  # the textbook's noise


def test_gaussian_noise_has_its_scale():
    data = Incidence.from_rows([range(4), [0], [1, 2]], columns=5)
    mechanism, rng = dpbench.mechanism("gaussian", delta=1e-5), np.random.default_rng(2)
    sigma = 2 * analytic_sigma(1.0, 1e-5)  # √Δ = 2
    noise = np.concatenate([mechanism.release(data, 1.0, rng).counts - data.counts for _ in range(2000)])
    scale_is(noise, stats.norm(scale=sigma), mechanism.expected_error(data, 1.0))
    assert mechanism.expected_error(data, 1.0) == pytest.approx(sigma * math.sqrt(2 / math.pi))
    assert mechanism.privacy == "(ε, δ)"


def assert_drawn(sequences, chances):
    """Chi-square; sequences expected fewer than 5 times are pooled. False-alarm rate 1e-4."""
    keys = list(chances)
    drawn = np.zeros(len(keys))
    place = {key: at for at, key in enumerate(keys)}
    for sequence in sequences:
        drawn[place[tuple(int(c) for c in sequence)]] += 1
    expected = np.array([chances[key] for key in keys]) * drawn.sum()
    rare = expected < 5
    observed, expected = np.append(drawn[~rare], drawn[rare].sum()), np.append(expected[~rare], expected[rare].sum())
    assert stats.chisquare(observed[expected > 0], expected[expected > 0]).pvalue > 1e-4


@pytest.mark.parametrize("k", [1, 2, 3])
def test_peeling_draws_each_sequence_with_its_probability(k):
    mechanism, rng = dpbench.mechanism("pf_peeling", k=k), np.random.default_rng(3)
    drawn = [mechanism.release(DATA, 1.5, rng).top for _ in range(8000)]
    assert_drawn(drawn, naive.peeling(COUNTS, k, 1.5))


@pytest.mark.parametrize("k", [1, 3, 6])
def test_joint_draws_each_sequence_with_its_probability(k):
    mechanism, rng = dpbench.mechanism("joint_topk", k=k), np.random.default_rng(4)
    drawn = [mechanism.release(DATA, 1.5, rng).top for _ in range(8000)]
    assert_drawn(drawn, naive.joint(COUNTS, k, 1.5))


def test_joint_knows_the_probability_of_every_loss():
    """Exactly, over random counts with ties."""
    rng = np.random.default_rng(5)
    for _ in range(20):
        counts, k = rng.integers(0, 8, 6).tolist(), int(rng.integers(1, 5))
        expected = np.zeros(max(counts) - min(counts) + 1)
        for sequence, chance in naive.joint(counts, k, 0.7).items():
            expected[naive.loss(counts, sequence)] += chance
        cumulated = Joint(np.arange(6), np.sort(counts)[::-1], k, 0.7).cumulated
        np.testing.assert_allclose(cumulated / cumulated[-1], np.cumsum(expected), rtol=1e-10)


@pytest.mark.parametrize(("chances", "slack"), [(naive.peeling, 0.5), (naive.joint, 0.4)])
def test_choices_are_private_for_every_added_row(chances, slack):
    """Exact: what we draw from moves by at most exp(ε) for any row of any size, and comes near it for some."""
    epsilon, worst = 1.0, 0.0
    for counts in ([0, 2, 2, 3], [1, 1, 1, 1], [5, 0, 0, 1]):
        before = chances(counts, 2, epsilon)
        for row in itertools.product((0, 1), repeat=4):
            after = chances([c + one for c, one in zip(counts, row, strict=True)], 2, epsilon)
            worst = max(worst, *(abs(math.log(after[s] / before[s])) for s in before))
    assert slack * epsilon < worst <= epsilon + 1e-9


def test_what_is_cut_off_is_never_chosen_anyway():
    """Far below the top, thousands of columns: same draws from the same noise, and the sure ones are found."""
    counts = np.concatenate([[10000, 9000, 8000], np.full(5000, 10)])
    order = np.arange(counts.size)
    rng = np.random.default_rng(6)
    for _ in range(50):
        assert Peeling(order, counts, 3, 3 / 1.0).draw(rng).tolist() == [0, 1, 2]
        assert Joint(order, counts, 3, 1.0).draw(rng).tolist() == [0, 1, 2]
    assert Joint(order, counts, 3, 1.0).cumulated.size < 200
    flat = np.full(5003, 7)
    for law in (Peeling(order, flat, 20, 20.0), Joint(order, flat, 20, 1.0)):
        assert np.unique(law.draw(rng)).size == 20


def test_equal_counts_have_equal_chances():
    """Chi-square over the columns; false-alarm rate 1e-4 each."""
    data, rng = data_of([3] * 8), np.random.default_rng(7)
    for name in ("pf_peeling", "joint_topk"):
        mechanism = dpbench.mechanism(name, k=2)
        drawn = np.concatenate([mechanism.release(data, 1.0, rng).top for _ in range(2000)])
        assert stats.chisquare(np.bincount(drawn, minlength=8)).pvalue > 1e-4


def test_a_million_columns_are_chosen_from():
    counts = np.sort(np.random.default_rng(8).zipf(1.6, 1_000_000).clip(max=200_000))[::-1]
    rng = np.random.default_rng(9)
    order = rng.permutation(counts.size)
    for law in (Peeling(order, counts, 100, 100.0), Joint(order, counts, 100, 1.0)):
        assert np.unique(law.draw(rng)).size == 100


def test_release_ranks_and_says_nothing_about_size():
    release = dpbench.mechanism("joint_topk", k=3).release(DATA, 1000.0, np.random.default_rng(10))
    assert set(release.top.tolist()) == {1, 2, 5}
    assert release.columns == 6
    assert not hasattr(release, "counts")
    assert list(release.parts()) == ["top", "chosen.k"]


@pytest.mark.parametrize("k", [1, 2, 3, 6])
def test_laws_know_the_probability_of_every_sequence(k):
    """Exactly, against the enumeration; their probabilities add up to 1, and what is no sequence has none."""
    order = np.argsort(-np.array(COUNTS), kind="stable")
    falling = np.array(COUNTS)[order]
    for law, chances in (
        (Peeling(order, falling, k, k / 1.5), naive.peeling(COUNTS, k, 1.5)),
        (Joint(order, falling, k, 1.5), naive.joint(COUNTS, k, 1.5)),
    ):
        found = {s: math.exp(law.log_probability(np.array(s))) for s in chances}
        assert found == pytest.approx(chances, rel=1e-10)
        assert math.fsum(found.values()) == pytest.approx(1)
        assert law.log_probability(np.array([0] * k)) == -math.inf or k == 1
        assert law.log_probability(np.array([9] * k)) == -math.inf


def test_a_law_that_cannot_say_says_why():
    wide = Peeling(np.arange(1000), np.full(1000, 3), 2, 2.0)
    with pytest.raises(NotImplementedError, match="up to 200 columns, but there are 1000"):
        wide.log_probability(np.array([0, 1]))


def test_what_does_not_fit_says_so():
    assert "cannot choose 7 columns" in dpbench.mechanism("pf_peeling", k=7).unfit(DATA)
    for name, parameters in (("joint_topk", {"k": 0}), ("gaussian", {"delta": 0}), ("gaussian", {"delta": 1.0})):
        with pytest.raises(UserError):
            dpbench.mechanism(name, **parameters)
    for name in ("linf", "pf_peeling", "joint_topk"):
        assert dpbench.mechanism(name).not_private() == ""
