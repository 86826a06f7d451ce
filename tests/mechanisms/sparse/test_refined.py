"""Threshold samples whose τ is refined to a wanted size: by hand, and on a table."""

from __future__ import annotations

import numpy as np
import pytest

from dpbench.data import Contingency
from dpbench.errors import UserError
from dpbench.mechanisms.base import MECHANISMS
from dpbench.mechanisms.sparse.samples import refined


def test_equal_values_by_hand() -> None:
    """Ten values of 1 sampled at τ = 1: five are left at τ = 2, each with probability 1/2."""
    tau, kept = refined(np.ones(10), 1.0, 5, np.linspace(0.05, 0.95, 10))
    assert tau == pytest.approx(2)
    assert kept.sum() == 5


def test_values_above_tau_stay() -> None:
    """Of 100, 1 and 1 at τ = 1, two are left when 1 + 2/τ = 2: τ = 2, and the large one stays for certain."""
    tau, kept = refined(np.array([100.0, -1.0, 1.0]), 1.0, 2, np.array([0.999, 0.4, 0.6]))
    assert tau == pytest.approx(2)
    assert kept.tolist() == [True, True, False]


def test_a_small_sample_is_kept() -> None:
    tau, kept = refined(np.array([3.0, 4.0]), 5.0, 2, np.array([0.99, 0.99]))
    assert (tau, kept.all()) == (5.0, True)


def test_the_size_is_nearer_to_the_wanted_one() -> None:
    """2000 non-zeros of 20000 cells, t = 2000: the estimate leaves fewer. The seed is fixed."""
    rng = np.random.default_rng(1)
    cells = rng.choice(20_000, 2000, replace=False)
    data = Contingency.from_dict({int(cell): 100 for cell in cells}, size=20_000)
    sizes = []
    for refine in (False, True):
        mechanism = MECHANISMS.make("threshold", t=2000, refine=refine)
        sizes.append(mechanism.release(data, epsilon=0.1, rng=np.random.default_rng(2)).chosen["entries"])
    assert sizes[0] < 1900
    assert abs(sizes[1] - 2000) < 60


def test_refining_a_given_threshold_has_no_effect() -> None:
    with pytest.raises(UserError, match="refine=True has no effect"):
        MECHANISMS.make("threshold", tau=3, refine=True)
