"""gshm and stability_laplace: δ by summing over outcomes, errors by their closed form, releases by the naive version."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

import dpbench
from dpbench.data import Contingency
from dpbench.mechanisms.histograms import _stability as stability
from dpbench.numerics.gaussian import analytic_sigma
from dpbench.privacy._bounds import noise_scale

from naive import histograms as naive
from support.examples import contingency
from support.recording import Recording

TABLE = {2: 1, 3: 4, 11: 2, 12: 17, 13: 30, 29: 12, 40: 25}
DATA = Contingency.from_dict(TABLE, size=60)


def gaussian_brute_force(epsilon: float, sigma: float, tau: float, k: int) -> float:
    """Counts of 1, 3 and so many that the threshold is out of reach, in bins: fine ones, but for three cells."""
    far = math.ceil(2 + tau + 9 * sigma)
    per_sigma = {1: 400, 2: 40, 3: 8}[k]
    edges = np.arange(1 + tau, far + 9 * sigma, sigma / per_sigma)
    counts = (1, 3, far) if k < 3 else (far,)
    return naive.worst_delta(epsilon, k, stats.norm(scale=sigma).cdf, 1 + tau, edges, counts)


@pytest.mark.parametrize("k", [1, 2, pytest.param(3, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("sigma", "tau"),
    [(1.0, 3.0), (2.0, 3.0), (1.5, 1.0), (0.8, 0.5)],  # noise alone, threshold alone, and mixtures that are worst
)
def test_gshm_delta_is_that_of_all_outcomes(k: int, sigma: float, tau: float) -> None:
    epsilon = 1.0
    found = gaussian_brute_force(epsilon, sigma, tau, k)
    assert stability.gaussian_delta(epsilon, sigma, tau, k) == pytest.approx(found, rel=1e-3 if k < 3 else 1e-2)


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 0.01), (1.0, 1e-3), (3.0, 0.05)])
def test_gshm_spends_its_delta_and_no_more(epsilon: float, delta: float, k: int) -> None:
    sigma, tau = stability.gaussian_noise(epsilon, delta, k)
    assert gaussian_brute_force(epsilon, sigma, tau, k) == pytest.approx(delta, rel=2e-3)


def test_gshm_keeps_delta_over_many_budgets_and_needs_no_more_than_the_gaussian_mechanism() -> None:
    for epsilon in (0.05, 0.3, 1.0, 3.0, 8.0):
        for delta in (1e-9, 1e-6, 1e-3, 0.05):
            for k in (1, 2, 10, 300):
                sigma, tau = stability.gaussian_noise(epsilon, delta, k)
                assert stability.gaussian_delta(epsilon, sigma, tau, k) <= delta * (1 + 1e-8)
                plain = analytic_sigma(epsilon, delta) * math.sqrt(k)
                assert sigma == plain


def test_gshm_is_widened_where_its_delta_would_not_be_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """No such budget is known, so one is made up: a formula that gives a tenth more."""
    exact = stability.gaussian_delta
    monkeypatch.setattr(stability, "gaussian_delta", lambda *given: 1.1 * exact(*given))
    sigma, tau = stability.gaussian_noise(1.0, 1e-3, 3)
    assert 0.9e-3 > exact(1.0, sigma, tau, 3) > 0.7e-3


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 0.01), (1.0, 1e-4), (0.1, 0.3), (4.0, 0.9)])
def test_stability_laplace_delta_is_exact(epsilon: float, delta: float, k: int) -> None:
    """What is spent is what all outcomes add up to. Where δ is so large that the threshold would fall below a count of one,
    it stays there, and less is spent."""
    scale, tau = stability.laplace_noise(epsilon, delta, k)
    per_scale = {1: 200, 2: 20, 3: 2}[k]
    edges = np.concatenate([np.arange(1 + tau, 2 + tau + 20 * scale, scale / per_scale), [np.inf]])
    spent = naive.worst_delta(epsilon, k, stats.laplace(scale=scale).cdf, 1 + tau, edges, (1, math.ceil(5 * scale)))
    assert spent <= delta * (1 + 1e-9)
    if tau > 0:
        assert spent == pytest.approx(delta, rel=1e-9)


@pytest.mark.parametrize("k", [1, 2, 7])
@pytest.mark.parametrize(
    ("epsilon", "delta"), [(0.5, 0.01), (1.0, 1e-4), (0.1, 0.3), (4.0, 0.9), (0.3, 1e-6), (9.0, 1e-9)]
)
def test_exact_stability_laplace_keeps_delta_and_no_lower_threshold_does(epsilon: float, delta: float, k: int) -> None:
    """k counts of one stay hidden with probability 1 - δ or more, under noise in whole numbers."""
    scale, tau = stability.laplace_noise(epsilon, delta, k, "exact")
    law = stats.dlaplace(float(noise_scale(scale)) ** -1)
    assert tau == int(tau)
    shown = law.sf(tau)  # 1 + X > 1 + τ
    assert -math.expm1(k * math.log1p(-shown)) <= delta
    if tau > 0:
        assert -math.expm1(k * math.log1p(-law.sf(tau - 1))) > delta * (1 - 1e-6)


def test_exact_stability_laplace_has_the_error_of_its_law() -> None:
    """Over 400 releases of 150 counts; five standard errors are about 1.5 %."""
    data, mechanism = contingency(), dpbench.mechanism("stability_laplace")
    scale, tau = stability.laplace_noise(0.3, mechanism.delta, 1, "exact")
    noise = np.arange(-400, 401)
    chances = stats.dlaplace(1 / scale).pmf(noise)
    noisy = data.counts[:, None] + noise
    expected = np.where(noisy > 1 + tau, np.abs(noise), data.counts[:, None]) @ chances
    found = []
    for seed in range(400):
        release = mechanism.release(data, 0.3, np.random.default_rng(seed), noise="exact")
        full = np.zeros(data.size)
        full[release.cells] = release.weights
        found.append(np.abs(full[data.cells] - data.counts).mean())
    assert np.mean(found) == pytest.approx(expected.mean(), abs=5 * np.std(found) / 20)


@pytest.mark.parametrize("name", ["gshm", "stability_laplace"])
@pytest.mark.parametrize("transform", ["none", "dyadic"])
def test_error_is_the_closed_form(name: str, transform: str) -> None:
    """Mean over places and 2000 releases, within four standard errors: false-alarm rate 6e-5 each."""
    mechanism = dpbench.mechanism(name, delta=0.01, transform=transform)
    rng, table = np.random.default_rng(1), mechanism.table(DATA)
    truth = np.zeros(table.size)
    truth[table.places] = table.values
    every = np.arange(table.size)
    errors = [np.abs(mechanism.release(DATA, 0.7, rng).at(every) - truth).mean() for _ in range(2000)]
    expected = mechanism.expected_error(DATA, 0.7)
    assert abs(np.mean(errors) - expected) < 4 * np.std(errors) / math.sqrt(2000)
    assert 0.1 * np.mean(errors) > 4 * np.std(errors) / math.sqrt(2000)  # a tenth would be seen


@pytest.mark.parametrize("name", ["gshm", "stability_laplace"])
def test_release_is_that_of_the_naive_version(name: str) -> None:
    """The chance of each cell to be shown, and the values shown: 4000 releases of each, false-alarm rate 1e-4 a test."""
    mechanism, rng = dpbench.mechanism(name, delta=0.05), np.random.default_rng(2)
    first = mechanism.release(DATA, 0.5, rng).chosen
    draw = (lambda: rng.normal(0, first["sigma"])) if name == "gshm" else (lambda: rng.laplace(0, first["scale"]))
    ours = [mechanism.release(DATA, 0.5, rng) for _ in range(4000)]
    theirs = [naive.stable(TABLE, draw, first["tau"]) for _ in range(4000)]
    for cell in TABLE:
        shown = [sum(cell in r.cells for r in ours), sum(cell in t for t in theirs)]
        if min(shown) > 10 and max(shown) < 3990:
            assert stats.chi2_contingency([shown, [4000 - s for s in shown]]).pvalue > 1e-4
    values = [np.concatenate([r.weights for r in ours]), [v for t in theirs for v in t.values()]]
    assert stats.ks_2samp(*values).pvalue > 1e-4
    assert set(np.concatenate([r.cells for r in ours])) <= set(TABLE)


@pytest.mark.parametrize("name", ["gshm", "stability_laplace"])
def test_only_noisy_counts_decide(name: str) -> None:
    """With k cells, and over a tree, noise grows as the counts that one individual moves."""
    scales = []
    for parameters in ({}, {"k": 4}, {"transform": "dyadic"}):
        noise = Recording(silent=True)
        mechanism = dpbench.mechanism(name, **parameters)
        release = mechanism.publish(DATA, 1.0, noise)
        (step,) = noise.steps
        scales.append(step.scale)
        assert np.array_equal(step.values, mechanism.table(DATA).values)
        assert (release.weights > 1 + release.chosen["tau"]).all()
    growth = math.sqrt if name == "gshm" else float
    assert scales[1] / scales[0] == pytest.approx(growth(4))
    assert scales[2] / scales[0] == pytest.approx(growth(7))  # 64 leaves: seven levels
