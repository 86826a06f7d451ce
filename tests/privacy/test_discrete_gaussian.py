"""The discrete Gaussian: its distribution in both forms, its cost, and the mechanism's accounting by zCDP."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

import dpbench
from dpbench import Incidence
from dpbench.errors import UserError
from dpbench.numerics.gaussian import zcdp_rho
from dpbench.privacy import Noise
from dpbench.privacy.discrete_gaussian import DiscreteGaussianStep


@pytest.mark.parametrize("form", ["float", "exact"])
@pytest.mark.parametrize("sigma", [0.3, 1.0, 7.5])
def test_noise_follows_its_law(form: str, sigma: float) -> None:
    """Chi-square over 40000 draws: false-alarm rate 1e-5."""
    noise = Noise(np.random.default_rng(5), form).discrete_gaussian(np.full(40000, 3), sigma=sigma) - 3
    assert np.array_equal(noise, np.rint(noise))
    x = np.arange(-math.ceil(9 * sigma), math.ceil(9 * sigma) + 1)
    mass = np.exp(-(x**2) / (2 * sigma**2))
    expected = 40000 * mass / mass.sum()
    seen = np.array([(noise == value).sum() for value in x])
    assert seen.sum() == 40000
    rare = expected < 8
    pooled = [np.append(values[~rare], values[rare].sum()) for values in (seen, expected)]
    assert stats.chisquare(*pooled).pvalue > 1e-5


def test_cost_is_that_of_zcdp_for_whole_numbers_only() -> None:
    values, parameters = np.array([3.0, 5.0, 0.0]), {"sigma": np.array(2.0)}
    assert DiscreteGaussianStep.cost(values, values + np.array([1, 0, 1]), parameters).squared == pytest.approx(2 / 4)
    assert DiscreteGaussianStep.cost(values, values, parameters).squared == 0
    assert DiscreteGaussianStep.cost(values, values + np.array([0.5, 0, 0]), parameters).pure == math.inf


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-6), (1.0, 1e-6), (2.0, 0.01)])
def test_one_count_is_private_by_summing_over_all_outputs(epsilon: float, delta: float) -> None:
    """The exact δ of one count that moves by one, by brute force."""
    sigma = dpbench.mechanism("discrete_gaussian", bound=1, delta=delta).sigma(
        Incidence.from_rows([[0]], columns=1).item_columns(), epsilon
    )
    x = np.arange(-math.ceil(40 * sigma), math.ceil(40 * sigma) + 1.0)
    mass = np.exp(-(x**2) / (2 * sigma**2))
    mass /= mass.sum()
    assert np.maximum(0, mass[1:] - math.exp(epsilon) * mass[:-1]).sum() <= delta
    assert np.maximum(0, mass[1:] - math.exp(0.8 * epsilon) * mass[:-1]).sum() > delta / 10


def test_a_budget_in_rho_is_spent_exactly() -> None:
    data = Incidence.from_rows([[0, 2], [1, 2, 3], [2]], columns=4)
    mechanism = dpbench.mechanism("discrete_gaussian", bound=3)
    release = mechanism.release(data, "rho=0.2", 7)
    assert 3 / (2 * release.chosen["sigma"] ** 2) == pytest.approx(0.2, rel=1e-6)
    assert np.array_equal(release.counts, np.rint(release.counts))
    spent = mechanism.release(data, 0.5, 7).chosen["sigma"]
    assert 3 / (2 * spent**2) == pytest.approx(zcdp_rho(0.5, 1e-6), rel=1e-9)


@pytest.mark.parametrize("form", ["float", "exact"])
def test_noise_beyond_what_is_exact_is_refused_in_both_forms(form: str) -> None:
    """At the limit the spread is right; the standard error of 4000 draws is 1.1 %, so a false alarm is below 1e-5."""
    noise = Noise(np.random.default_rng(5), form)
    assert abs(noise.discrete_gaussian(np.zeros(4000), sigma=2.0**46).std() / 2.0**46 - 1) < 0.05
    for sigma in (2.0**46 * (1 + 1e-15), 2.0**63, math.inf):
        with pytest.raises(UserError, match=r"is too large for whole noise: expected at most 7\.037e\+13"):
            noise.discrete_gaussian(np.zeros(3), sigma=sigma)
