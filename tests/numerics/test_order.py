"""The order of millions of numbers: the same as numpy's stable order, on whatever is sorted."""

from __future__ import annotations

import numpy as np
import pytest

from dpbench.numerics import order
from dpbench.numerics.order import ascending

RNG = np.random.default_rng(3)
CASES = {
    "nothing": np.array([]),
    "one": np.array([-3.0]),
    "noisy counts": RNG.poisson(1.0, 300_000) + RNG.laplace(0, 20, 300_000),
    "whole numbers with ties": np.round(RNG.laplace(0, 20, 100_000)),
    "constant": np.full(10_000, 7.25),
    "zeros of both signs": RNG.choice([0.0, -0.0, 1.0, -1.0], 10_000),
    "heavy tails": RNG.standard_cauchy(100_000) * 1e290,
    "the smallest numbers": RNG.integers(-50, 50, 10_000) * 5e-324,
    "the largest numbers": RNG.choice([1.0, -1.0], 10_000) * np.finfo(float).max * RNG.random(10_000),
    "descending": -np.arange(100_000.0),
    "a power of two": RNG.permutation(1 << 16).astype(float),
    "far from zero": 1e12 + RNG.permutation(40_000) * 2.0**-12,
    "equal in all kept bits": np.concatenate([RNG.laplace(0, 1, 60_000), 1e12 + RNG.permutation(40_000) * 2.0**-12]),
    "a few equal in all kept bits": np.concatenate([RNG.random(50_000), 1.0 + RNG.permutation(500) * 2.0**-52]),
}


@pytest.mark.parametrize("name", CASES)
def test_the_order_is_the_stable_one(name: str) -> None:
    values = CASES[name]
    given = values.copy()
    found, sorted_values = ascending(values)
    expected = np.argsort(values, kind="stable")
    assert np.array_equal(found, expected)
    assert np.array_equal(sorted_values, values[expected])
    assert np.array_equal(values, given), "inputs are read-only"


def test_values_that_agree_in_the_kept_bits_are_put_right_or_sorted_in_general(monkeypatch: pytest.MonkeyPatch) -> None:
    """The two cases above take the two paths: a few moves, and too many."""
    ways: list[bool] = []
    mend = order._mend

    def watched(*given: object) -> bool:
        ways.append(mend(*given))
        return ways[-1]

    monkeypatch.setattr(order, "_mend", watched)
    ascending(CASES["a few equal in all kept bits"])
    ascending(CASES["equal in all kept bits"])
    assert ways == [True, False]
