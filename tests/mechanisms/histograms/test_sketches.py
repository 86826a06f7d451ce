"""gaussian_sketch and alp: sensitivity and deviation by their formulas, exact output probabilities, naive versions."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

import dpbench
from dpbench.data import Contingency
from dpbench.mechanisms.histograms._projection import Projection
from dpbench.numerics.gaussian import analytic_sigma

from naive import histograms as naive
from support.recording import Recording

# The Gaussian sketch.


def sketched(counts: dict[int, int], size: int, seed: int = 0, **parameters: object) -> tuple[np.ndarray, float]:
    """The exact buckets that noise goes to, and its σ."""
    noise = Recording(seed, silent=True)
    data = Contingency.from_dict(counts, size=size)
    dpbench.mechanism("gaussian_sketch", **parameters).publish(data, 1.0, noise)
    (step,) = noise.steps
    return step.values, step.scale


@pytest.mark.parametrize("transform", ["none", "dyadic"])
def test_one_individual_moves_a_sketch_by_its_sensitivity(transform: str) -> None:
    """√R, and √(R levels) over a tree: every cell, exactly, so levels never meet in a bucket."""
    base, parameters = {3: 5, 17: 2}, {"rows": 3, "buckets": 20, "transform": transform, "delta": 1e-5}
    before, sigma = sketched(base, 30, **parameters)
    expected = math.sqrt(3 * (1 if transform == "none" else 6))
    for cell in range(30):
        after, same = sketched({**base, cell: base.get(cell, 0) + 1}, 30, **parameters)
        assert same == sigma
        assert np.linalg.norm(after - before) == pytest.approx(expected)
    assert sigma == pytest.approx(expected * analytic_sigma(1.0, 1e-5))


def test_cells_of_one_individual_may_fall_into_one_bucket() -> None:
    """Two cells with two rows: 2 √2 at most, and some pair comes to it."""
    parameters = {"rows": 2, "buckets": 3, "k": 2}
    pairs = list(itertools.product(range(4), itertools.combinations(range(12), 2)))
    moved = [np.linalg.norm(sketched({a: 1, b: 1}, 12, seed, **parameters)[0]) for seed, (a, b) in pairs]
    _, sigma = sketched({}, 12, **parameters)
    assert max(moved) == pytest.approx(2 * math.sqrt(2))
    assert sigma == pytest.approx(2 * math.sqrt(2) * analytic_sigma(1.0, 1e-6))


@pytest.mark.parametrize("buckets", [64, 4000])
@pytest.mark.parametrize("rows", [1, 5])
def test_sketch_deviation_is_about_the_formula(rows: int, buckets: int) -> None:
    """Mostly collisions, and mostly noise. The formula may be low by 1.4 where a few large cells remain; 200 sketches know the
    deviation within a few per cent."""
    rng = np.random.default_rng(1)
    data = Contingency(np.sort(rng.choice(4000, 300, replace=False)), rng.integers(1, 40, 300), 4000)
    mechanism = dpbench.mechanism("gaussian_sketch", rows=rows, buckets=buckets)
    asked = rng.choice(4000, 40, replace=False)
    truth = np.array([data.subset([cell]) for cell in asked])
    errors = [mechanism.release(data, 1.0, rng).at(asked) - truth for _ in range(200)]
    assert 0.85 < np.std(errors) / mechanism.deviation(data, 1.0) < 1.45
    assert abs(np.mean(errors)) < 4 * np.std(errors) / math.sqrt(
        200
    )  # signs make it unbiased; false-alarm rate below 1e-4


# ALP.


def law_of(counts: dict[int, int], epsilon: float, seed: int, **parameters: object) -> Projection:
    noise = Recording(seed)
    data = Contingency.from_dict(counts, size=6)
    dpbench.mechanism("alp", **parameters).publish(data, epsilon, noise)
    (step,) = noise.steps
    return step.values


PAIRS = [
    ({0: 1}, {0: 2}),  # the rounding passes a whole unit, or does not
    ({0: 2}, {0: 3}),
    ({}, {4: 1}),
    ({0: 2, 3: 1}, {0: 2, 3: 2}),
    ({0: 1, 5: 3}, {0: 1, 5: 3, 2: 1}),
]


@pytest.mark.parametrize(("epsilon", "alpha"), [(1.0, 1.5), (0.5, 0.6), (2.0, 3.0), (3.0, 2.0), (1.0, 1.0)])
def test_alp_is_private_for_every_outcome(epsilon: float, alpha: float) -> None:
    """Exact: all tables of bits, many hash functions (some of which let cells collide), both directions."""
    parameters, worst = {"alpha": alpha, "largest": 3, "buckets": 2}, 0.0
    for (one, other), seed in itertools.product(PAIRS, range(6)):
        laws = [law_of(counts, epsilon, seed, **parameters) for counts in (one, other)]
        assert laws[0].seed == laws[1].seed
        assert laws[0].q == laws[1].q
        outcomes = list(itertools.product((0, 1), repeat=int(laws[0].starts[-1])))
        chances = [[law.log_probability(np.array(o, dtype=np.uint8)) for o in outcomes] for law in laws]
        worst = max(worst, float(np.abs(np.subtract(*chances)).max()))
    assert 0.98 * epsilon < worst <= epsilon + 1e-9


@pytest.mark.parametrize("counts", [{0: 1}, {0: 2, 3: 1}, {1: 3, 2: 1, 5: 2}])
def test_alp_probabilities_are_those_of_the_naive_version(counts: dict[int, int]) -> None:
    for seed in range(4):
        law = law_of(counts, 1.0, seed, alpha=1.5, largest=3, buckets=3)
        levels = law.starts.size - 1
        expected = naive.alp_chances(counts, 1.0, 1.5, levels, 3, law.seed)
        found = {o: math.exp(law.log_probability(np.array(o, dtype=np.uint8))) for o in expected}
        assert found == pytest.approx(expected, rel=1e-9)
        assert math.fsum(found.values()) == pytest.approx(1)


def test_alp_draws_each_table_with_its_probability() -> None:
    """Chi-square over 64 tables, 20000 draws: false-alarm rate 1e-4."""
    law = law_of({0: 2, 3: 1}, 1.0, 3, alpha=1.5, largest=3, buckets=3)
    rng = np.random.default_rng(4)
    weights = 2 ** np.arange(int(law.starts[-1]))
    drawn = np.bincount([int(law.draw(rng) @ weights) for _ in range(20000)], minlength=64)
    tables = [np.array([(number >> bit) & 1 for bit in range(weights.size)], dtype=np.uint8) for number in range(64)]
    expected = 20000 * np.exp([law.log_probability(table) for table in tables])
    assert stats.chisquare(drawn, expected).pvalue > 1e-4


def test_a_large_table_has_a_probability_too() -> None:
    """Too small for a number, not for its logarithm."""
    law = law_of({0: 2, 3: 1}, 1.0, 3, alpha=1.5, largest=3, buckets=9000)
    assert -18_000 < law.log_probability(law.draw(np.random.default_rng(4))) < -2000


def test_alp_estimates_are_those_of_the_naive_version() -> None:
    data = Contingency.from_dict({0: 9, 2: 30, 5: 1}, size=6)
    for seed in range(10):
        release = dpbench.mechanism("alp", largest=30, buckets=5).release(data, 1.0, np.random.default_rng(seed))
        levels = release.starts.size - 1
        expected = [naive.alp_estimate(release.bits, i, levels, 5, release.seed, release.unit) for i in range(6)]
        np.testing.assert_allclose(release.at(np.arange(6)), expected)


@pytest.mark.parametrize("declared", [True, False])
@pytest.mark.parametrize(("epsilon", "least", "most"), [(0.2, 2.5, 4.5), (1.0, 2.5, 4.0)])
def test_alp_error_is_about_three_over_epsilon(epsilon: float, least: float, most: float, declared: bool) -> None:
    """Of 2000 cells of about 100 counts in a domain of 10^12, and of empty cells between them: E|error| ε, five releases."""
    rng = np.random.default_rng(5)
    data = Contingency(np.sort(rng.choice(10**9, 2000, replace=False)) * 1000, rng.poisson(100, 2000) + 1, 10**12)
    given = {"largest": int(data.counts.max()), "buckets": 16000} if declared else {}
    mechanism = dpbench.mechanism("alp", **given)
    releases = [mechanism.release(data, epsilon, rng) for _ in range(5)]
    filled = np.mean([np.abs(r.at(data.cells) - data.counts).mean() for r in releases])
    empty = np.mean([r.at(data.cells + 1).mean() for r in releases])
    assert least < filled * epsilon < most
    assert empty * epsilon < 5


def test_what_alp_looks_at_first_costs_what_it_says() -> None:
    """Largest count and numbers of cells by size: over all neighbours the Laplace steps spend 0.07 ε, and come to it."""
    rng, worst = np.random.default_rng(6), 0.0
    for _ in range(200):
        cells = rng.choice(50, 8, replace=False).tolist()
        counts = dict(zip(cells, (2 ** rng.integers(0, 6, 8) - rng.integers(0, 2, 8)).tolist(), strict=True))
        cell = int(rng.choice(cells)) if rng.random() < 0.7 else int(rng.integers(50))
        after = {**counts, cell: counts.get(cell, 0) + 1}
        steps = []
        for table in (counts, after):
            noise = Recording(7)
            dpbench.mechanism("alp").publish(Contingency.from_dict(table, size=50), 1.0, noise)
            steps.append([step for step in noise.steps if step.kind == "laplace"])
        assert [s.scale for s in steps[0]] == [s.scale for s in steps[1]]
        worst = max(worst, sum(np.abs(a.values - b.values).sum() / a.scale for a, b in zip(*steps, strict=True)))
    assert worst == pytest.approx(0.07)


def test_reading_may_end_early() -> None:
    """Levels far above a count change nothing, and cost nothing."""
    data = Contingency.from_dict({7: 20, 9: 100_000}, size=10**6)
    release = dpbench.mechanism("alp", buckets=50).release(data, 1.0, np.random.default_rng(8))
    assert release.starts.size > 20_000
    assert abs(release.at(np.array([7]))[0] - 20) < 60
    assert abs(release.at(np.array([9]))[0] - 100_000) < 60


def test_a_table_that_would_not_fit_has_larger_units() -> None:
    data = Contingency.from_dict({7: 10**9, 9: 3}, size=10**6)
    release = dpbench.mechanism("alp").release(data, 1.0, np.random.default_rng(9))
    assert release.bits.size <= 2**27
    assert release.chosen["alpha"] > 4
    assert release.at(np.array([7]))[0] == pytest.approx(10**9, rel=0.02)
