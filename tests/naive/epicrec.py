"""S-DPDP written out from Algorithm 1, with a general solver for each of its two problems and no shared code."""

from __future__ import annotations

import numpy as np
from scipy.optimize import lsq_linear, minimize


def contained(row, others):
    return any(set(row) < set(other) for other in others)


def noise(matrix, epsilon):
    """Program (4.3) as it stands, by a general non-linear solver: minimise Σ z subject to C (1/z) ≤ ε."""
    matrix = np.asarray(matrix, dtype=float)
    start = np.full(matrix.shape[1], matrix.sum(axis=1).max() / epsilon)
    constraint = {"type": "ineq", "fun": lambda z: epsilon - matrix @ (1 / z)}
    found = minimize(
        lambda z: z.sum(),
        start,
        jac=lambda z: np.ones_like(z),
        bounds=[(1e-6, None)] * start.size,
        constraints=[constraint],
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    return found.x


def relax(matrix, noisy):
    """The relaxed problem (4.5), with one variable per item."""
    return lsq_linear(np.asarray(matrix, dtype=float).T, noisy, (0, 1), method="bvls", tol=1e-14).x


def s_dpdp(matrix, history, z, rng):
    matrix = np.asarray(matrix, dtype=float)
    true = np.zeros(len(matrix))
    true[list(history)] = 1
    noisy = matrix.T @ true + z * (rng.exponential(size=z.size) - rng.exponential(size=z.size))
    published = np.array([1 if rng.random() <= part else 0 for part in relax(matrix, noisy)])
    return np.flatnonzero(published)


def budget(mean_z, step, tolerance):
    """S-PBQ's search, step by step."""
    budget = step
    while mean_z / budget - mean_z / (budget + step) >= tolerance:
        budget += step
    return budget
