"""`knorm_counts`, `gaussian_correlated` and `zero`: closed forms, the law of the noise, and cover of every row."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

import dpbench
from dpbench import Incidence, Records
from dpbench.errors import UserError
from dpbench.numerics.gaussian import analytic_sigma
from dpbench.tasks.base import TASKS

from naive import columns as naive

LEVEL = 1e-4
"""False-alarm rate of each statistical test here; seeds are fixed."""


def empty(d: int) -> Incidence:
    return Incidence.from_rows([], columns=d)


def noise_of(mechanism, d, epsilon, trials, seed):
    rng, data = np.random.default_rng(seed), empty(d)
    return np.array([mechanism.release(data, epsilon, rng).counts for _ in range(trials)])


def errors_of(mechanism, d, epsilon, trials, seed):
    """The mean absolute error of each release."""
    rng, data = np.random.default_rng(seed), empty(d)
    return np.array([np.abs(mechanism.release(data, epsilon, rng).counts).mean() for _ in range(trials)])


@pytest.mark.parametrize(("d", "seed"), [(200, 1), (2000, 2)])
def test_knorm_error_is_its_closed_form_and_beats_linf(d, seed):
    """The error of a release varies by 22 % of its mean, so 1 % is more than five standard errors: false alarms below
    1e-6. Radii of Gamma(d) or j from 0 to d - 1 are within 1 % at d = 200, so the norm is tested below."""
    epsilon, data = 0.5, empty(d)
    mechanism = dpbench.mechanism("knorm_counts")
    errors = errors_of(mechanism, d, epsilon, 14_000, seed)
    assert errors.mean() == pytest.approx((d + 2) / (3 * epsilon), rel=0.01)
    assert mechanism.expected_error(data, epsilon) == pytest.approx((d + 2) / (3 * epsilon))
    linf = errors_of(dpbench.mechanism("linf"), d, epsilon, 300, seed)
    assert errors.mean() < 0.7 * linf.mean()


def test_knorm_has_less_error_than_linf_from_two_columns_on():
    knorm, linf = dpbench.mechanism("knorm_counts"), dpbench.mechanism("linf")
    assert knorm.expected_error(empty(1), 1.0) == linf.expected_error(empty(1), 1.0) == 1
    for d, epsilon in itertools.product((2, 3, 10, 10**6), (0.01, 1.0, 7.0)):
        assert knorm.expected_error(empty(d), epsilon) < linf.expected_error(empty(d), epsilon)


@pytest.mark.parametrize("d", [1, 2, 4])
def test_knorm_noise_has_the_law_of_its_density(d):
    """‖z‖ of a density ∝ exp(-ε ‖z‖) is Gamma(d, 1/ε); single numbers, sums and squares against the naive sampler."""
    noise = noise_of(dpbench.mechanism("knorm_counts"), d, 0.5, 6000, 3)
    norm = [naive.counts_norm(z) for z in noise]
    assert stats.kstest(norm, stats.gamma(d, scale=2).cdf).pvalue > LEVEL
    rng = np.random.default_rng(4)
    other = np.array([naive.counts_noise(d, 0.5, rng) for _ in range(6000)])
    for look in (lambda z: z[:, 0], lambda z: z.sum(axis=1), lambda z: z.max(axis=1), lambda z: (z > 0).sum(axis=1)):
        assert stats.ks_2samp(look(noise), look(other)).pvalue > LEVEL
    # The mean square (d+2)(d+3)/6ε², within four standard errors.
    squares = (noise**2).mean(axis=1)
    assert abs(squares.mean() - (d + 2) * (d + 3) / (6 * 0.25)) < 4 * squares.std() / math.sqrt(6000)


def deviations(d, epsilon, **parameters):
    mechanism = dpbench.mechanism("gaussian_correlated", **parameters)
    return mechanism.deviations(empty(d), epsilon)


@pytest.mark.parametrize("d", [1, 2, 3, 5, 9, 12])
def test_correlated_noise_covers_every_row_and_just_so(d):
    """Exactly: x' Σ⁻¹ x ≤ 1/σ² for all rows of at most k ones, and equal for some. (Above the cap k' there is no row
    with k' ones where k' is no whole number; then rows come near it.)"""
    sigma = analytic_sigma(1.0, 1e-6)
    for k in [*range(1, d + 1), None]:
        own, shared = deviations(d, 1.0, bound=k)
        covariance = own**2 * np.eye(d) + shared**2 * np.ones((d, d))
        if d > 1:
            np.testing.assert_allclose(covariance, naive.correlated_covariance(d, k or d, sigma), atol=1e-9 * own**2)
        inverse = np.linalg.inv(covariance)
        reach = [
            x @ inverse @ x * sigma**2
            for size in range(1, (k or d) + 1)
            for x in [np.repeat([1.0, 0.0], [size, d - size])]  # columns are alike
        ]
        assert max(reach) <= 1 + 1e-9
        assert max(reach) > 0.93
        if k is not None and k <= (d + math.sqrt(d)) / 2:
            assert reach[k - 1] == pytest.approx(1)


@pytest.mark.parametrize("d", [2, 7, 100, 10_000])
def test_correlated_noise_without_a_bound_is_lebedas(d):
    """Z ~ N(0, σ² (√d + 1)/4) and Y ~ N(0, σ² (d + √d)/4): a quarter of (√d + 1)² σ² in all, where `gaussian` has d σ²."""
    sigma = analytic_sigma(0.5, 1e-5)
    own, shared = deviations(d, 0.5, delta=1e-5)
    assert own**2 == pytest.approx(sigma**2 * (d + math.sqrt(d)) / 4)
    assert shared**2 == pytest.approx(sigma**2 * (math.sqrt(d) + 1) / 4)
    assert deviations(d, 0.5, delta=1e-5, bound=d) == deviations(d, 0.5, delta=1e-5, bound=10 * d) == (own, shared)
    error = dpbench.mechanism("gaussian_correlated", delta=1e-5).expected_error(empty(d), 0.5)
    assert error == pytest.approx(sigma * (math.sqrt(d) + 1) / 2 * math.sqrt(2 / math.pi))
    declared = dpbench.mechanism("gaussian", delta=1e-5, bound=d).expected_error(empty(d), 0.5)
    assert error < declared


def test_a_bound_of_one_is_the_plain_gaussian():
    assert deviations(50, 1.0, bound=1) == pytest.approx((analytic_sigma(1.0, 1e-6), 0.0))


@pytest.mark.parametrize("bound", [None, 3, 10])
def test_correlated_noise_has_its_variances(bound):
    """Along the vector of ones and across it: chi-square of the mean squares, false-alarm rate 1e-4 each."""
    d, epsilon, trials = 30, 0.7, 4000
    noise = noise_of(dpbench.mechanism("gaussian_correlated", bound=bound), d, epsilon, trials, 5)
    expected = naive.correlated_covariance(d, bound or d, analytic_sigma(epsilon, 1e-6))
    ones = np.full(d, 1 / math.sqrt(d))
    across = noise - np.outer(noise @ ones, ones)
    for values, freedom, variance in (
        (noise @ ones, trials, ones @ expected @ ones),
        (across, trials * (d - 1), (np.trace(expected) - ones @ expected @ ones) / (d - 1)),
    ):
        total = float((values**2).sum()) / variance
        low, high = stats.chi2(freedom).ppf([LEVEL / 2, 1 - LEVEL / 2])
        assert low < total < high
    assert np.abs(noise).mean() == pytest.approx(
        dpbench.mechanism("gaussian_correlated", bound=bound).expected_error(empty(d), epsilon), rel=0.02
    )


def test_what_they_publish_and_refuse():
    data = Incidence.from_rows([[0, 1, 2], [1]], columns=4)
    rng = np.random.default_rng(6)
    knorm = dpbench.mechanism("knorm_counts").release(data, 1.0, rng)
    assert list(knorm.parts()) == ["counts"]  # never the radius
    correlated = dpbench.mechanism("gaussian_correlated").release(data, 1.0, rng)
    assert list(correlated.parts()) == ["counts", "chosen.sigma", "chosen.shared"]
    assert not dpbench.mechanism("gaussian_correlated").not_private()
    with pytest.raises(UserError, match="bound=2 is below the largest row 3"):
        dpbench.mechanism("gaussian_correlated", bound=2).release(data, 1.0, rng)
    repeated = Records.from_rows([[0, 0]], items=2)
    for name in ("knorm_counts", "gaussian_correlated"):
        with pytest.raises(UserError, match="more than once"):
            dpbench.mechanism(name).release(repeated, 1.0, rng)


def test_records_get_half_of_epsilon_and_of_delta_for_each_set_of_counts():
    data = Records.from_rows([[(0, 0), (1, 1)], [(2, 0)]], items=3, contexts=2, repeats=False)
    mechanism = dpbench.mechanism("gaussian_correlated", delta=1e-4)
    release = mechanism.release(data, 1.0, np.random.default_rng(7))
    halved = dpbench.mechanism("gaussian_correlated", delta=0.5e-4)
    for d, prefix in ((3, ""), (6, "edge_")):
        own, shared = halved.deviations(empty(d), 0.5)
        assert release.chosen[f"{prefix}sigma"] == pytest.approx(own)
        assert release.chosen[f"{prefix}shared"] == pytest.approx(shared)
    assert mechanism.expected_error(data, 1.0) == pytest.approx(halved.expected_error(empty(3), 0.5))
    assert dpbench.mechanism("knorm_counts").expected_error(data, 1.0) == pytest.approx(5 / 1.5)


def test_zero_publishes_zeros():
    data = Incidence.from_rows([[0, 1, 2], [1]], columns=4)
    release = dpbench.mechanism("zero").release(data, 1e-9, np.random.default_rng(8))
    assert release.published().tolist() == [0, 0, 0, 0]
    assert dpbench.mechanism("zero").expected_error(data, 1.0) == 1
    records = Records.from_rows([[(0, 0), (0, 1)], [(2, 0)]], items=3, contexts=2)
    release = dpbench.mechanism("zero").release(records, 1.0, np.random.default_rng(9))
    assert release.edges.shape == (3, 2)
    assert not release.published().any()


def test_zero_answers_nothing_of_a_histogram_of_any_size():
    """Its error is the true answer itself, and nothing of the size of the domain is written."""
    data = dpbench.Contingency.from_dict({3: 5, 10: 7, 10**12 - 1: 2}, size=10**12)
    release = dpbench.mechanism("zero").release(data, 1e-9, np.random.default_rng(8))
    task = TASKS.make("range_queries", share=0.5, queries=40)
    found = task.score(data, release, np.random.default_rng(0))
    assert found["abs_error"] == found["truth"] == pytest.approx(float(task.truth(data).mean()))
    assert found["share_dropping"] == pytest.approx(found["mse"])
    assert release.cells.size == 0
    assert dpbench.mechanism("zero").expected_error(data, 1.0) == 14 / 10**12
