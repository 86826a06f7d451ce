"""AIM and MST on a table of two attributes, and the table that fits noisy marginals best, written from the papers.

The fit is a quadratic programme in the cells, given to a general solver; while only sums of rows and of columns are known, it is
the table of most entropy among the best, found by multiplying factors for rows and for columns.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import clarabel
import numpy as np
from scipy import sparse

Gaussian = Callable[[str, np.ndarray, float], np.ndarray]
"""Noisy values: (what is measured, its exact values, σ)."""
Choose = Callable[[list[float], float], int]
"""The exponential mechanism: (qualities divided by their sensitivity, ε)."""
Measurement = tuple[str, np.ndarray, float]
"""What, its noisy values, σ."""

AXES = {"rows": 1, "columns": 0}


def marginal(table: np.ndarray, what: str) -> np.ndarray:
    return table.sum(axis=AXES[what]) if what in AXES else table


def queries(shape: tuple[int, int], what: str) -> np.ndarray:
    """The matrix that turns the flattened table into a flattened marginal."""
    cells = np.eye(math.prod(shape)).reshape(-1, *shape)
    return np.array([marginal(cell, what).ravel() for cell in cells]).T


def total(measurements: list[Measurement]) -> float:
    """The unbiased estimate of least variance from the sums of all measurements."""
    precision = [1 / (sigma**2 * noisy.size) for _, noisy, sigma in measurements]
    return max(
        0.0, sum(p * noisy.sum() for p, (_, noisy, _) in zip(precision, measurements, strict=True)) / sum(precision)
    )


def least_squares(matrix: np.ndarray, target: np.ndarray, size: float) -> np.ndarray:
    """The x >= 0 with the sum `size` for which |matrix x - target|² is least, by an interior point method."""
    columns = matrix.shape[1]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-13
    weight = np.abs(matrix).max() * size
    rows = matrix * (size / weight)
    solution = clarabel.DefaultSolver(
        sparse.csc_matrix(np.triu(rows.T @ rows)),
        -rows.T @ (target / weight),
        sparse.csc_matrix(np.vstack([np.ones((1, columns)), -np.eye(columns)])),
        np.append(1.0, np.zeros(columns)),
        [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(columns)],
        settings,
    ).solve()
    return np.maximum(0.0, np.array(solution.x)) * size


def fit(shape: tuple[int, int], measurements: list[Measurement]) -> np.ndarray:
    size = total(measurements)
    if size == 0:
        return np.zeros(shape)
    matrix = np.vstack([queries(shape, what) / sigma for what, _, sigma in measurements])
    target = np.concatenate([noisy.ravel() / sigma for _, noisy, sigma in measurements])
    table = least_squares(matrix, target, size).reshape(shape)
    if any(what == "cells" for what, _, _ in measurements):
        return table
    spread = np.full(shape, size / table.size)
    for _ in range(50):
        for axis in (0, 1):
            sums = spread.sum(axis=axis, keepdims=True)
            wanted = table.sum(axis=axis, keepdims=True)
            spread = spread * np.divide(wanted, sums, out=np.zeros_like(sums), where=sums > 0)
    return spread


def aim(table: np.ndarray, rho: float, rounds: int, alpha: float, gaussian: Gaussian, choose: Choose) -> np.ndarray:
    """Algorithms 2, 3 and 4 for the workload that consists of the table itself."""
    sigma = math.sqrt(rounds / (2 * alpha * rho))
    used, log = 0.0, []
    for what in ("rows", "columns"):
        log.append((what, gaussian(what, marginal(table, what), sigma), sigma))
        used += 1 / (2 * sigma**2)
    fitted = fit(table.shape, log)
    epsilon = math.sqrt(8 * (1 - alpha) * rho / rounds)
    closure = {"rows": 1, "columns": 1, "cells": 2}
    done = False
    while not done:
        if rho - used <= 2 * (1 / (2 * sigma**2) + epsilon**2 / 8):
            epsilon, sigma = math.sqrt(8 * (1 - alpha) * (rho - used)), math.sqrt(1 / (2 * alpha * (rho - used)))
            done = True
        used += epsilon**2 / 8 + 1 / (2 * sigma**2)
        qualities = []
        for what, weight in closure.items():
            apart = np.abs(marginal(table, what) - marginal(fitted, what)).sum()
            qualities.append(weight * (apart - math.sqrt(2 / math.pi) * sigma * marginal(table, what).size) / 2)
        what = [*closure][choose(qualities, epsilon)]
        log.append((what, gaussian(what, marginal(table, what), sigma), sigma))
        before, fitted = marginal(fitted, what), fit(table.shape, log)
        if np.abs(marginal(fitted, what) - before).sum() <= math.sqrt(2 / math.pi) * sigma * before.size:
            sigma, epsilon = sigma / 2, 2 * epsilon
    assert abs(used - rho) < 1e-9 * rho
    return fitted


def mst(table: np.ndarray, rho: float, gaussian: Gaussian) -> np.ndarray:
    """Half of ρ for the attributes, whose rare values become one; half for their pair."""
    sigma, log, values = math.sqrt(2 / rho), [], []
    for what in ("rows", "columns"):
        noisy = gaussian(what, marginal(table, what), sigma)
        kept = [[place] for place in np.flatnonzero(noisy >= 3 * sigma)]
        rare = [np.flatnonzero(noisy < 3 * sigma).tolist()]
        values.append([group for group in kept + rare if group])
        log.append((what, np.array([noisy[group].sum() for group in values[-1]]), sigma))
    small = np.array([[table[np.ix_(one, other)].sum() for other in values[1]] for one in values[0]])
    # A sum of k values has k times the variance: its row of the quadratic programme is divided by √k.
    deviations = [np.array([math.sqrt(len(group)) for group in part]) * sigma for part in values]
    sigma = math.sqrt(1 / rho)
    pair = gaussian("cells", small, sigma)
    fitted = _fit_grouped(small.shape, log, deviations, pair, sigma)
    full = np.zeros(table.shape)
    for one, rows in zip(values[0], fitted, strict=True):
        for other, count in zip(values[1], rows, strict=True):
            full[np.ix_(one, other)] = count / (len(one) * len(other))
    return full


def _fit_grouped(
    shape: tuple[int, int], log: list[Measurement], deviations: list[np.ndarray], pair: np.ndarray, sigma: float
) -> np.ndarray:
    sums = [*((noisy.sum(), (part**2).sum()) for (_, noisy, _), part in zip(log, deviations, strict=True))]
    sums.append((pair.sum(), pair.size * sigma**2))
    size = max(0.0, sum(value / variance for value, variance in sums) / sum(1 / variance for _, variance in sums))
    if size == 0:
        return np.zeros(shape)
    rows = [queries(shape, what) / part[:, None] for (what, _, _), part in zip(log, deviations, strict=True)]
    rows.append(np.eye(pair.size) / sigma)
    targets = [noisy / part for (_, noisy, _), part in zip(log, deviations, strict=True)] + [pair.ravel() / sigma]
    return least_squares(np.vstack(rows), np.concatenate(targets), size).reshape(shape)
