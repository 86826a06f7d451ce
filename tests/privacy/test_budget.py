"""`Budget`: parts of an epsilon, and never more than all of it."""

from __future__ import annotations

import math

import pytest

from dpbench.privacy import Budget


def test_parts_are_shares_of_the_whole() -> None:
    budget = Budget(2.0)
    assert budget.take(0.25) == 0.5
    assert budget.left == 1.5
    assert budget.take(0.5) == 1.0
    assert budget.rest() == 0.5
    assert budget.left == 0


def test_rounding_is_no_overdraft() -> None:
    budget = Budget(1.0)
    for _ in range(10):
        budget.take(0.1)  # in floating point, ten times 0.1 is not 1
    with pytest.raises(ValueError, match="overdrawn"):
        budget.take(1e-9)


@pytest.mark.parametrize("share", [0.51, 1.0])
def test_overdrawing_raises(share: float) -> None:
    budget = Budget(3.0)
    budget.take(0.5)
    with pytest.raises(ValueError, match=r"overdrawn: a share of .* is asked for, 0.5 is left"):
        budget.take(share)
    assert budget.take(0.5) == 1.5


@pytest.mark.parametrize("share", [0, -0.1, 1.1, math.nan])
def test_what_is_no_share_is_refused(share: float) -> None:
    with pytest.raises(ValueError, match="share="):
        Budget(1.0).take(share)


@pytest.mark.parametrize("epsilon", [0, -1, math.inf, math.nan])
def test_what_is_no_epsilon_is_refused(epsilon: float) -> None:
    with pytest.raises(ValueError, match="epsilon="):
        Budget(epsilon)
