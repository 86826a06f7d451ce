"""The sparse mechanisms: large domains, extreme budgets, empty and full tables, bad input, and what they say of themselves."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import dpbench
from dpbench.data import Contingency
from dpbench.data.summary import Entries
from dpbench.errors import UserError
from dpbench.mechanisms.base import MECHANISMS
from dpbench.sources.generators.tables import GaussianTable

DATA = Contingency.from_dict({2: 1, 3: 4, 11: 2, 12: 7, 13: 1, 29: 12}, size=40)


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
