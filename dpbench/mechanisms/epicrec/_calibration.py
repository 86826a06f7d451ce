"""Numerics of S-DPDP: which items are binding, how much noise each category needs, and box-constrained least squares."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def distinct_rows(indptr: np.ndarray, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct rows of a CSR pattern, as one row number each, and every row's class among them."""
    sizes = np.diff(indptr)
    padded = np.full((sizes.size, max(1, int(sizes.max(initial=0)))), -1, dtype=np.int64)
    row = np.repeat(np.arange(sizes.size), sizes)
    order = np.lexsort((indices, row))
    padded[row, np.arange(indices.size) - indptr[:-1][row]] = indices[order]
    _, first, classes = np.unique(padded, axis=0, return_index=True, return_inverse=True)
    return first, classes.ravel()


def maximal_rows(rows: csr_array) -> np.ndarray:
    """Mask of the rows contained in no other one; `rows` are distinct and 0/1."""
    sizes = np.diff(rows.indptr)
    keep = sizes > 0
    transposed = rows.T.tocsr()
    for start in range(0, rows.shape[0], 1024):
        common = (rows[start : start + 1024] @ transposed).tocoo()
        inside = (common.data == sizes[start + common.row]) & (sizes[common.col] > common.data)
        keep[start + common.row[inside]] = False
    return keep


TIGHT = 1e-6
"""Relative slack, and relative price, below which a constraint of the solver's solution counts as binding, or as free."""
STEPS = 30
_SOLVED: dict[tuple[Any, ...], np.ndarray] = {}
MOST_SOLVED = 512


def solved_once(solve: Callable[[csr_array], np.ndarray], rows: csr_array) -> np.ndarray:
    """solve(rows), once per pattern of rows: catalogues that differ only in their users share the solution."""
    key = (solve, rows.shape, rows.indptr.tobytes(), rows.indices.tobytes(), rows.data.tobytes())
    if key not in _SOLVED:
        if len(_SOLVED) >= MOST_SOLVED:
            _SOLVED.clear()
        _SOLVED[key] = solve(rows)
    return _SOLVED[key]


def least_noise(rows: csr_array) -> np.ndarray:
    """z ≥ 0 of least sum with Σ_{j in row} 1/z_j ≤ 1 for every row; 0 for a column in no row. Program (4.4) at ε = 1.

    In x = 1/z the problem is convex: minimise Σ 1/x_j subject to C x ≤ 1. Contained rows are not binding and are left
    out; the solution is scaled by its largest row sum, so that rounding never breaks a constraint.
    """
    rows = rows[maximal_rows(rows)].astype(np.float64)
    used = np.flatnonzero(rows.sum(axis=0) > 0)
    z = np.zeros(rows.shape[1])
    if used.size == 0:
        return z
    binding = rows[:, used]
    x = _polished(binding, *_interior_point(binding))
    z[used] = (binding @ x).max() / x
    return z


def _interior_point(rows: csr_array) -> tuple[np.ndarray, np.ndarray]:
    """x > 0 that minimises Σ 1/x_j subject to C x ≤ 1, and the price λ ≥ 0 of every constraint, to about seven digits.

    As a cone program in (x, t): minimise Σ t_j with C x ≤ 1 and x_j t_j ≥ 1, that is (x_j + t_j, x_j - t_j, 2) in the
    second-order cone.
    """
    import clarabel
    from scipy import sparse

    n, d = rows.shape
    above, below = sparse.csr_array([[1.0], [1.0], [0.0]]), sparse.csr_array([[1.0], [-1.0], [0.0]])
    cones = sparse.hstack([sparse.kron(sparse.eye_array(d), above), sparse.kron(sparse.eye_array(d), below)])
    left = sparse.vstack([sparse.hstack([rows, sparse.csr_array((n, d))]), -cones]).tocsc()
    right = np.concatenate([np.ones(n), np.tile([0.0, 0.0, 2.0], d)])
    cost = np.concatenate([np.zeros(d), np.ones(d)])
    settings = clarabel.DefaultSettings()
    settings.verbose, settings.max_threads = False, 1
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    kinds = [clarabel.NonnegativeConeT(n), *(clarabel.SecondOrderConeT(3) for _ in range(d))]
    nothing = sparse.csc_array((2 * d, 2 * d))
    solution = clarabel.DefaultSolver(nothing, cost, left, right, kinds, settings).solve()
    # With a tolerance near the limit of doubles, the solver may end "almost solved", at 1e-10 instead of 1e-11.
    if str(solution.status) not in ("Solved", "AlmostSolved"):
        raise ArithmeticError(f"noise calibration ended with status {solution.status}")
    return np.array(solution.x[:d]), np.array(solution.z[:n])


def _polished(rows: csr_array, x: np.ndarray, price: np.ndarray) -> np.ndarray:
    """The same x to the last digits, so that it depends neither on the solver's version nor on the processor.

    At the solution x_j = (Cᵀλ)_j^(-1/2) and C x = 1 for the rows with a price: Newton's method in λ. The solver's x is kept
    where this does not converge to a point with all prices positive.
    """
    tight = np.asarray(rows @ x > 1 - TIGHT) & (price > TIGHT * price.max())
    some, price = rows[tight].toarray(), price[tight]
    for _ in range(STEPS):
        total = some.T @ price
        if not (total > 0).all():
            return x
        step = np.linalg.lstsq((some * total**-1.5) @ some.T / 2, some @ total**-0.5 - 1, rcond=None)[0]
        price = price + step
        if np.abs(step).max() <= 1e-14 * np.abs(price).max():
            break
    total = some.T @ price
    if not ((total > 0).all() and (price > 0).all()):
        return x
    sharp = total**-0.5
    good = (rows @ sharp).max() <= 1 + 1e-9 and np.abs(sharp / x - 1).max() <= 1e-4
    return sharp if good else x


def box_least_squares(rows: csr_array, target: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """y with 0 ≤ y ≤ upper that brings rowsᵀ y nearest to `target`; at most rank-many entries lie strictly between.

    An active-set method after Stark and Parker (bounded-variable least squares), started with everything at 0: a
    variable is freed only if its column is independent of the free ones, which keeps the free set small. Equal gains and
    bounds are recognised up to a tolerance, so that the last digits, which depend on the processor, decide nothing.
    """
    # Taking columns from a dense array is a few times faster, if it fits the processor's cache.
    matrix: Any = rows.toarray().astype(np.float64) if rows.shape[0] * rows.shape[1] <= 1 << 18 else rows
    tolerance = 1e-9 * (1.0 + float(np.abs(target).max(initial=0.0)))
    y, rest = np.zeros(rows.shape[0]), target.astype(np.float64)
    free: list[int] = []
    for _ in range(10 * (rows.shape[0] + rows.shape[1])):
        slope = matrix @ rest
        gain = np.where(y <= 0, slope, -slope) * ((y <= 0) | (y >= upper)) * (upper > 0)
        gain[free] = 0.0
        most = float(gain.max(initial=0.0))
        if most <= tolerance:
            break
        enter = int(np.argmax(gain >= most - tolerance))  # the first of equal ones
        free, rest = _settle(matrix, target, upper, y, [*free, enter], tolerance)
    return y


def _settle(
    matrix: Any, target: np.ndarray, upper: np.ndarray, y: np.ndarray, free: list[int], tolerance: float
) -> tuple[list[int], np.ndarray]:
    """Least squares over the free variables. A variable that would leave its box is fixed at the bound. Changes `y`.

    Returns which variables are still free, and the residual of the target.
    """
    rest = target - matrix.T @ y
    while free:
        at = np.array(free)
        columns = matrix[at].T if isinstance(matrix, np.ndarray) else matrix[at].toarray().T
        step = np.linalg.lstsq(columns, rest, rcond=None)[0]
        goal = y[at] + step
        outside = (goal < -tolerance) | (goal > upper[at] + tolerance)
        if not outside.any():
            y[at] = np.clip(goal, 0.0, upper[at])
            return free, target - matrix.T @ y
        wall = np.where(goal < 0, 0.0, upper[at])
        share = np.where(outside, (wall - y[at]) / np.where(outside, step, 1.0), np.inf)
        part = float(np.clip(share.min(), 0.0, 1.0))
        y[at] += part * step
        stopped = outside & (share <= part + 1e-9)
        y[at[stopped]] = wall[stopped]
        free = [int(i) for i in at[~stopped]]
        rest = target - matrix.T @ y
    return free, rest
