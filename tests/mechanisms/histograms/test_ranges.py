"""hb and dawa: consistency by a dense solve, the partition by all partitions, its privacy by integration, and long ranges."""

from __future__ import annotations

import math

import numpy as np
import pytest

import dpbench
from dpbench.data import Contingency
from dpbench.mechanisms.histograms import _partition as partition
from dpbench.mechanisms.histograms import _tree as tree

from naive import histograms as naive
from support.recording import Recording


def data_of(counts: np.ndarray) -> Contingency:
    cells = np.flatnonzero(counts)
    return Contingency(cells, counts[cells].astype(np.int64), counts.size)


# The tree.


def test_shape_is_the_best_of_all() -> None:
    for n in [*range(1, 120), 255, 256, 257, 625, 1000, 1024, 3000]:
        assert tree.shape_for(n) == naive.best_shape(n)
    assert tree.shape_for(2**20)[1] >= 2


@pytest.mark.parametrize("seed", range(12))
def test_consistency_is_least_squares(seed: int) -> None:
    """Any number of leaves, any branching and height, any variances: also where the last nodes have fewer children."""
    rng = np.random.default_rng(seed)
    n, b = int(rng.integers(1, 70)), int(rng.integers(2, 9))
    h = int(rng.integers(1, 5))
    levels = [rng.normal(0, 10, level.size) for level in tree.sums(np.zeros(n), b, h)]
    variances = [rng.uniform(0.2, 5, level.size) for level in levels]
    np.testing.assert_allclose(
        tree.consistent(levels, variances, b), naive.least_squares(levels, variances, b), rtol=1e-9, atol=1e-9
    )


@pytest.mark.parametrize("n", [10, 46, 47, 100, 130])
def test_hb_is_the_naive_version_on_the_same_noise(n: int) -> None:
    counts = np.random.default_rng(n).integers(0, 9, n)
    noise, same = Recording(3), Recording(3)
    release = dpbench.mechanism("hb").publish(data_of(counts), 0.5, noise)
    b, h = naive.best_shape(n)
    noisy = []
    for level, (rows, step) in enumerate(zip(naive.tree_rows(n, b, h), noise.steps, strict=True)):
        np.testing.assert_array_equal(step.values, rows @ counts)
        assert step.scale == h / 0.5
        noisy.append(same.laplace(rows @ counts, scale=h / 0.5, step=f"level {level}"))
    expected = naive.least_squares(noisy, [np.ones(y.size) for y in noisy], b)
    np.testing.assert_allclose(release.weights, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("n", [30, 200])
def test_one_individual_moves_the_tree_by_epsilon(n: int) -> None:
    counts = np.random.default_rng(1).integers(0, 4, n)
    for cell in range(0, n, 7):
        steps = []
        for table in (counts, counts + (np.arange(n) == cell)):
            noise = Recording(2)
            dpbench.mechanism("hb").publish(data_of(table), 0.8, noise)
            steps.append(noise.steps)
        spent = sum(np.abs(a.values - b.values).sum() / a.scale for a, b in zip(*steps, strict=True))
        assert spent == pytest.approx(0.8)


def test_hb_without_a_tree_has_the_error_of_laplace() -> None:
    """Four standard errors: false-alarm rate 6e-5."""
    data, mechanism, rng = data_of(np.arange(40)), dpbench.mechanism("hb"), np.random.default_rng(4)
    errors = [np.abs(mechanism.release(data, 0.5, rng).weights - np.arange(40)).mean() for _ in range(500)]
    assert mechanism.expected_error(data, 0.5) == 2
    assert abs(np.mean(errors) - 2) < 4 * np.std(errors) / math.sqrt(500)
    assert math.isnan(mechanism.expected_error(data_of(np.arange(50)), 0.5))


# The partition.


@pytest.mark.parametrize("n", [1, 2, 3, 7, 8, 21])
def test_deviations_are_those_of_the_definition(n: int) -> None:
    rng = np.random.default_rng(n)
    for most in (1, 3, 1000):
        counts = rng.integers(0, most + 1, n)
        table = partition.bucket_deviations(counts)
        assert table.shape == (n.bit_length(), n)
        for row, length in zip(table, (2**j for j in range(n.bit_length())), strict=True):
            expected = [naive.deviation(counts[i : i + length].tolist()) for i in range(n - length + 1)]
            np.testing.assert_allclose(row[: n - length + 1], expected, atol=1e-9)
            assert np.isinf(row[n - length + 1 :]).all()


class Written:
    """A generator whose Laplace noise is written down."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.drawn: list[tuple[float, np.ndarray]] = []

    def laplace(self, loc: float, scale: float, size: int) -> np.ndarray:
        noise = self.rng.laplace(loc, scale, size)
        self.drawn.append((scale, noise))
        return noise


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 11])
def test_partition_is_the_cheapest_of_all_and_every_bucket_has_noise(n: int) -> None:
    """Against all covers by runs of 1, 2, 4, ... cells, on the same noise."""
    for seed in range(8):
        counts = np.random.default_rng(seed).integers(0, 12, n)
        rng = Written(seed)
        starts = partition.Partition(partition.bucket_deviations(counts), 0.7, 1.5).draw(rng)  # type: ignore[arg-type]
        cost = {}
        for j, (scale, noise) in enumerate(rng.drawn):
            length = 2**j
            assert noise.size == n - length + 1
            assert scale == pytest.approx(2 * (2 - 1 / length - 1 / n) / 0.7)
            assert scale > 0 or n == 1
            for i in range(n - length + 1):
                cost[i, length] = naive.deviation(counts[i : i + length].tolist()) + 1.5 + noise[i]
        assert starts.tolist() == naive.cheapest_cover(cost, n)
        assert len(rng.drawn) == n.bit_length()


@pytest.mark.parametrize(("values", "cell"), [([0, 0, 0], 1), ([1, 0, 0], 0), ([0, 6, 0], 1)])
def test_partition_of_three_cells_is_private(values: list[int], cell: int) -> None:
    """Probabilities of all three covers by integration: within ε₁ = 1."""
    after = [v + (i == cell) for i, v in enumerate(values)]
    before, now = (naive.cover_chances(v, 1.0, 1 / 3) for v in (values, after))
    assert 0.1 < np.abs(np.log(before) - np.log(now)).max() < 1.0


def test_without_noise_on_single_cells_a_partition_tells_too_much() -> None:
    """Why they have it: at ε₁ = 1 and ε₂ = 3, one cover of sixteen cells alone would lose more than four."""
    assert naive.loss_without_single_noise(16, 8, 1.0, 1 / 3) > 4


def test_partition_is_drawn_with_these_probabilities() -> None:
    """Four standard errors over 20000 draws, and a hundredth for the integration: false-alarm rate 2e-4."""
    values = [3, 0, 5]
    law = partition.Partition(partition.bucket_deviations(np.array(values)), 1.0, 0.5)
    rng = np.random.default_rng(5)
    drawn = [law.draw(rng).tolist() for _ in range(20000)]
    found = np.array([drawn.count(cover) for cover in ([0, 1, 2], [0, 2], [0, 1])]) / 20000
    expected = naive.cover_chances(values, 1.0, 0.5)
    assert np.all(np.abs(found - expected) < 0.01 + 4 * np.sqrt(expected * (1 - expected) / 20000))
    stated = np.exp([law.log_probability(np.array(cover)) for cover in ([0, 1, 2], [0, 2], [0, 1])])
    assert stated.sum() == pytest.approx(1, abs=1e-12)
    assert np.all(np.abs(found - stated) < 4 * np.sqrt(stated * (1 - stated) / 20000))
    assert law.log_probability(np.array([0])) == -np.inf
    four = partition.Partition(partition.bucket_deviations(np.arange(4)), 1.0, 0.5)
    with pytest.raises(NotImplementedError, match="up to 3 cells, not 4"):
        four.log_probability(four.draw(rng))


@pytest.mark.parametrize("n", [1, 2, 3, 4, 7, 16, 33])
def test_what_a_cover_may_tell_is_within_its_budget(n: int) -> None:
    """The bound of the proof: of up to three cells it is above what all covers tell, and never above ε₁."""
    rng = np.random.default_rng(n)
    for _ in range(40):
        counts = rng.integers(0, 6, n) * rng.integers(0, 2, n)
        more = counts + (np.arange(n) == rng.integers(n))
        one, other = (partition.Partition(partition.bucket_deviations(x), 0.7, 1.5) for x in (counts, more))
        assert one.bound(other) == pytest.approx(other.bound(one))
        assert one.bound(other) <= 0.7 + 1e-12
        assert one.bound(one) == 0
        if n <= 3:
            told = [abs(one.log_probability(cover) - other.log_probability(cover)) for cover in one.outcomes()]
            assert max(told) <= one.bound(other) + 1e-12
    if n > 2:
        apart = partition.Partition(partition.bucket_deviations(np.array([9, 0, *counts[2:]])), 0.7, 1.5)
        assert (
            partition.Partition(partition.bucket_deviations(np.array([0, 0, *counts[2:-1], 9])), 0.7, 1.5).bound(apart)
            >= 0.7
        )


def test_dawa_spreads_what_its_tree_says() -> None:
    """Without noise on the totals they are exact, each spread over its bucket; the steps spend ε₁ and ε₂."""
    counts = np.repeat([4, 0, 9, 1], 16)
    noise = Recording(6, silent=True)
    release = dpbench.mechanism("dawa").publish(data_of(counts), 2.0, noise)
    law, *levels = noise.steps
    assert (law.values.epsilon, law.values.price) == (0.5, 1 / 1.5)
    assert sum(1 / step.scale for step in levels) == pytest.approx(1.5)
    starts = Recording(6).draw(law.values, step="partition")
    assert release.chosen["buckets"] == starts.size
    expected = [[part.mean()] * part.size for part in np.split(counts, starts[1:])]
    np.testing.assert_allclose(release.weights, np.concatenate(expected))


# Long ranges.


def range_error(name: str, data: Contingency, epsilon: float, trials: int = 12) -> float:
    rng, mechanism = np.random.default_rng(7), dpbench.mechanism(name)
    lo = rng.integers(0, data.size // 2, 200)
    hi = lo + data.size // 3 + rng.integers(0, data.size // 10, 200)
    truth = data.sum(lo, hi)
    return float(
        np.mean([np.abs(mechanism.release(data, epsilon, rng).sum(lo, hi) - truth).mean() for _ in range(trials)])
    )


@pytest.mark.parametrize("shape", ["noisy", "smooth"])
def test_trees_beat_geometric_on_long_ranges_of_dense_data(shape: str) -> None:
    """A third of 4096 cells, which geometric answers with the noise of 1400 of them. Twelve releases know the errors within a
    few per cent."""
    rng = np.random.default_rng(8)
    counts = rng.poisson(50, 4096) if shape == "noisy" else np.repeat(rng.integers(0, 100, 32), 128)
    data = data_of(counts)
    errors = {name: range_error(name, data, 0.5) for name in ("geometric", "hb", "dawa")}
    assert errors["hb"] < 0.7 * errors["geometric"]
    assert errors["dawa"] < 0.9 * errors["geometric"]
