"""The matrix mechanisms, Privelet and NoiseFirst against dense matrices, the paper's own weights, and all partitions."""

from __future__ import annotations

import math

import numpy as np
import pytest

import dpbench
from dpbench.data import Contingency
from dpbench.mechanisms.histograms import _strategy as strategies
from dpbench.mechanisms.histograms._merging import best_buckets
from dpbench.numerics import toeplitz

from naive import histograms as naive
from support.recording import Recording


def data_of(counts: np.ndarray) -> Contingency:
    cells = np.flatnonzero(counts)
    return Contingency(cells, counts[cells].astype(np.int64), counts.size)


# p-Identity.


@pytest.mark.parametrize("workload", strategies.WORKLOADS)
@pytest.mark.parametrize("seed", range(4))
def test_objective_and_gradient_are_those_of_the_dense_definition(workload: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(2, 14)), int(rng.integers(1, 5))
    theta = rng.random((p, n)) * rng.integers(0, 2, (p, n))
    queries = naive.workload(n, workload)
    np.testing.assert_allclose(strategies.gram_times(theta, workload), theta @ queries.T @ queries, atol=1e-9)
    assert strategies.PIdentity(theta).error(workload) == pytest.approx(naive.strategy_error(theta, queries), rel=1e-9)
    gradient = strategies._error(theta, workload)[1]
    for i, j in [(0, 0), (p - 1, n - 1), (0, n // 2)]:
        step = np.zeros((p, n))
        step[i, j] = 1e-6
        ends = [strategies.PIdentity(theta + step * side).error(workload) for side in (-1, 1)]
        assert gradient[i, j] == pytest.approx((ends[1] - ends[0]) / 2e-6, rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("n", [1, 2, 7, 40, 60])
def test_one_individual_moves_a_strategy_by_one_and_the_estimate_is_least_squares(n: int) -> None:
    rng = np.random.default_rng(n)
    for workload in strategies.WORKLOADS:
        strategy = strategies.best_strategy(n, workload)
        assert (strategy.theta >= 0).all()
        matrix = naive.strategy_matrix(strategy.theta)
        np.testing.assert_allclose(np.abs(matrix).sum(axis=0), 1, rtol=1e-12)
        counts, noisy = rng.integers(0, 50, n), rng.normal(0, 9, len(matrix))
        np.testing.assert_allclose(strategy.answers(counts), matrix @ counts, rtol=1e-12, atol=1e-12)
        expected = np.linalg.lstsq(matrix, noisy, rcond=None)[0]
        np.testing.assert_allclose(strategy.estimate(noisy), expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("workload", strategies.WORKLOADS)
@pytest.mark.parametrize("n", [46, 64])
def test_strategy_is_better_than_cells_and_tree_and_as_good_as_from_random_starts(workload: str, n: int) -> None:
    """Within 2 % of the best of three random starts, which the paper uses."""
    best = strategies.best_strategy(n, workload).error(workload)
    queries = naive.workload(n, workload)
    assert best < 0.95 * (queries**2).sum()
    tree = strategies.tree_rows(n)
    assert best < 0.9 * naive.strategy_error(tree, queries)
    rng = np.random.default_rng(n)
    others = [naive.descend(rng.random(tree.shape), queries) for _ in range(3)]
    assert best < 1.02 * min(others)
    assert min(others) < 1.1 * best, "the naive descent has not come down, and says nothing"


def test_for_few_cells_a_strategy_is_never_worse_than_the_cells_alone() -> None:
    for n in (1, 2, 3, 8, 16):
        for workload in strategies.WORKLOADS:
            cells = (naive.workload(n, workload) ** 2).sum()
            assert strategies.best_strategy(n, workload).error(workload) <= cells * (1 + 1e-12)


def test_p_identity_has_the_squared_error_that_its_strategy_promises() -> None:
    """All ranges of 60 cells: 2/ε² tr((AᵀA)⁻¹WᵀW). Four standard errors over 400 releases: false-alarm rate 6e-5."""
    n, epsilon = 60, 0.5
    data, mechanism, rng = data_of(np.arange(n)), dpbench.mechanism("p_identity"), np.random.default_rng(1)
    queries = naive.workload(n, "ranges")
    errors = [
        np.square(queries @ (mechanism.release(data, epsilon, rng).weights - np.arange(n))).sum() for _ in range(400)
    ]
    promised = 2 / epsilon**2 * strategies.best_strategy(n, "ranges").error("ranges")
    assert abs(np.mean(errors) - promised) < 4 * np.std(errors) / math.sqrt(400)


def test_large_domains_are_refused_with_the_reason() -> None:
    data = Contingency.from_dict({3: 10}, size=10**12)
    for name in ("p_identity", "sqrt_matrix", "privelet", "noise_first"):
        assert "publishes all 1,000,000,000,000 cells of the domain, and at most" in dpbench.mechanism(name).unfit(data)


# The square root of all prefix sums.


@pytest.mark.parametrize("n", [1, 2, 9, 64])
def test_square_root_is_one(n: int) -> None:
    root = naive.toeplitz(toeplitz.root(n))
    np.testing.assert_allclose(root @ root, np.tril(np.ones((n, n))), atol=1e-12)
    np.testing.assert_allclose(naive.toeplitz(toeplitz.inverse_root(n)) @ root, np.eye(n), atol=1e-12)
    assert toeplitz.root(n)[-1] == pytest.approx(math.comb(2 * n - 2, n - 1) / 4 ** (n - 1))
    assert toeplitz.column_norm(toeplitz.root(n)) == pytest.approx(np.linalg.norm(root, axis=0).max())


def test_products_by_fourier_transform_are_the_direct_ones() -> None:
    rng = np.random.default_rng(0)
    for n in (toeplitz.DIRECT + 1, 1500):
        vector = rng.integers(0, 1000, n)
        direct = np.convolve(toeplitz.root(n), vector)[:n]
        np.testing.assert_allclose(toeplitz.times(toeplitz.root(n), vector), direct, rtol=1e-10, atol=1e-8)


@pytest.mark.parametrize("n", [5, 700])
def test_sqrt_matrix_is_the_factorisation_and_its_sensitivity_the_longest_column(n: int) -> None:
    counts = np.random.default_rng(n).integers(0, 9, n)
    silent, noise = Recording(1, silent=True), Recording(1)
    mechanism = dpbench.mechanism("sqrt_matrix", delta=1e-5)
    np.testing.assert_allclose(mechanism.publish(data_of(counts), 0.5, silent).weights, counts, atol=1e-8)
    release = mechanism.publish(data_of(counts), 0.5, noise)
    root = naive.toeplitz(toeplitz.root(n))
    np.testing.assert_allclose(noise.steps[0].values, root @ counts, atol=1e-8)
    drawn = Recording(1).gaussian(root @ counts, sigma=noise.steps[0].scale, step="strategy")
    np.testing.assert_allclose(np.cumsum(release.weights), root @ drawn, rtol=1e-7, atol=1e-6)
    from dpbench.numerics.gaussian import analytic_sigma

    assert noise.steps[0].scale == pytest.approx(analytic_sigma(0.5, 1e-5) * np.linalg.norm(root[:, 0]))


def test_errors_of_sqrt_matrix_are_the_stated_ones() -> None:
    """Of cells, in closed form; of the last prefix, σ₁ ‖C‖². Four standard errors over 500 releases: false alarm 1.2e-4."""
    n, mechanism, rng = 64, dpbench.mechanism("sqrt_matrix"), np.random.default_rng(2)
    data = data_of(np.arange(n))
    off = np.array([mechanism.release(data, 1.0, rng).weights - np.arange(n) for _ in range(500)])
    cells = np.abs(off).mean(axis=1)
    assert abs(cells.mean() - mechanism.expected_error(data, 1.0)) < 4 * cells.std() / math.sqrt(500)
    from dpbench.numerics.gaussian import analytic_sigma

    squared = off.sum(axis=1) ** 2
    promised = (analytic_sigma(1.0, 1e-6) * (toeplitz.root(n) ** 2).sum()) ** 2
    assert abs(squared.mean() - promised) < 4 * squared.std() / math.sqrt(500)


def test_a_budget_in_rho_is_spent_exactly() -> None:
    data, mechanism = data_of(np.arange(20)), dpbench.mechanism("sqrt_matrix")
    release = mechanism.release(data, "rho=0.1", 3)
    norm = toeplitz.column_norm(toeplitz.root(20))
    assert norm**2 / (2 * release.chosen["sigma"] ** 2) == pytest.approx(0.1, rel=1e-6)


# Privelet.


@pytest.mark.parametrize("n", [2, 8, 16, 13])
def test_privelet_is_the_paper_with_its_weights(n: int) -> None:
    """Half differences of means with Lap(Δ/(ε W)), W the weights of the paper; the domain is padded with zeros."""
    counts = np.random.default_rng(n).integers(0, 20, n)
    noise = Recording(4)
    release = dpbench.mechanism("privelet").publish(data_of(counts), 0.7, noise)
    height = math.ceil(math.log2(n))
    assert noise.steps[0].scale == (1 + height) / 0.7
    drawn = release.weights - noise.steps[0].values
    padded = np.concatenate([counts, np.zeros(2**height - n)])
    cells = naive.privelet(padded, n, iter(drawn.tolist()))
    # A range that ends with the domain ends with the padding, which needs fewer coefficients.
    expected = [*cells[: n - 1], cells[n - 1 :].sum()]
    np.testing.assert_allclose(release.sum(np.arange(n), np.arange(1, n + 1)), expected, atol=1e-9)
    np.testing.assert_allclose(release.sum(1, n), cells[1:].sum(), atol=1e-9)


# NoiseFirst.


@pytest.mark.parametrize("n", [1, 2, 3, 6, 10])
def test_buckets_are_the_best_of_all_partitions(n: int) -> None:
    for seed in range(30):
        rng = np.random.default_rng(seed)
        values = rng.integers(0, 9, n) + rng.laplace(0, 2, n)
        for price in (0.5, 8.0, 200.0):
            assert best_buckets(values, price).tolist() == naive.best_buckets(values, price)


def test_noise_first_averages_noisy_counts_and_estimates_its_error_without_bias() -> None:
    """For fixed buckets E - 2 (n - 2B)/ε² has the mean of the squared error: four standard errors, false alarm 6e-5."""
    counts = np.repeat([4, 0, 9, 1], 16)
    noise = Recording(6)
    release = dpbench.mechanism("noise_first").publish(data_of(counts), 0.5, noise)
    assert (noise.steps[0].scale, release.chosen["buckets"]) == (2.0, len(np.unique(release.weights)))
    noisy = Recording(6).laplace(counts, scale=2.0, step="cells")
    starts = naive.starts_of(release.weights)
    np.testing.assert_allclose(release.weights, naive.bucket_means(noisy, starts))
    rng, differences = np.random.default_rng(1), []
    for _ in range(3000):
        noisy = counts + rng.laplace(0, 2, 64)
        merged = naive.bucket_means(noisy, [0, 20, 40])
        estimated = ((merged - noisy) ** 2).sum() - 2 * (64 - 2 * 3) / 0.5**2
        differences.append(estimated - ((merged - counts) ** 2).sum())
    assert abs(np.mean(differences)) < 4 * np.std(differences) / math.sqrt(3000)


def test_noise_first_helps_where_neighbours_are_alike() -> None:
    data, rng, errors = data_of(np.repeat([40, 0, 90, 10], 64)), np.random.default_rng(1), {}
    for name in ("noise_first", "geometric"):
        mechanism = dpbench.mechanism(name)
        off = [mechanism.release(data, 0.5, rng).weights - np.repeat([40, 0, 90, 10], 64) for _ in range(20)]
        errors[name] = np.abs(off).mean()
    assert errors["noise_first"] < 0.8 * errors["geometric"]
