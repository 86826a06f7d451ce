"""The sparse mechanisms: shortcut against laborious against naive, unbiasedness, exact sizes.

Distributions are compared by chi-square and Kolmogorov-Smirnov with fixed seeds. All comparisons of this file together
would, with fresh seeds, raise a false alarm about once in a hundred runs (some two hundred of them at 5e-5 each).
"""

from __future__ import annotations

import math
import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

import dpbench
from dpbench.data import Contingency
from dpbench.data.summary import Entries
from dpbench.errors import UserError
from dpbench.mechanisms.base import MECHANISMS
from dpbench.numerics import dyadic, geometric
from dpbench.sources.generators.tables import GaussianTable

from naive import sparse as naive

ALARM = 5e-5
TABLE = {2: 1, 3: 4, 11: 2, 12: 7, 13: 1, 29: 12}
SIZE = 40
DATA = Contingency.from_dict(TABLE, size=SIZE)
SMALL = Contingency.from_dict({0: 3, 4: 1, 5: 6, 10: 2}, size=13)


class Seen:
    """What many summaries of one table look like: number, places and values of the zeros, the non-zeros, weights, τ."""

    def __init__(self, trials: int, known: set[int]) -> None:
        self.trials, self.known = trials, sorted(known)
        self.zeros: list[int] = []
        self.places: list[int] = []
        self.values: list[float] = []
        self.kept: dict[int, list[float]] = {place: [] for place in self.known}
        self.left: list[float] = []
        self.tau: list[float] = []

    def add(self, places: list[int], values: list[float], tau: float, middle: int) -> None:
        number = 0
        left = 0.0
        for place, value in zip(places, values, strict=True):
            if place < middle:
                left += naive.weight(value, tau) if tau else value
            if place in self.kept:
                self.kept[place].append(value)
            else:
                number += 1
                self.places.append(place)
                self.values.append(value)
        self.zeros.append(number)
        self.left.append(left)
        self.tau.append(tau)


def same_law(a: list[float], b: list[float]) -> float:
    """p-value of two samples of few different values, by chi-square of their pooled bins."""
    points, where = np.unique(np.concatenate([a, b]), return_inverse=True)
    table = np.array([np.bincount(part, minlength=points.size) for part in (where[: len(a)], where[len(a) :])])
    order = np.argsort(points)
    merged, current = [], np.zeros(2)
    for column in table[:, order].T:
        current = current + column
        if current.sum() >= 40:
            merged.append(current)
            current = np.zeros(2)
    if current.sum() and merged:
        merged[-1] = merged[-1] + current
    if len(merged) < 2:
        return 1.0
    return stats.chi2_contingency(np.array(merged).T, correction=False).pvalue


def compare(a: Seen, b: Seen) -> None:
    """Everything seen has the same law in both."""
    results = {"zeros": same_law(a.zeros, b.zeros), "values": same_law(a.values, b.values)}
    results["places"] = same_law(a.places, b.places)
    results["left half"] = stats.ks_2samp(a.left, b.left).pvalue
    if len(set(a.tau)) > 1:
        results["tau"] = stats.ks_2samp(a.tau, b.tau).pvalue
    for place in a.known:
        kept = [len(x.kept[place]) for x in (a, b)]
        tally = [kept, [a.trials - kept[0], b.trials - kept[1]]]
        if min(map(sum, tally)) >= 10:
            results[f"kept {place}"] = stats.chi2_contingency(tally, correction=False).pvalue
        if min(kept) >= 100:
            results[f"value of {place}"] = same_law(a.kept[place], b.kept[place])
    assert min(results.values()) > ALARM, {k: v for k, v in results.items() if v <= ALARM}


def released(mechanism: dpbench.Mechanism, data: Contingency, epsilon: float, trials: int, seed: int) -> Seen:
    rng = np.random.default_rng(seed)
    table = mechanism.table(data)
    seen = Seen(trials, set(table.places.tolist()))
    for _ in range(trials):
        release = mechanism.release(data, epsilon, rng)
        values = release.weights if release.values is None else release.values
        assert (np.diff(release.cells) > 0).all()
        seen.add(release.cells.tolist(), values.tolist(), release.chosen.get("tau", 0.0), table.size // 2)
    return seen


def naively(draw: Callable, table: dict[int, int], size: int, alpha: float, trials: int, seed: int) -> Seen:
    rng = np.random.default_rng(seed)
    seen = Seen(trials, set(table))
    for _ in range(trials):
        chosen, tau = draw(table, size, alpha, rng)
        seen.add(list(chosen), list(chosen.values()), tau, size // 2)
    return seen


NAIVE = [
    ("filter", {"theta": 3}, lambda *a: naive.filter_(*a, 3)),
    ("filter", {"theta": 2.4, "two_sided": False}, lambda *a: naive.filter_(*a, 2.4, False)),
    ("threshold", {"tau": 5.0}, lambda *a: naive.threshold(*a, 5)),
    ("threshold", {"tau": 3.7}, lambda *a: naive.threshold(*a, 3.7)),
    ("priority", {"s": 6}, lambda *a: naive.priority(*a, 6)),
    ("priority", {"s": 33}, lambda *a: naive.priority(*a, 33)),
    ("filter_priority", {"s": 6, "theta": 2}, lambda *a: naive.priority(*a, 6, 2)),
    ("filter_priority", {"s": 12, "theta": 3.3}, lambda *a: naive.priority(*a, 12, 3.3)),
]


@pytest.mark.parametrize(("name", "parameters", "draw"), NAIVE, ids=[f"{n}-{p}" for n, p, _ in NAIVE])
def test_shortcut_and_laborious_agree_with_naive(name: str, parameters: dict, draw: Callable) -> None:
    """ε = 0.5; s = 33 is more than there are noisy counts other than zero, so zeros fill up the sample."""
    epsilon, trials = 0.5, 2500
    expected = naively(draw, TABLE, SIZE, math.exp(-epsilon), trials, seed=1)
    compare(released(dpbench.mechanism(name, **parameters), DATA, epsilon, trials, seed=2), expected)
    compare(released(dpbench.mechanism(name, laborious=True, **parameters), DATA, epsilon, trials, seed=3), expected)


LARGER = [
    ("filter", {"theta": 9}),
    ("threshold", {"tau": 71.3}),
    ("priority", {"s": 60}),
    ("priority", {"s": 60, "transform": "haar"}),
    ("filter_priority", {"s": 60, "theta": 4}),
]


@pytest.mark.parametrize(("name", "parameters"), LARGER, ids=[f"{n}-{p}" for n, p in LARGER])
def test_shortcut_and_laborious_agree_where_most_cells_are_zero(name: str, parameters: dict) -> None:
    """4000 cells, 60 of them not zero: priorities are cut off well above the lowest one."""
    data = GaussianTable(cells=4000, density=0.015, mean=8, sigma=4).build(np.random.default_rng(1))
    fast, slow = (dpbench.mechanism(name, laborious=laborious, **parameters) for laborious in (False, True))
    a, b = released(fast, data, 0.5, 700, seed=16), released(slow, data, 0.5, 700, seed=17)
    assert name == "filter" or min(a.tau) > 20
    compare(a, b)


def test_noise_on_non_zeros_has_its_law() -> None:
    """Many entries at once, against the mass function; false alarms one in twenty thousand."""
    table = dpbench.mechanism("filter").table(GaussianTable(cells=10**6).build(np.random.default_rng(1)))
    drawn = table.noisy(math.exp(-0.5), dpbench.Noise(np.random.default_rng(18))) - table.values
    x = np.arange(-15, 16)
    alpha = math.exp(-0.5)
    law = np.append((1 - alpha) / (1 + alpha) * alpha ** np.abs(x), 0)
    law[-1] = 1 - law.sum()
    observed = np.array([(drawn == v).sum() for v in x])
    assert stats.chisquare(np.append(observed, drawn.size - observed.sum()), law * drawn.size).pvalue > ALARM


TRANSFORMED = [
    ("filter", {"theta": 8}),
    ("filter", {"theta": 6, "consistent": True}),
    ("threshold", {"tau": 30.5}),
    ("priority", {"s": 7}),
    ("filter_priority", {"s": 7, "theta": 4}),
    ("filter_priority", {"s": 5, "theta": 3, "consistent": True}),
]


@pytest.mark.parametrize("transform", ["dyadic", "haar"])
@pytest.mark.parametrize(("name", "parameters"), TRANSFORMED, ids=[f"{n}-{p}" for n, p in TRANSFORMED])
def test_shortcut_and_laborious_agree_on_transforms(name: str, parameters: dict, transform: str) -> None:
    if transform == "haar" and parameters.get("consistent"):
        with pytest.raises(UserError, match="needs transform='dyadic'"):
            dpbench.mechanism(name, transform=transform, **parameters)
        return
    fast, slow = (
        dpbench.mechanism(name, transform=transform, laborious=laborious, **parameters) for laborious in (False, True)
    )
    compare(released(fast, SMALL, 1.0, 2000, seed=4), released(slow, SMALL, 1.0, 2000, seed=5))


@pytest.mark.parametrize("transform", ["dyadic", "haar"])
def test_transformed_noise_has_the_right_sensitivity(transform: str) -> None:
    """Filter over nodes or coefficients against naive: ⌈log₂ 13⌉ + 1 = 5 numbers a head, so α = exp(-ε/5)."""
    table = (naive.dyadic if transform == "dyadic" else naive.haar)(
        dict(zip([0, 4, 5, 10], [3, 1, 6, 2], strict=True)), 13
    )
    size = naive.starts(13)[-1] - (0 if transform == "dyadic" else 12)
    expected = naively(lambda *a: naive.filter_(*a, 6), table, size, math.exp(-1.0 / 5), 2500, seed=6)
    compare(released(dpbench.mechanism("filter", theta=6, transform=transform), SMALL, 1.0, 2500, seed=7), expected)


def test_one_individual_moves_as_much_as_the_sensitivity_says() -> None:
    """Adding one individual anywhere changes the table by Δ in L1, exactly, for every transform."""
    for transform, bound in (("none", 1), ("dyadic", 5), ("haar", 5)):
        mechanism = dpbench.mechanism("filter", transform=transform)
        before = mechanism.table(SMALL)
        for cell in range(13):
            counts = dict(zip(SMALL.cells.tolist(), SMALL.counts.tolist(), strict=True))
            counts[cell] = counts.get(cell, 0) + 1
            after = mechanism.table(Contingency.from_dict(counts, size=13))
            dense = [np.zeros(before.size), np.zeros(before.size)]
            for full, table in zip(dense, (before, after), strict=True):
                full[table.places] = table.values
            assert np.abs(dense[1] - dense[0]).sum() == bound == before.sensitivity


def test_geometric_is_noise_on_every_cell() -> None:
    """Against the law of the noise, each trial's 40 cells; false alarms one in twenty thousand. MAE as the closed form."""
    mechanism = dpbench.mechanism("geometric")
    rng = np.random.default_rng(8)
    full = np.zeros(SIZE)
    full[DATA.cells] = DATA.counts
    errors = np.concatenate([mechanism.release(DATA, 0.5, rng).weights - full for _ in range(2000)]).astype(int)
    alpha, x = math.exp(-0.5), np.arange(-12, 13)
    law = (1 - alpha) / (1 + alpha) * alpha ** np.abs(x)
    observed = np.array([(errors == v).sum() for v in x])
    expected = law * errors.size
    assert (
        stats.chisquare(
            np.append(observed, errors.size - observed.sum()), np.append(expected, errors.size - expected.sum())
        ).pvalue
        > ALARM
    )
    assert np.abs(errors).mean() == pytest.approx(mechanism.expected_error(DATA, 0.5), rel=0.02)


UNBIASED = [
    ("geometric", {}),
    ("threshold", {"tau": 9.3}),
    ("priority", {"s": 12}),
    ("priority", {"s": 12, "transform": "dyadic"}),
    ("threshold", {"tau": 60.0, "transform": "haar"}),
    ("sketch", {"rows": 2, "buckets": 8}),
    ("sketch", {"rows": 3, "buckets": 16, "transform": "dyadic"}),
]


@pytest.mark.parametrize(("name", "parameters"), UNBIASED, ids=[f"{n}-{p}" for n, p in UNBIASED])
def test_range_sums_are_unbiased(name: str, parameters: dict) -> None:
    """Mean error of three ranges over 3000 releases within 4 standard errors (false alarms about 6e-5 a range)."""
    lo, hi = np.array([0, 3, 10]), np.array([5, 13, 40])
    rng = np.random.default_rng(9)
    mechanism = dpbench.mechanism(name, **parameters)
    errors = np.array([mechanism.release(DATA, 0.8, rng).sum(lo, hi) for _ in range(3000)]) - DATA.sum(lo, hi)
    assert (np.abs(errors.mean(axis=0)) < 4 * errors.std(axis=0) / math.sqrt(3000)).all()


@pytest.mark.parametrize("epsilon", [0.1, 3.0, 20.0])
@pytest.mark.parametrize("s", [1, 5, 6, 39, 40])
def test_priority_returns_exactly_s(s: int, epsilon: float) -> None:
    rng = np.random.default_rng(10)
    for laborious in (False, True):
        mechanism = dpbench.mechanism("priority", s=s, laborious=laborious)
        for _ in range(30):
            release = mechanism.release(DATA, epsilon, rng)
            assert release.cells.size == release.weights.size == s
            assert np.unique(release.cells).size == s


def test_adjusted_and_plain_weights() -> None:
    release = dpbench.mechanism("priority", s=6).release(DATA, 0.5, np.random.default_rng(11))
    tau = release.chosen["tau"]
    np.testing.assert_array_equal(np.abs(release.weights), np.maximum(np.abs(release.values), tau))
    assert (np.sign(release.weights) == np.sign(release.values)).all()
    np.testing.assert_array_equal(release.plain.weights, release.values)
    assert release.plain.sum(0, SIZE) == pytest.approx(release.values.sum())


def test_filter_for_a_target_size() -> None:
    data = GaussianTable(cells=100_000).build(np.random.default_rng(0))
    for two_sided in (True, False):
        for parameters, t in (({}, 10_000), ({"ratio": 0.5}, 5000), ({"t": 2000}, 2000)):
            mechanism = dpbench.mechanism("filter", two_sided=two_sided, **parameters)
            release = mechanism.release(data, 0.1, np.random.default_rng(1))
            assert 0.9 * t <= release.cells.size <= t
            assert np.abs(release.weights).min() >= release.chosen["theta"]
    small = dpbench.mechanism("filter", t=10**6).release(data, 0.1, np.random.default_rng(1))
    assert small.chosen["theta"] == 1


def test_threshold_for_a_target_size() -> None:
    data = GaussianTable(cells=100_000).build(np.random.default_rng(0))
    for parameters, t in (({}, 10_000), ({"ratio": 0.5}, 5000), ({"t": 2000}, 2000)):
        release = dpbench.mechanism("threshold", **parameters).release(data, 0.1, np.random.default_rng(1))
        assert 0.9 * t <= release.cells.size <= 1.1 * t


def test_filter_priority_takes_half_the_mean() -> None:
    data = GaussianTable(cells=100_000).build(np.random.default_rng(0))
    release = dpbench.mechanism("filter_priority").release(data, 0.1, np.random.default_rng(1))
    assert release.chosen["theta"] == pytest.approx(50, abs=0.5)
    assert release.cells.size == data.nonzeros
    over = dpbench.mechanism("filter_priority", transform="dyadic").release(data, 0.1, np.random.default_rng(1))
    assert over.chosen["theta"] > 200


def test_consistent_filter_drops_only_what_it_should() -> None:
    data = GaussianTable(cells=3000, places="skewed").build(np.random.default_rng(0))
    plain, checked = (
        dpbench.mechanism("filter", theta=150, transform="dyadic", consistent=c).release(
            data, 0.5, np.random.default_rng(2)
        )
        for c in (False, True)
    )
    kept = plain.cells[dyadic.consistent(plain.cells, data.size)]
    np.testing.assert_array_equal(checked.cells, kept)
    assert 0 < kept.size < plain.cells.size


@pytest.mark.parametrize("buckets", [16, 4096])
def test_sketch_variance_is_what_the_text_says(buckets: int) -> None:
    """A cell's estimate has the variance of (collisions ‖M‖² / w + bucket noise at sensitivity d) / d; 4000 sketches, so
    within 12 % but for one run in ten thousand. Few buckets show the collisions, many the noise."""
    data = Contingency.from_dict({5: 40, 17: 30, 60: 25}, size=100)
    rows, epsilon = 2, 0.7
    mechanism = dpbench.mechanism("sketch", rows=rows, buckets=buckets)
    rng = np.random.default_rng(12)
    estimates = np.array([mechanism.release(data, epsilon, rng).at(np.array([1, 5])) for _ in range(4000)])
    noise = geometric.variance(math.exp(-epsilon / rows))
    squares = 40**2 + 30**2 + 25**2
    for column, collide in ((0, squares), (1, squares - 40**2)):
        expected = (collide / buckets + noise) / rows
        assert estimates[:, column].var() == pytest.approx(expected, rel=0.12)


def test_sketch_of_the_noisy_table_is_noisier() -> None:
    """The paper's first approach: a bucket holds the noise of m/w cells, at sensitivity 1."""
    data = Contingency.from_dict({5: 40}, size=2000)
    rng = np.random.default_rng(13)
    mechanism = dpbench.mechanism("sketch", rows=1, buckets=10, laborious=True)
    buckets = np.concatenate([mechanism.release(data, 1.0, rng).buckets.ravel() for _ in range(300)])
    assert buckets.var() == pytest.approx(2000 / 10 * geometric.variance(math.exp(-1.0)) + 40**2 / 10, rel=0.15)


def test_synthesizer_keeps_groups_and_follows_the_posterior() -> None:
    """Group totals stay; a cell's expected count is N (n + α)/(N + αK) in its group, within 4 standard errors."""
    shape = (4, 10)
    data = Contingency.from_dict({(0, 1): 30, (0, 2): 10, (2, 5): 8, (3, 0): 1, (3, 9): 200}, shape=shape)
    mechanism = dpbench.mechanism("synthesizer", delta=1e-3)
    rng = np.random.default_rng(14)
    total, squares = np.zeros(40), np.zeros(40)
    for _ in range(3000):
        release = mechanism.release(data, 4.0, rng)
        full = np.zeros(40)
        full[release.cells] = release.weights
        assert full.reshape(shape).sum(axis=1).tolist() == [40, 0, 8, 201]
        total += full
        squares += full**2
    prior = release.chosen["prior"]
    counts = np.zeros(40)
    counts[data.cells] = data.counts
    people = np.repeat(counts.reshape(shape).sum(axis=1), 10)
    expected = people * (counts + prior) / np.where(people > 0, people + 10 * prior, 1)
    mean = total / 3000
    spread = np.sqrt((squares / 3000 - mean**2) / 3000)
    assert (np.abs(mean - expected) <= 4 * spread + 1e-9).all()


def test_synthesizer_in_one_dimension() -> None:
    release = dpbench.mechanism("synthesizer").release(DATA, 1.0, np.random.default_rng(15))
    assert release.weights.sum() == DATA.total
    assert (release.weights > 0).all()


# Large domains, extreme budgets, empty and full tables, bad input, and what they say of themselves.


# The size of the domain does not matter.


def test_a_domain_of_a_million_million_cells_costs_what_its_entries_cost() -> None:
    """m = 10^12, n = 10^5, every summary: well under a gigabyte (the speed itself is in `bench`)."""
    data = GaussianTable(cells=10**12, density=1e-7).build(np.random.default_rng(0))
    assert data.nonzeros == 100_000
    rng = np.random.default_rng(1)
    lo = rng.integers(0, 9 * 10**11, 1000)
    for name in ("filter", "threshold", "priority", "filter_priority"):
        for transform in ("none", "dyadic") if name in ("filter", "priority") else ("none",):
            tracemalloc.start()
            release = dpbench.mechanism(name, transform=transform).release(data, 0.1, rng)
            release.sum(lo, lo + 10**10)
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            assert peak < 400e6
            assert 0 < release.cells.size <= 110_000
            assert release.cells[-1] < 2 * 10**12 + 100


def test_the_dense_forms_say_what_does_not_fit() -> None:
    data = Contingency.from_dict({7: 3}, size=10**12)
    for mechanism in (dpbench.mechanism("geometric"), dpbench.mechanism("filter", theta=5, laborious=True)):
        assert "places" in mechanism.unfit(data)
        with pytest.raises(UserError, match="fit"):
            mechanism.release(data, 1.0, np.random.default_rng(0))
    assert dpbench.mechanism("filter", theta=5).unfit(data) == ""


def test_extreme_budgets_work() -> None:
    for name in ("filter", "threshold", "priority", "filter_priority", "sketch", "geometric"):
        for epsilon in (1e-6, 1e3):
            release = dpbench.mechanism(name).release(DATA, epsilon, np.random.default_rng(0))
            assert np.isfinite(release.weights).all()
    exact = dpbench.mechanism("geometric").release(DATA, 1e3, np.random.default_rng(0))
    np.testing.assert_array_equal(exact.weights[DATA.cells], DATA.counts)
    with pytest.raises(UserError, match="too small"):
        dpbench.mechanism("filter").release(DATA, 1e-12, np.random.default_rng(0))


def test_empty_and_full_tables() -> None:
    empty = Contingency.from_dict({}, size=50)
    full = Contingency.from_dict(dict.fromkeys(range(8), 5), size=8)
    rng = np.random.default_rng(0)
    for name in ("filter", "threshold", "priority", "filter_priority", "sketch", "geometric"):
        for transform in ("none", "dyadic", "haar"):
            for data in (empty, full):
                release = dpbench.mechanism(name, transform=transform).release(data, 0.5, rng)
                assert np.isfinite(release.sum(0, data.size))
    assert "the table is empty" in dpbench.mechanism("synthesizer").unfit(empty)


# Bad input and facts.


@pytest.mark.parametrize(
    ("name", "parameters", "says"),
    [
        ("filter", {"theta": 0}, "theta=0"),
        ("filter", {"theta": -2.5}, "positive"),
        ("filter", {"t": 2.5}, "whole"),
        ("filter", {"transform": "dyadc"}, "did you mean 'dyadic'"),
        ("filter", {"consistent": True}, "needs transform='dyadic'"),
        ("threshold", {"tau": 0}, "tau=0"),
        ("threshold", {"tau": float("nan")}, "tau=nan"),
        ("priority", {"s": 0}, "s=0"),
        ("priority", {"s": 3.5}, "whole"),
        ("priority", {"ratio": -1}, "ratio=-1"),
        ("filter_priority", {"theta": "big"}, "theta='big'"),
        ("sketch", {"rows": 0}, "rows=0"),
        ("sketch", {"combine": "mode"}, "combine='mode'"),
        ("synthesizer", {"delta": 2.0}, "delta=2.0"),
        ("geometric", {"theta": 3}, "has no parameter 'theta'"),
    ],
)
def test_wrong_parameters(name: str, parameters: dict, says: str) -> None:
    with pytest.raises(UserError, match=says):
        dpbench.mechanism(name, **parameters)


def test_s_larger_than_possible() -> None:
    mechanism = dpbench.mechanism("priority", s=41)
    assert mechanism.unfit(DATA) == "s=41 is more than the 40 places there are"
    with pytest.raises(UserError, match="s=41"):
        mechanism.release(DATA, 1.0, np.random.default_rng(0))
    assert dpbench.mechanism("priority", s=41, transform="dyadic").unfit(DATA) == ""


def test_what_looks_at_the_data_says_so() -> None:
    for name, given in (("filter", {"theta": 5}), ("threshold", {"tau": 9}), ("priority", {"s": 5})):
        assert "not sensitive" in dpbench.mechanism(name).not_private()
        assert dpbench.mechanism(name, **given).not_private() == ""
    assert dpbench.mechanism("filter", t=50).not_private() == ""
    assert "τ" in dpbench.mechanism("threshold", t=50).not_private()
    assert "θ" in dpbench.mechanism("filter_priority", s=5).not_private()
    assert dpbench.mechanism("filter_priority", s=5, theta=9).not_private() == ""
    assert dpbench.mechanism("filter_priority", s=5, transform="dyadic").not_private() == ""
    assert "buckets" in dpbench.mechanism("sketch").not_private()
    assert dpbench.mechanism("geometric").not_private() == ""


SPARSE = [name for name, cls in MECHANISMS.items() if cls.paper == "sparse"]


@pytest.mark.parametrize("name", SPARSE)
def test_same_rng_same_release_and_input_untouched(name: str) -> None:
    mechanism = dpbench.mechanism(name)
    before = DATA.cells.copy(), DATA.counts.copy()
    one, same, other = (mechanism.release(DATA, 0.5, np.random.default_rng(seed)) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.weights, same.weights)
    assert one.weights.shape != other.weights.shape or not np.array_equal(one.weights, other.weights)
    np.testing.assert_array_equal(DATA.cells, before[0])
    np.testing.assert_array_equal(DATA.counts, before[1])
    assert isinstance(one, dpbench.Summary)
    if isinstance(one, Entries):
        with pytest.raises(ValueError, match="read-only"):
            one.weights[:1] = 0


def test_all_are_there() -> None:
    assert set(SPARSE) == {"geometric", "filter", "threshold", "priority", "filter_priority", "sketch", "synthesizer"}
