"""Claims decided by computation: lemmas and formulas of the papers, evaluated over every small case or a stated grid.

A claim names one of `COMPUTATIONS`. Its value is the worst over all cases, independent of the paper's proof. Groups and
sampling rates are taken from the mechanisms' code. Imported by the ledger and by `decide.py`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator

import numpy as np

from dpbench.claims import formulas_sparse
from dpbench.claims.computed import Computed, largest, least

BUDGETS = (0.1, math.log(2), math.log(3))
"""The budgets of gs, Section 5."""


def beta(epsilon: float, delta: float) -> float:
    """The rate of row sampling, as in the mechanisms."""
    from dpbench.mechanisms.gs._sampling import row_rate

    return row_rate(epsilon, delta)


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
    return largest(move for d in range(1, 9) for delta in range(1, d + 1) for move in _moves(d, delta, delta))


def gs_lemma_2() -> Computed:
    """The sensitivity of the averages of groups of w columns, divided by Δ/w."""
    return largest(
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

    return largest(
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
    return largest(
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
    return largest(
        (_squared_error(rates) + 8 / epsilon**2) / f(sum(rates) / len(rates), len(rates), epsilon)
        for epsilon in BUDGETS
        for rates in (tuple(1 / size for size in sizes) for _, sizes in _row_sizes())
    )


def gs_f_falls() -> Computed:
    """The largest step of f from one x to the next, between 0 and 1."""
    grid = np.linspace(0, 1, 1001)
    counts = [*range(1, 101), 1000, 10**4, 10**6]
    return largest(float(np.diff(c * grid * (1 - grid) + (c * (grid - 1)) ** 2).max() / c) for c in counts)


def gs_formula_18() -> Computed:
    """β Δ, over budgets from 0.001 to 10 and Δ from 1 to 10^5."""
    deltas = np.unique(np.logspace(0, 5, 60).astype(int))
    return largest(
        float(delta) * beta(float(epsilon), float(delta)) for epsilon in np.logspace(-3, 1, 41) for delta in deltas
    )


def gs_formula_19() -> Computed:
    """γ Δ, γ being the mean rate at which a column's ones are sampled."""
    return least(delta * sum(1 / size for size in sizes) / len(sizes) for delta, sizes in _row_sizes())


def gs_row_sample() -> Computed:
    """The expected number of rows in Trajectory's row sample at ln 2 and ln 3."""
    return largest(62956 * beta(epsilon, 55) for epsilon in BUDGETS[1:])


def sensitivity_equal_rows() -> Computed:
    """The count lost by limiting rows to the average row, if all rows are equally large."""

    from dpbench.mechanisms.sensitivity._limits import normalised_counts

    def lost(rows: tuple[tuple[int, ...], ...], size: int) -> float:
        indices = np.array(rows).ravel()
        counts = np.bincount(indices, minlength=5)
        limited = normalised_counts(np.arange(len(rows) + 1) * size, indices, counts, size)
        return float(np.abs(counts - limited).max())

    return largest(
        lost(rows, size)
        for size in range(1, 6)
        for rows in itertools.combinations_with_replacement(list(itertools.combinations(range(5), size)), 3)
    )


def gs_corollary_1() -> Computed:
    """The loss of a mechanism on a row sample, summed over both samples, over ln(1 + β (e^ε₁ - 1)).

    The mechanism is the worst one: randomised response on whether the row is there, at ε₁.
    """

    def loss(rate: float, epsilon: float) -> float:
        yes = math.exp(epsilon) / (1 + math.exp(epsilon))
        there = rate * yes + (1 - rate) * (1 - yes)  # the row is in the data, and in the sample with this rate
        most = max(math.log(there / (1 - yes)), math.log(yes / (1 - there)))
        return most / math.log1p(rate * math.expm1(epsilon))

    return largest(loss(float(rate), epsilon) for rate in np.linspace(0.01, 1, 100) for epsilon in (*BUDGETS, 2.0, 5.0))


def gs_theorem_2() -> Computed:
    """E|noise| of FPA in a count over Theorem 2's √2 ρ √Δ/(ε √d); ρ = 2m - 1 counts m coefficients with their conjugates.

    The noise is a sum of Laplace variables, one of weight 1 and for each further coefficient one of 2 cos kθ and one of 2 sin kθ.
    By its characteristic function φ, E|X| = (2/π) ∫ (1 - φ(u))/u² du; d, Δ and ε cancel.
    """
    from scipy import integrate

    def ratio(m: int, angle: float) -> float:
        k = np.arange(1, m) * angle
        weights = np.concatenate([[1.0], 2 * np.cos(k), 2 * np.sin(k)]) ** 2

        def inside(u: float) -> float:
            return float(-np.expm1(-np.log1p(weights * u**2).sum()) / u**2)

        mean = 2 / math.pi * (integrate.quad(inside, 0, 1)[0] + integrate.quad(inside, 1, np.inf)[0])
        return float(math.sqrt(m) * mean / (math.sqrt(2) * (2 * m - 1)))

    return largest(ratio(m, float(angle)) for m in (1, 2, 3, 5, 20) for angle in np.linspace(0, math.pi, 9))


def gs_column_against_row() -> Computed:
    """The mean squared error of a column sample's count over that of a row sample, summed over all samples."""
    return largest(
        (_squared_error(tuple(1 / size for size in sizes)) + 8 / epsilon**2)
        / (_squared_error((beta(epsilon, delta),) * len(sizes)) + 8 / epsilon**2)
        for epsilon in BUDGETS
        for delta, sizes in _row_sizes()
    )


def gs_beta_falls() -> Computed:
    """β at Δ + 1 over β at Δ, over e^(-ε/2): how far the rate is from falling exponentially, beyond Δ = 2/ε."""
    return largest(
        abs(beta(epsilon, delta + 1) / beta(epsilon, delta) / math.exp(-epsilon / 2) - 1)
        for epsilon in BUDGETS
        for delta in range(math.ceil(20 / epsilon), math.ceil(20 / epsilon) + 50)
    )


def gs_one_group() -> Computed:
    """The number of groups of GS-S on Netflix, whose Δ is 17000 of 17770 columns: with one group, no sample matters."""
    from dpbench.mechanisms.gs._grouping import group_ids

    return largest([float(group_ids(17770, 17000).max() + 1)])


def sensitivity_unequal_rows() -> Computed:
    """The share of all counts that is lost at θ = the average row, if half of the rows have 1 and half have R ones."""
    return largest(
        (large - (1 + large) / 2) / (1 + large) for large in (3, 10, 100, 1000)
    )  # rows above θ lose what exceeds it


def sensitivity_average_only() -> Computed:
    """The error at θ = the average row over the least error of any θ, predicted by q, for the same kinds of data.

    n rows over d columns at ε_p = 1: truncation Σ max(RC - θ, 0)/d plus noise θ.
    """

    def error(theta: float, large: int, n: int, d: int) -> float:
        return n * (max(1 - theta, 0) + max(large - theta, 0)) / 2 / d + theta

    return largest(
        error((1 + large) / 2, large, n, 1000) / min(error(theta, large, n, 1000) for theta in range(1, large + 1))
        for large in (3, 10, 100, 1000)
        for n in (100, 1000, 10**4, 10**6)
    )


# epicrec: its programs, solved for every small catalogue.


CATEGORIES = 3


def _catalogues() -> list[np.ndarray]:
    """Every set of up to three different items over three categories in which each category occurs."""
    items = [item for item in itertools.product((0, 1), repeat=CATEGORIES) if any(item)]
    sets = [np.array(some) for n in (1, 2, 3) for some in itertools.combinations(items, n)]
    return [matrix for matrix in sets if matrix.sum(axis=0).min() > 0]


def epicrec_against_laplace() -> Computed:
    """The mean calibrated noise over that of plain Laplace noise."""
    from scipy.sparse import csr_array

    from dpbench.mechanisms.epicrec._calibration import least_noise

    return largest(
        float(least_noise(csr_array(matrix.astype(float))).mean() / matrix.sum(axis=1).max())
        for matrix in _catalogues()
    )


def epicrec_nonnegative() -> Computed:
    """How much nearer to the noisy aggregates non-negative entries come than entries between 0 and 1; 0 if equivalent."""
    from scipy.optimize import lsq_linear

    def gain(matrix: np.ndarray, target: np.ndarray) -> float:
        rest = [lsq_linear(matrix.T.astype(float), target, (0, top)).cost for top in (1, np.inf)]
        return float(rest[0] - rest[1])

    targets = [np.array(target, dtype=float) for target in itertools.product((0, 4), repeat=CATEGORIES)]
    return largest(gain(matrix, target) for matrix in _catalogues()[:12] for target in targets)


def epicrec_convex() -> Computed:
    """1 minus the largest Σ 1/z over an item at the middle of two feasible z: never below 0, so the feasible set is convex."""
    grid = [np.array(z) for z in itertools.product((1.0, 1.5, 2.0, 3.0, 6.0, 30.0), repeat=CATEGORIES)]

    def worst(matrix: np.ndarray) -> float:
        feasible = [z for z in grid if (matrix @ (1 / z)).max() <= 1 + 1e-12]
        pairs = itertools.combinations(feasible, 2)
        return min((1 - float((matrix @ (2 / (one + other))).max()) for one, other in pairs), default=0.0)

    return least(worst(matrix) for matrix in _catalogues()[:12])


COMPUTATIONS: dict[str, Callable[[], Computed]] = {
    name: compute
    for name, compute in {**globals(), **vars(formulas_sparse)}.items()
    if name.startswith(("gs_", "sparse_", "sensitivity_", "epicrec_"))
}
"""All functions that begin with the name of a paper."""
