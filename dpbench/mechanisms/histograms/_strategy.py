"""p-Identity strategies of the matrix mechanism: weighted sums over a line beside every cell, best for a set of ranges.

McKenna, Miklau, Hay, Machanavajjhala: Optimizing Error of High-dimensional Statistical Queries under Differential Privacy,
PVLDB 11(10), 2018. A strategy is A = [I; Θ] D with Θ ≥ 0 of p rows, and D = diag(1/s), s = 1 + column sums of Θ, so that one
individual moves the answers by exactly 1 in L1. The strategy looks at no data. Used by matrix.py.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbench.mechanisms.histograms import _tree as tree
from dpbench.numerics.arrays import Floats

WORKLOADS = ("ranges", "prefixes")

LARGEST = 100.0
"""Largest weight. With larger ones the cells themselves hardly count, and the least-squares estimate loses digits."""
STEPS = 100
"""Most steps of the optimisation. Later ones gain less than a hundredth."""


@dataclass(frozen=True, eq=False)
class PIdentity:
    """A strategy by its Θ. Nothing is larger than p x n: (I + ΘᵀΘ)⁻¹ = I - Θᵀ M⁻¹ Θ with M = I + ΘΘᵀ of p rows."""

    theta: Floats

    @property
    def norms(self) -> Floats:
        """s, the L1 norm of each column of [I; Θ]."""
        return np.asarray(1 + self.theta.sum(axis=0))

    def answers(self, counts: NDArray[Any]) -> Floats:
        """A x: every cell, then every weighted sum."""
        scaled = counts / self.norms
        return np.concatenate([scaled, self.theta @ scaled])

    def estimate(self, answers: Floats) -> Floats:
        """The counts of least squares, (AᵀA)⁻¹ Aᵀ y = S (I - Θᵀ M⁻¹ Θ) (y₁ + Θᵀ y₂)."""
        p, n = self.theta.shape
        right = answers[:n] + self.theta.T @ answers[n:]
        inner = np.linalg.solve(np.eye(p) + self.theta @ self.theta.T, self.theta @ right)
        return np.asarray(self.norms * (right - self.theta.T @ inner))

    def error(self, workload: str) -> float:
        """tr((AᵀA)⁻¹ WᵀW): the sum over all queries of the variance of the answer, for noise of variance 1."""
        return _error(self.theta, workload)[0]


def gram_times(rows: Floats, workload: str) -> Floats:
    """rows times WᵀW. It has the entry (i+1)(n-j) for i ≤ j if W holds all ranges, n-j if it holds all prefixes."""
    if workload == "prefixes":
        prefixes = np.cumsum(rows, axis=1)
        return np.asarray(np.cumsum(prefixes[:, ::-1], axis=1)[:, ::-1])
    first = np.arange(1.0, rows.shape[1] + 1)
    left = np.cumsum(rows * first, axis=1)
    right = np.cumsum((rows * first[::-1])[:, ::-1], axis=1)[:, ::-1] - rows * first[::-1]
    return np.asarray(left * first[::-1] + right * first)


def _diagonal(n: int, workload: str) -> Floats:
    """In how many queries each cell is."""
    last = np.arange(n, 0.0, -1)
    return np.asarray(last * last[::-1] if workload == "ranges" else last)


def _error(theta: Floats, workload: str) -> tuple[float, Floats]:
    """Σ_j s_j² V_jj - tr(M⁻¹ B V Bᵀ) with V = WᵀW and B = ΘS, and its gradient."""
    from scipy.linalg import cho_factor, cho_solve

    p, n = theta.shape
    s, diagonal = 1 + theta.sum(axis=0), _diagonal(n, workload)
    scaled = theta * s
    product = gram_times(scaled, workload)
    factor = cho_factor(np.eye(p) + theta @ theta.T)
    solved = cho_solve(factor, product)
    error = float((s * s * diagonal).sum() - (solved * scaled).sum())
    inner = cho_solve(factor, cho_solve(factor, product @ scaled.T).T)
    of_norms = s * diagonal - (solved * theta).sum(axis=0)
    return error, 2 * (inner @ theta - solved * s + of_norms)


@functools.lru_cache(maxsize=8)
def best_strategy(n: int, workload: str) -> PIdentity:
    """A local optimum for the workload over n cells; Θ = 0, the cells alone, if that is better.

    Projected quasi-Newton steps (L-BFGS-B) keep Θ ≥ 0. They start at the tree of hb, with a weight of a half. The paper starts
    at random numbers; a fixed start makes the strategy the same in every release, and is as good within 2 %.
    """
    from scipy.optimize import Bounds, minimize

    start = tree_rows(n) / 2
    unit = float(_diagonal(n, workload).sum())  # the error of publishing the cells alone

    def objective(flat: Floats) -> tuple[float, Floats]:
        error, gradient = _error(flat.reshape(start.shape), workload)
        return error / unit, gradient.ravel() / unit

    result = minimize(
        objective, start.ravel(), jac=True, method="L-BFGS-B", bounds=Bounds(0, LARGEST), options={"maxiter": STEPS}
    )
    theta = result.x.reshape(start.shape) if result.fun < 1 else np.zeros(start.shape)
    theta.setflags(write=False)
    return PIdentity(theta)


def tree_rows(n: int) -> Floats:
    """Θ of the tree that hb would choose: one row per node above the leaves. For few cells, one row over all of them."""
    b, h = tree.shape_for(n)
    if h == 1:
        b, h = max(2, round(n**0.5)), 2
    length, rows = 1, []
    for _ in range(h - 1):
        length *= b
        rows.append(np.arange(n) // length == np.arange(-(-n // length))[:, None])
    return np.concatenate(rows).astype(np.float64)
