"""The kernels and closed forms under fpa, gs_r, gs_s and gs. Exact, but for the uniformity of samples.

The test of uniformity raises a false alarm with probability 1e-6, at a fixed seed.
"""

from __future__ import annotations

import decimal
import math

import numpy as np
import pytest
from scipy import stats

from dpbench.mechanisms.baselines._fourier import coefficients, dropped_energy, mean_squared_errors, noise_scale
from dpbench.mechanisms.gs._grouping import averages_of, group_ids, group_sums, spread
from dpbench.mechanisms.gs._sampling import ones_of, row_rate, sample_columns
from dpbench.mechanisms.gs._tuning import estimated_l1, tuning_curve, tuning_curve_direct
from dpbench.privacy import Noise

from naive import gs as naive

SHAPES = {
    "normal": lambda rng, d: rng.normal(size=d),
    "ties": lambda rng, d: rng.integers(-3, 4, d).astype(float),
    "all equal": lambda rng, d: np.full(d, -7.0),
    "heavy tails": lambda rng, d: rng.standard_cauchy(d) ** 3,
    "one outlier": lambda rng, d: np.append(rng.normal(size=d - 1), 1e9),
    "mostly zero": lambda rng, d: np.where(rng.random(d) < 0.1, rng.exponential(50, d), 0.0),
    "all negative": lambda rng, d: -rng.exponential(size=d) - 100,
    "far from zero": lambda rng, d: 1e4 + rng.integers(0, 5, d),
}


class Replay:
    """Stands for a Laplace source: gives out the noise that the kernel draws, the difference of two exponentials."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def __call__(self, place: str, scale: float) -> float:
        return scale * (self.rng.standard_exponential() - self.rng.standard_exponential())


@pytest.mark.parametrize("d", [1, 2, 3, 8, 13, 29, 60])
@pytest.mark.parametrize("shape", SHAPES)
def test_tuning_curve_is_the_pseudocode_under_the_same_noise(shape, d):
    for seed, scale in enumerate((1e-3, 1.0, 30.0)):
        estimate = np.sort(SHAPES[shape](np.random.default_rng(seed), d))
        lap = Replay(seed)
        expected = [
            naive.simulated_l1(estimate.tolist(), list(range(d)), w, scale / 2, 1.0, lap) for w in range(1, d + 1)
        ]
        # Rounding is of the size of the values, which the pseudocode does not centre.
        tolerance = 1e-9 * np.maximum(expected, 1e-5 * np.abs(estimate).sum() + 1e-300)
        for curve in (tuning_curve, tuning_curve_direct):
            ours = curve(estimate, scale, np.random.default_rng(seed))
            assert np.all(np.abs(ours - expected) <= tolerance)
            assert np.argmin(ours) == np.argmin(expected)


@pytest.mark.parametrize("shape", SHAPES)
def test_tuning_curve_is_the_direct_one_where_batches_and_buckets_are_many(shape):
    for d in (1009, 1500):
        estimate = np.sort(SHAPES[shape](np.random.default_rng(d), d))
        for scale in (1e-2, 5.0, 1e4):
            fast = tuning_curve(estimate, scale, np.random.default_rng(1))
            direct = tuning_curve_direct(estimate, scale, np.random.default_rng(1))
            np.testing.assert_allclose(fast, direct, rtol=1e-9, atol=1e-14 * np.abs(estimate).sum())
            assert np.argmin(fast) == np.argmin(direct)


def test_the_noise_of_the_curve_is_laplace():
    """At w = 1 the L1 is the sum of d values |Lap(scale)|: mean d scale, within five standard deviations."""
    estimate, scale = np.zeros(40000), 3.0
    at_one = estimated_l1(estimate, 1, scale, np.random.default_rng(2))
    in_curve = tuning_curve(estimate, scale, np.random.default_rng(3))[0]
    for l1 in (at_one, in_curve):
        assert abs(l1 / (scale * estimate.size) - 1) < 5 / math.sqrt(estimate.size)


def test_inputs_stay_as_they_are():
    estimate = np.sort(np.random.default_rng(0).normal(size=50))
    estimate.setflags(write=False)
    copy = estimate.copy()
    tuning_curve(estimate, 1.0, np.random.default_rng(0))
    assert np.array_equal(estimate, copy)


@pytest.mark.parametrize(("d", "w"), [(1, 1), (13, 4), (13, 13), (13, 7), (12, 4), (12, 1), (20, 6)])
def test_groups_and_averages(d, w):
    rng = np.random.default_rng(d * w)
    order, counts = rng.permutation(d), rng.integers(0, 9, d)
    g = naive.groups(order.tolist(), w)
    sizes = np.bincount(group_ids(d, w))
    assert sizes.tolist() == [len(group) for group in g] == [w] * (d // w - 1) + [w + d % w]
    averages = naive.average(counts.tolist(), g)
    np.testing.assert_allclose(averages_of(counts[order], group_ids(d, w)), averages, rtol=1e-14)
    sums, found = group_sums(counts, order, w)
    assert found.tolist() == sizes.tolist()
    np.testing.assert_allclose(spread(sums / sizes, sizes, order), naive.spread(averages, g, d), rtol=1e-14)


def test_row_rate_has_the_papers_values():
    """facts: Trajectory 3.5e-3 / 2e-9 / 6e-14; Document at most 2e-11."""
    assert row_rate(0.1, 55) == pytest.approx(3.5e-3, rel=0.01)
    assert row_rate(math.log(2), 55) == pytest.approx(2.2e-9, rel=0.01)
    assert row_rate(math.log(3), 55) == pytest.approx(5.5e-14, rel=0.01)
    assert row_rate(0.1, 436) < 2e-11


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, math.log(2), math.log(3), 10.0, 800.0])
@pytest.mark.parametrize("delta", [1, 2, 7, 55, 436, 2175, 17000])
def test_row_rate_neither_overflows_nor_loses_digits(epsilon, delta):
    """Against 60 decimal digits; and β ≤ 1/Δ, the conclusion of Formula 18."""
    with decimal.localcontext(decimal.Context(prec=60, Emax=10**9, Emin=-(10**9))):
        half = decimal.Decimal(epsilon) / 2
        exact = (half.exp() - 1) / ((half * delta).exp() - 1)
    rate = row_rate(epsilon, delta)
    assert rate == pytest.approx(float(exact), rel=1e-11, abs=1e-300)
    assert 0 <= rate <= (1 + 1e-12) / delta


def random_csr(rng, n, d):
    rows = [np.sort(rng.choice(d, rng.integers(0, 5), replace=False)) for _ in range(n)]
    indptr = np.concatenate([[0], np.cumsum([row.size for row in rows])])
    return rows, indptr, np.concatenate(rows).astype(np.int32)


def test_column_sample_takes_one_of_each_row_that_has_any():
    rng = np.random.default_rng(4)
    for n in (1, 5, 255, 256, 257, 1000):
        rows, indptr, indices = random_csr(rng, n, 9)
        chosen = sample_columns(indptr, indices, rng)
        filled = [row for row in rows if row.size]
        assert chosen.size == len(filled)
        assert all(column in row for column, row in zip(chosen, filled, strict=True))
    empty = sample_columns(np.zeros(4, dtype=np.int64), np.empty(0, dtype=np.int32), rng)
    assert empty.size == 0


def test_column_sample_is_uniform_in_the_row():
    rng = np.random.default_rng(5)
    n = 60000
    indptr, indices = np.arange(0, 5 * n + 1, 5), np.tile(np.array([0, 2, 3, 5, 8], dtype=np.int32), n)
    seen = np.bincount(sample_columns(indptr, indices, rng), minlength=9)[[0, 2, 3, 5, 8]]
    assert stats.chisquare(seen).pvalue > 1e-6


def test_row_sample_is_of_whole_rows():
    rng = np.random.default_rng(6)
    rows, indptr, indices = random_csr(rng, 300, 9)
    for rate in (0.0, 0.02, 0.5, 1.0):
        chosen = Noise(rng).rows(300, rate=rate)
        assert np.unique(chosen).size == chosen.size
        expected = np.concatenate([rows[i] for i in chosen]) if chosen.size else np.empty(0)
        assert np.array_equal(ones_of(indptr, indices, chosen), expected)


@pytest.mark.parametrize("d", [1, 2, 3, 4, 7, 12])
def test_fourier_errors_are_those_of_the_definition(d):
    counts = np.random.default_rng(d).integers(0, 50, d)
    dropped = dropped_energy(np.fft.rfft(counts), d)
    ours = mean_squared_errors(dropped, d, math.sqrt(3), 0.7)
    expected = [naive.fpa_mse(counts.tolist(), 3, 0.7, rho) for rho in range(1, coefficients(d) + 1)]
    np.testing.assert_allclose(ours, expected, rtol=1e-9)


def test_fourier_noise_is_the_corrected_formula():
    """λ = √(ρ d Δ)/ε, and the variance 2λ²(1 + 4(ρ - 1))/d² of erratum 3."""
    d, delta, epsilon = 101, 7, 0.3
    errors = mean_squared_errors(np.zeros(coefficients(d)), d, math.sqrt(delta), epsilon)
    for rho in (1, 2, 9, 51):
        scale = math.sqrt(rho * d * delta) / epsilon
        assert noise_scale(rho, d, math.sqrt(delta), epsilon) == pytest.approx(scale, rel=1e-14)
        assert errors[rho - 1] == pytest.approx(2 * scale**2 * (1 + 4 * (rho - 1)) / d**2, rel=1e-12)
