"""Claims of epicrec decided by computation: its programs, solved for every small catalogue. Imported by `formulas.py`."""

from __future__ import annotations

import itertools

import numpy as np

from dpbench.claims.computed import Computed, largest, least

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


ALL = (epicrec_against_laplace, epicrec_nonnegative, epicrec_convex)
