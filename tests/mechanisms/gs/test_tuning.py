"""The search for the best group size finds what looking at every w finds: by law, and with the noise taken away.

Kolmogorov-Smirnov tests at fixed seeds, each with a false-alarm rate of 1e-4.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from dpbench.mechanisms.gs import _tuning
from dpbench.mechanisms.gs._tuning import best_group_size, tuning_curve

SHAPES = {
    "heavy tails": lambda rng, d: 10 * rng.pareto(1.2, d),
    "ties": lambda rng, d: rng.integers(-3, 4, d).astype(float),
    "constant": lambda rng, d: np.full(d, -7.0),
    "normal": lambda rng, d: rng.normal(size=d),
    "even steps": lambda rng, d: 0.1 * np.arange(d),  # the best w is about √(40 scale)
    "mostly zero": lambda rng, d: np.where(rng.random(d) < 0.1, rng.exponential(50, d), 0.0),
}
FALSE_ALARM = 1e-4


def both(shape: str, d: int, scale: float, runs: int) -> tuple[np.ndarray, np.ndarray]:
    """w* and L1(w*) of so many runs: looking at every w, and searching."""
    estimate = np.sort(SHAPES[shape](np.random.default_rng(d), d))
    rng = np.random.default_rng(7)
    curves = [tuning_curve(estimate, scale, rng) for _ in range(runs)]
    every = np.array([(int(np.argmin(curve)) + 1, curve.min()) for curve in curves])
    found = np.array([best_group_size(estimate, scale, rng) for _ in range(runs)])
    return every, found


def p_values(every: np.ndarray, found: np.ndarray) -> list[float]:
    return [float(stats.ks_2samp(every[:, i], found[:, i], method="asymp").pvalue) for i in range(2)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("d", [1, 2, 3, 7, 40, 600, 3000])
def test_its_law_is_that_of_the_search_over_every_size(shape: str, d: int) -> None:
    for scale in (0.3, 100.0):
        assert min(p_values(*both(shape, d, scale, 300))) > FALSE_ALARM


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("d", [40, 300, 3000])
def test_its_law_in_thousands_of_runs(shape: str, d: int) -> None:
    for scale in (0.3, 5.0, 100.0):
        assert min(p_values(*both(shape, d, scale, 4000))) > FALSE_ALARM


def test_a_bound_that_is_too_high_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks whose distances are twenty times too large make the search pass over sizes that are the best."""

    def raised(table: np.ndarray) -> tuple[np.ndarray, ...]:
        first, *sums = blocks(table)
        return first, *(20 * part for part in sums)

    blocks = _tuning._blocks
    monkeypatch.setattr(_tuning, "_blocks", raised)
    assert min(p_values(*both("even steps", 600, 100.0, 300))) < FALSE_ALARM


@pytest.mark.parametrize("shape", SHAPES)
def test_without_noise_it_is_the_least_smoothing_error(shape: str) -> None:
    for d in (1, 9, 64, 1000):
        estimate = np.sort(SHAPES[shape](np.random.default_rng(d), d))
        every = tuning_curve(estimate, 1e-12, np.random.default_rng(1))
        w, l1 = best_group_size(estimate, 1e-12, np.random.default_rng(2))
        assert l1 == pytest.approx(every.min(), abs=1e-6)
        assert every[w - 1] == pytest.approx(every.min(), abs=1e-6)


def test_the_bounds_are_below_the_distances_to_the_medians() -> None:
    """Both, of every w, against the definition; that of larger blocks for each of the three parts."""
    raised = 0
    for shape in SHAPES:
        for d in (50, 333, 1024):
            estimate = np.sort(SHAPES[shape](np.random.default_rng(d), d))
            table = _tuning.sorted_table(estimate)
            values = table[:-1, 0]
            blocks = _tuning._blocks(table)
            first, _, running, largest = blocks
            for w in range(1, d + 1):
                starts = np.arange(d // w) * w
                groups = np.split(values, starts[1:])
                exact = np.array([np.abs(group - np.median(group)).sum() for group in groups])
                slack = 1e-9 * (1 + np.abs(values).sum())
                assert _tuning._by_lookup(w, d // w, first, running, largest) <= exact.sum() + slack
                for tail in (0, len(groups) // _tuning.TAIL, len(groups) // 3):
                    ends, bounds = (0, tail, len(groups) - tail, len(groups)), np.zeros(3)
                    _tuning._by_borders(w, ends, blocks, np.inf, bounds)
                    parts = [exact[begin:end].sum() for begin, end in itertools.pairwise(ends)]
                    assert np.all(bounds <= np.array(parts) + slack)
                    raised += np.count_nonzero(bounds)
    assert raised > 1000


@pytest.mark.parametrize("search", [best_group_size, tuning_curve])
def test_an_estimate_that_is_not_sorted_is_refused(search) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match="not sorted"):
        search(np.array([3.0, 1.0, 2.0]), 1.0, np.random.default_rng(1))
