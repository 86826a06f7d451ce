"""The loss of what looks at the data, as claims state it."""

from __future__ import annotations

import pytest

from dpbench.audit.certain import certain_loss


@pytest.mark.parametrize(
    ("name", "observed", "declared"),
    [
        ("lpa", {}, {"bound": 20}),
        ("gs_r", {}, {"bound": 20}),
        ("gs_s", {}, {"bound": 20}),
        ("gs", {}, {"bound": 20}),
        ("fpa", {"bound": 2}, {"bound": 20, "rho": 1}),
    ],
)
def test_what_looks_at_the_data_loses_more_than_it_says(name: str, observed: dict, declared: dict) -> None:
    """Parameters taken from the data are found out; the same declared beforehand stay within ε (false alarm 5 %)."""
    assert certain_loss(name, 1.0, **observed) > 2
    assert certain_loss(name, 1.0, **declared) <= 1
