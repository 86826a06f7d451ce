"""The table that fits noisy marginals of two attributes best, as Private-PGM defines it: least squares, then most entropy.

McKenna, Sheldon, Miklau: Graphical-model based Estimation and Inference for Differential Privacy, ICML 2019. They descend over
the marginals of a graphical model of many attributes. For two, the optimum can be computed: a product of two marginals while
only these are measured; otherwise the only table of least squares. Used by marginals.py.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpbench.numerics.arrays import Floats

STEPS = 200
"""Most Newton steps. About ten are needed: each that leaves the positive cells the same is the last one."""
SLACK = 1e-12
"""Relative precision of the sums."""


@dataclass(frozen=True, eq=False)
class NoisyMarginal:
    """A noisy marginal: its values, and their weights, 1/variance."""

    values: Floats
    weights: Floats

    def and_also(self, values: Floats, sigma: float) -> NoisyMarginal:
        """With a further measurement of the same marginal: the mean weighted by 1/variance."""
        weights = self.weights + 1 / sigma**2
        return NoisyMarginal(self.values + (values - self.values) / (sigma**2 * weights), weights)

    def merged(self, groups: NDArray[np.intp]) -> NoisyMarginal:
        """The sums over groups of values; variances add up."""
        values, variances = (np.bincount(groups, each) for each in (self.values, 1 / self.weights))
        return NoisyMarginal(np.asarray(values, dtype=np.float64), np.asarray(1 / variances))


def measured(values: Floats, sigma: float) -> NoisyMarginal:
    """A marginal that was measured with noise N(0, σ²) on each value."""
    return NoisyMarginal(values, np.full(values.shape, sigma**-2))


def total_of(*marginals: NoisyMarginal) -> float:
    """The number of individuals: the sums of all marginals, weighted by 1/variance; at least 0."""
    weights = np.array([1 / (1 / each.weights).sum() for each in marginals])
    sums = np.array([each.values.sum() for each in marginals])
    return max(0.0, float(weights @ sums / weights.sum()))


def fit(rows: NoisyMarginal, columns: NoisyMarginal, cells: NoisyMarginal | None = None) -> Floats:
    """The non-negative table with the estimated total that has the least weighted squared distance from the measurements."""
    if cells is None:
        total = total_of(rows, columns)
        of_rows, of_columns = (project(each, total) for each in (rows, columns))
        return np.asarray(np.outer(of_rows, of_columns / total if total else of_columns))
    total = total_of(rows, columns, cells)
    if not total:
        return np.zeros(cells.values.shape)
    if len(rows.values) < len(columns.values):
        return _least_squares(columns, rows, cells.values.T, float(cells.weights.flat[0]), total).T
    return _least_squares(rows, columns, cells.values, float(cells.weights.flat[0]), total)


def project(marginal: NoisyMarginal, total: float) -> Floats:
    """The non-negative values with this sum at the least weighted squared distance: max(0, y - μ/w)."""
    order = np.argsort(-marginal.values * marginal.weights, kind="stable")
    values, variances = marginal.values[order], 1 / marginal.weights[order]
    # With the first k values positive, μ = (Σ y - total) / Σ 1/w; it is the largest of these numbers.
    shift = ((np.cumsum(values) - total) / np.cumsum(variances)).max()
    return np.asarray(np.maximum(0.0, marginal.values - shift / marginal.weights))


def _least_squares(rows: NoisyMarginal, columns: NoisyMarginal, table: Floats, weight: float, total: float) -> Floats:
    """X = max(0, Y - a_i - b_j - λ) with a = κ (X 1 - r), b = κ' (Xᵀ 1 - c) and Σ X = total; κ is the weight of a sum relative to
    that of a cell.

    These are the conditions of Karush, Kuhn and Tucker. a, b and λ make a convex, piecewise quadratic function least: Newton
    steps, shortened where its slope has turned, end after finitely many. There are not more columns than rows, which are
    eliminated. λ is the last of `b`.
    """
    soft_rows, soft_columns = weight / rows.weights, np.append(weight / columns.weights, 0.0)
    targets, goals = rows.values, np.append(columns.values, total)
    a, b = np.zeros(len(targets)), np.zeros(len(goals))
    b[-1] = ((np.sort(table, axis=None)[::-1].cumsum() - total) / np.arange(1, table.size + 1)).max()

    def solution(a: Floats, b: Floats) -> Floats:
        return np.asarray(np.maximum(0.0, table - a[:, None] - b[:-1] - b[-1]))

    def slope(x: Floats, a: Floats, b: Floats) -> tuple[Floats, Floats]:
        of_columns = np.append(x.sum(axis=0), x.sum())
        return a * soft_rows + targets - x.sum(axis=1), b * soft_columns + goals - of_columns

    size = total + np.abs(targets).max() + np.abs(goals).max()
    x = solution(a, b)
    down, right = slope(x, a, b)
    for _ in range(STEPS):
        if max(np.abs(down).max(), np.abs(right).max()) <= SLACK * size:
            break
        positive = (x > 0).astype(np.float64)
        crossing = np.column_stack([positive, positive.sum(axis=1)])
        sums = crossing.sum(axis=0)
        inner = np.diag(sums + soft_columns)
        inner[-1, :-1] = inner[:-1, -1] = sums[:-1]
        diagonal = crossing[:, -1] + soft_rows
        scaled = crossing / diagonal[:, None]
        step_b = np.linalg.solve(inner - crossing.T @ scaled, scaled.T @ down - right)
        step_a = -(down + crossing @ step_b) / diagonal
        start, length = down @ step_a + right @ step_b, 1.0
        while True:
            further = a + length * step_a, b + length * step_b
            x = solution(*further)
            down, right = slope(x, *further)
            if down @ step_a + right @ step_b <= -0.5 * start or length < SLACK:
                break
            length /= 2
        a, b = further
    return x
