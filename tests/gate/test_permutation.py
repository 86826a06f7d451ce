"""The exact tests of two samples: against enumeration, and that their p values are never too small."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from dpbench.gate.permutation import LAMBDAS, dispersion, location, log_moments, p_value, shared_noise


@pytest.mark.parametrize(("old", "new"), [(6, 6), (3, 3), (6, 4), (2, 5)])
def test_moments_are_those_of_all_splits(old: int, new: int) -> None:
    rng = np.random.default_rng(old)
    sample = location(rng.gamma(2, 1, old), rng.gamma(2, 1, new))
    sums = [sum(sample.scores[list(chosen)]) for chosen in itertools.combinations(range(old + new), new)]
    expected = [math.log(np.mean(np.exp(step * np.array(sums)))) for step in LAMBDAS]
    assert log_moments([sample])[0] == pytest.approx(expected, abs=1e-10)


def test_a_p_value_is_an_upper_bound_of_the_exact_one() -> None:
    rng = np.random.default_rng(3)
    for _ in range(50):
        x, y = rng.binomial(10, 0.3, 6) / 10, rng.binomial(10, 0.5, 6) / 10
        if np.ptp([*x, *y]) == 0:
            continue
        sample = location(x, y)
        scores = sample.scores
        sums = np.array([scores[list(c)].sum() for c in itertools.combinations(range(12), 6)])
        exact = min((sums >= sample.total - 1e-12).mean(), (sums <= sample.total + 1e-12).mean())
        assert p_value([sample], log_moments([sample])) >= min(1.0, 2 * exact) - 1e-12


def test_perfect_separation_counts_splits() -> None:
    """One cell of twelve trials cannot say more than 2/924; four of them can."""
    x, y = np.arange(1.0, 7.0), np.arange(101.0, 107.0)
    sample = location(x, y)
    one = p_value([sample], log_moments([sample]))
    assert one == pytest.approx(2 / 924, rel=0.01)
    four = p_value([sample] * 4, log_moments([sample] * 4))
    assert four == pytest.approx(2 / 924**4, rel=0.05)
    opposite = [sample, location(y, x)]
    assert p_value(opposite, log_moments(opposite)) == 1.0


def test_constants_say_nothing() -> None:
    same = location(np.full(6, 0.1), np.full(6, 0.1) + 1e-17)
    assert p_value([same], log_moments([same])) == 1.0
    assert p_value([], np.zeros((0, LAMBDAS.size))) == 1.0


def test_more_new_trials_than_old_keep_the_sign() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.normal(10, 0.1, 6), rng.normal(12, 0.1, 20)
    up, down = location(x, y), location(y, x)
    assert up.sign * up.total > 0 > down.sign * down.total
    assert p_value([up], log_moments([up])) < 1e-4


def laws(rng: np.random.Generator, shape: tuple[int, ...]) -> list[np.ndarray]:
    """Those that mislead tests most: heavy tails, lattices, two clusters far apart."""
    clusters = rng.binomial(1, 0.5, shape) + 1.0
    return [
        np.exp(rng.standard_cauchy(shape).clip(-50, 50)),
        rng.binomial(3, 0.2, shape) / 3,
        clusters * rng.uniform(0.999, 1.001, shape),
        rng.laplace(0, 1, shape),
    ]


@pytest.mark.parametrize("scores", [location, dispersion])
def test_equal_laws_are_rejected_no_more_often_than_stated(scores: object) -> None:
    """500 groups of 8 cells for each of 4 laws at level 0.05: the bound lies well below it. A test of that very level would
    reject more than 9 %, which is 4 standard errors above, with probability 1e-4."""
    rng = np.random.default_rng(11)
    groups, cells = 500, 8
    for draws in laws(rng, (groups, cells, 12)):
        samples = [scores(cell[:6], cell[6:]) for group in draws for cell in group]  # type: ignore[operator]
        moments = log_moments(samples)
        p = [p_value(samples[i : i + cells], moments[i : i + cells]) for i in range(0, len(samples), cells)]
        assert np.mean(np.array(p) < 0.05) < 0.09


def test_a_tenth_more_noise_is_found_in_a_dozen_cells() -> None:
    """Power: spreads of 5 % per trial, as most cells of the suite have; significance one in a million."""
    rng = np.random.default_rng(5)
    found = []
    for _ in range(100):
        samples = [location(*(f * rng.normal(1, 0.05, 6) for f in (1.0, 1.1))) for _ in range(12)]
        found.append(p_value(samples, log_moments(samples)) < 1e-6)
    assert np.mean(found) > 0.95


def test_spread_is_seen_without_a_shift() -> None:
    rng = np.random.default_rng(6)
    samples = [dispersion(rng.normal(0, 1, 6), rng.normal(0, 5, 6)) for _ in range(20)]
    assert p_value(samples, log_moments(samples)) < 1e-6
    shifts = [location(rng.normal(0, 1, 6), rng.normal(0, 5, 6)) for _ in range(20)]
    assert p_value(shifts, log_moments(shifts)) > 1e-3


def test_shared_noise() -> None:
    rng = np.random.default_rng(8)
    common = rng.laplace(0, 1, 6)
    scales = rng.uniform(1, 1000, (10, 1))
    assert shared_noise(scales * common) < 1e-8
    own = [shared_noise(scales * rng.laplace(0, 1, (10, 6))) for _ in range(2000)]
    assert np.mean(np.array(own) < 0.01) < 0.02
    assert min(own) > 1e-6
    assert shared_noise(np.ones((10, 6))) == 1.0
