"""The other readings of S-DPDP's phase 2, at a budget at which noise is negligible."""

from __future__ import annotations

import numpy as np
import pytest

from dpbench.data import Catalogue
from dpbench.errors import UserError
from dpbench.mechanisms.base import MECHANISMS

SIZES = np.array([[1, 0]] * 30 + [[0, 1]] * 10)
"""Thirty items of one category, ten of another."""


def catalogue() -> Catalogue:
    return Catalogue.from_matrix(SIZES, [list(range(24))])


def released(**parameters: str) -> np.ndarray:
    mechanism = MECHANISMS.make("s_dpdp", user=0, **parameters)
    return mechanism.release(catalogue(), epsilon=1e6, rng=np.random.default_rng(1)).history


def test_without_upper_bounds_one_item_stands_for_all() -> None:
    """24 items of the first category become one entry near 24, of which rounding leaves one item."""
    assert released().size == 24
    assert released(relaxation="nonnegative").size == 1


def test_even_shares_are_rounded_one_by_one() -> None:
    """Each of 30 items is taken with probability 24/30: 24 ± 5 x 2.2."""
    assert released(rounding="even").size == pytest.approx(24, abs=11)
    assert released(relaxation="nonnegative", rounding="even").size == pytest.approx(24, abs=11)


def test_words_that_mean_nothing() -> None:
    with pytest.raises(UserError, match="relaxation"):
        MECHANISMS.make("s_dpdp", relaxation="none")
    with pytest.raises(UserError, match="rounding"):
        MECHANISMS.make("s_dpdp", rounding="none")
