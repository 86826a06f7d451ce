"""Measured numbers as people write them."""

from __future__ import annotations

import math

import pytest

from dpbench.storage.numbers import plain, with_error


@pytest.mark.parametrize(
    ("value", "error", "written"),
    [
        (57012.3, 163.2, "57,010 ± 160"),
        (0.3486, 0.08123, "0.349 ± 0.081"),
        (6183.0, 2900.0, "6,200 ± 2,900"),
        (1e-7, 3e-9, "(1.000 ± 0.030)e-7"),
        (5.4e12, 1e10, "(5.400 ± 0.010)e12"),
        (3.0, 0.0, "3 ± 0"),
        (33.716666666666676, 2e-15, "33.7167 ± 0"),
        (1117.842, 1e-13, "1,117.84 ± 0"),
        (3.25, None, "3.25"),
        (3.0, math.nan, "3"),
        (math.nan, 1.0, ""),
        (math.inf, 1.0, "inf"),
        (-0.5, 0.0999, "-0.500 ± 0.100"),
        (0.0, 5.0, "0.0 ± 5.0"),
    ],
)
def test_a_mean_and_its_error(value: float, error: float | None, written: str) -> None:
    assert with_error(value, error) == written


@pytest.mark.parametrize(
    ("value", "written"), [(1234567.0, "1,234,570"), (0.000123456789, "0.000123457"), (12.0, "12"), (1e10, "1e+10")]
)
def test_a_number_alone(value: float, written: str) -> None:
    assert plain(value) == written
