"""The modern mechanisms for histograms: large domains, extreme budgets, empty tables, what is refused and what they say."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import dpbench
from dpbench.data import Contingency
from dpbench.errors import UserError
from dpbench.mechanisms.base import MECHANISMS

SPARSE = ("gshm", "stability_laplace", "gaussian_sketch", "alp")
WRITTEN = ("hb", "dawa")


def huge(size: int) -> Contingency:
    rng = np.random.default_rng(0)
    return Contingency(np.unique(rng.integers(0, size, 20_000)), np.ones(20_000, dtype=np.int64) * 80, size)


@pytest.mark.parametrize(
    ("name", "parameters", "says"),
    [
        ("gaussian_sketch", {"buckets": 10**10}, "about 5e\\+10 entries.*fewer buckets"),
        ("alp", {"buckets": 10**10, "largest": 9}, "buckets=10000000000 is too much"),
        ("hb", {}, "at most"),
        ("dawa", {}, "at most"),
    ],
)
def test_a_release_that_no_memory_holds_is_refused(name: str, parameters: dict, says: str) -> None:
    with pytest.raises(UserError, match=says):
        dpbench.mechanism(name, **parameters).release(huge(10**12), 0.1, np.random.default_rng(0))


@pytest.mark.parametrize("name", SPARSE)
@pytest.mark.parametrize("transform", ["none", "dyadic"])
def test_a_domain_of_a_million_million_cells_costs_what_its_entries_cost(name: str, transform: str) -> None:
    """Memory of a release, some cells and, over a tree, some ranges: below a byte for every 10^4 cells."""
    data = huge(10**12)
    mechanism, rng = dpbench.mechanism(name, transform=transform), np.random.default_rng(1)
    tracemalloc.start()
    release = mechanism.release(data, 1.0, rng)
    found = release.at(data.cells[:100])
    if transform == "dyadic":
        lo = rng.integers(0, 9 * 10**11, 50)
        assert np.isfinite(release.sum(lo, lo + 10**11)).all()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert np.isfinite(found).all()
    assert peak < 400e6
    assert mechanism.not_private() == ""


def test_a_table_read_by_hashing_says_which_ranges_it_cannot_answer() -> None:
    for name in ("gaussian_sketch", "alp"):
        release = dpbench.mechanism(name).release(huge(10**12), 1.0, np.random.default_rng(2))
        with pytest.raises(UserError, match="transform='dyadic'"):
            release.sum(0, 10**12)


@pytest.mark.parametrize(("name", "limit"), [("hb", "33,554,432"), ("dawa", "1,048,576")])
def test_what_is_written_out_says_how_much_fits(name: str, limit: str) -> None:
    mechanism = dpbench.mechanism(name)
    data = Contingency.from_dict({7: 3}, size=10**12)
    assert f"1,000,000,000,000 cells of the domain, and at most {limit} fit" in mechanism.unfit(data)
    with pytest.raises(UserError, match=limit):
        mechanism.release(data, 1.0, np.random.default_rng(0))
    assert mechanism.unfit(Contingency.from_dict({7: 3}, size=int(limit.replace(",", "")))) == ""


@pytest.mark.parametrize("name", [*SPARSE, *WRITTEN])
def test_extreme_budgets_empty_and_tiny_tables(name: str) -> None:
    rng, mechanism = np.random.default_rng(3), dpbench.mechanism(name)
    tables = [
        Contingency.from_dict({}, size=50),
        Contingency.from_dict({0: 4}, size=1),
        Contingency.from_dict(dict.fromkeys(range(8), 5), shape=(2, 4)),
    ]
    for data in tables:
        for epsilon in (1e-3, 1.0, 300.0):
            release = mechanism.release(data, epsilon, rng)
            assert np.isfinite(release.sum(0, data.size))
            assert np.isfinite(release.published()).all()
        if name != "gaussian_sketch":  # in which cells of a small domain share buckets
            assert release.sum(0, data.size) == pytest.approx(data.total, abs=0.5)


@pytest.mark.parametrize(
    ("name", "parameters", "says"),
    [
        ("gshm", {"delta": 0}, "delta=0"),
        ("stability_laplace", {"delta": 1.0}, "between 0 and 1"),
        ("gshm", {"k": 0}, "k=0"),
        ("gshm", {"k": 2, "transform": "dyadic"}, "k=2 with transform='dyadic' is not valid"),
        ("stability_laplace", {"k": 2, "transform": "dyadic"}, "whose count the threshold would not hide"),
        ("alp", {"k": 1.5}, "whole"),
        ("alp", {"transform": "haar"}, "transform='haar'"),
        ("alp", {"alpha": -1}, "alpha=-1"),
        ("alp", {"largest": 0}, "largest=0"),
        ("alp", {"buckets": 2.5}, "whole"),
        ("gaussian_sketch", {"rows": 0}, "rows=0"),
        ("gaussian_sketch", {"delta": "x"}, "delta='x'"),
        ("dawa", {"share": 1}, "share=1"),
        ("dawa", {"share": 0}, "share=0"),
    ],
)
def test_wrong_parameters_are_named(name: str, parameters: dict[str, object], says: str) -> None:
    with pytest.raises(UserError, match=says):
        dpbench.mechanism(name, **parameters)


def test_a_sketch_needs_a_bucket_for_each_level() -> None:
    data = Contingency.from_dict({7: 3}, size=1000)
    assert "11 levels" in dpbench.mechanism("gaussian_sketch", buckets=10, transform="dyadic").unfit(data)
    assert dpbench.mechanism("gaussian_sketch", buckets=11, transform="dyadic").unfit(data) == ""


def test_guarantees_are_said() -> None:
    pure = {name for name in (*SPARSE, *WRITTEN) if MECHANISMS.get(name).privacy == "ε"}
    assert pure == {"alp", "hb", "dawa"}
    for name in (*SPARSE, *WRITTEN):
        assert dpbench.mechanism(name).not_private() == ""
        assert ("k cells" in MECHANISMS.get(name).neighbours) == (name in SPARSE)
    assert "single cells" in MECHANISMS.get("dawa").reconstructed
