"""Claims decided by computation: lemmas and formulas of the papers, evaluated over every small case or a stated grid.

A claim names one of `COMPUTATIONS`. Its value is the worst over all cases, independent of the paper's proof. Groups and
sampling rates are taken from the mechanisms' code. Imported by the ledger and by `decide.py`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

BUDGETS = (0.1, math.log(2), math.log(3))
"""The budgets of gs, Section 5."""


@dataclass(frozen=True)
class Computed:
    """The worst value over all cases, and how many there were."""

    value: float
    cases: int


def beta(epsilon: float, delta: float) -> float:
    """The rate of row sampling, as in the mechanisms."""
    from dpbench.mechanisms.gs._sampling import row_rate

    return row_rate(epsilon, delta)


def _largest(values: Iterator[float]) -> Computed:
    listed = list(values)
    return Computed(max(listed), len(listed))


def _least(values: Iterator[float]) -> Computed:
    listed = list(values)
    return Computed(min(listed), len(listed))


def _moves(d: int, delta: int, w: int) -> Iterator[float]:
    """How far one row with at most Δ ones moves the averages of groups of w columns: Σ_j m_j / |g_j|.

    All sets of columns are tried, so the order of the columns does not matter.
    """
    from dpbench.mechanisms.gs._grouping import group_ids

    groups = group_ids(d, w)
    weights = 1 / np.bincount(groups)[groups]
    for size in range(1, delta + 1):
        for ones in itertools.combinations(range(d), size):
            yield float(weights[list(ones)].sum())


def gs_lemma_1() -> Computed:
    """The sensitivity of the averages in GS-R, whose groups have Δ columns."""
    return _largest(move for d in range(1, 9) for delta in range(1, d + 1) for move in _moves(d, delta, delta))


def gs_lemma_2() -> Computed:
    """The sensitivity of the averages of groups of w columns, divided by Δ/w."""
    return _largest(
        move * w / delta
        for d in range(1, 9)
        for delta in range(1, d + 1)
        for w in range(1, d + 1)
        for move in _moves(d, delta, w)
    )


def gs_formula_13() -> Computed:
    """The expected error E|r + Lap(b)|, integrated numerically, divided by its bound |r| + √2 b; b = 2 Δ/(ε w)."""
    from scipy import integrate

    def ratio(r: float, b: float) -> float:
        tail = integrate.quad(lambda x: abs(r + b * x) * math.exp(-abs(x)) / 2, -40, 40, points=[-r / b, 0])[0]
        return float(tail / (r + math.sqrt(2) * b))

    return _largest(
        ratio(r, 2 * delta / (epsilon * w))
        for epsilon in BUDGETS
        for delta, w in ((55, 1), (55, 55), (55, 5000), (436, 20), (2175, 10**5))
        for r in (0.0, 0.1, 1.0, 5.0, 30.0)
    )


def _squared_error(rates: tuple[float, ...]) -> float:
    """E (s - c)², where each of the c ones is in the sample s with its own rate: from the distribution of s."""
    chance = np.ones(1)
    for rate in rates:
        chance = np.convolve(chance, [1 - rate, rate])
    return float(chance @ (np.arange(len(chance)) - len(rates)) ** 2)


def f(x: float, c: int, epsilon: float) -> float:
    """The right-hand side of Formulae 15 and 16."""
    return c * x * (1 - x) + (c * (x - 1)) ** 2 + 8 / epsilon**2


def gs_formula_15() -> Computed:
    """The relative difference between the error of a row sample, summed over all samples, and the formula."""
    return _largest(
        abs((_squared_error((rate,) * c) + 8 / epsilon**2) / f(rate, c, epsilon) - 1)
        for epsilon in BUDGETS
        for rate in (beta(epsilon, delta) for delta in (1, 2, 3, 10, 55, 436))
        for c in range(1, 31)
    )


def _row_sizes() -> Iterator[tuple[int, tuple[int, ...]]]:
    """Δ, and the sizes of the rows that hold a column's ones: all of them for up to five ones and Δ up to 6."""
    for delta in range(1, 7):
        for c in range(1, 6):
            for sizes in itertools.combinations_with_replacement(range(1, delta + 1), c):
                yield delta, sizes


def gs_formula_16() -> Computed:
    """The error of a column sample, summed over all samples, divided by the bound of Formulae 16 and 17."""
    return _largest(
        (_squared_error(rates) + 8 / epsilon**2) / f(sum(rates) / len(rates), len(rates), epsilon)
        for epsilon in BUDGETS
        for rates in (tuple(1 / size for size in sizes) for _, sizes in _row_sizes())
    )


def gs_f_falls() -> Computed:
    """The largest step of f from one x to the next, between 0 and 1."""
    grid = np.linspace(0, 1, 1001)
    counts = [*range(1, 101), 1000, 10**4, 10**6]
    return _largest(float(np.diff(c * grid * (1 - grid) + (c * (grid - 1)) ** 2).max() / c) for c in counts)


def gs_formula_18() -> Computed:
    """β Δ, over budgets from 0.001 to 10 and Δ from 1 to 10^5."""
    deltas = np.unique(np.logspace(0, 5, 60).astype(int))
    return _largest(
        float(delta) * beta(float(epsilon), float(delta)) for epsilon in np.logspace(-3, 1, 41) for delta in deltas
    )


def gs_formula_19() -> Computed:
    """γ Δ, γ being the mean rate at which a column's ones are sampled."""
    return _least(delta * sum(1 / size for size in sizes) / len(sizes) for delta, sizes in _row_sizes())


def gs_row_sample() -> Computed:
    """The expected number of rows in Trajectory's row sample at ln 2 and ln 3."""
    return _largest(62956 * beta(epsilon, 55) for epsilon in BUDGETS[1:])


def sensitivity_equal_rows() -> Computed:
    """The count lost by limiting rows to the average row, if all rows are equally large."""

    from dpbench.mechanisms.sensitivity._limits import normalised_counts

    def lost(rows: tuple[tuple[int, ...], ...], size: int) -> float:
        indices = np.array(rows).ravel()
        counts = np.bincount(indices, minlength=5)
        limited = normalised_counts(np.arange(len(rows) + 1) * size, indices, counts, size)
        return float(np.abs(counts - limited).max())

    return _largest(
        lost(rows, size)
        for size in range(1, 6)
        for rows in itertools.combinations_with_replacement(list(itertools.combinations(range(5), size)), 3)
    )


COMPUTATIONS: dict[str, Callable[[], Computed]] = {
    found.__name__: found
    for found in (
        gs_lemma_1,
        gs_lemma_2,
        gs_formula_13,
        gs_formula_15,
        gs_formula_16,
        gs_f_falls,
        gs_formula_18,
        gs_formula_19,
        gs_row_sample,
        sensitivity_equal_rows,
    )
}
