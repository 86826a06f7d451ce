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
    out; the solution is scaled by its largest row sum, so that rounding in the solver never breaks a constraint.
    """
    import warnings

    import cvxpy

    rows = rows[maximal_rows(rows)].astype(np.float64)
    used = np.flatnonzero(rows.sum(axis=0) > 0)
    z = np.zeros(rows.shape[1])
    if used.size == 0:
        return z
    binding = rows[:, used]
    x = cvxpy.Variable(used.size)
    program = cvxpy.Problem(cvxpy.Minimize(cvxpy.sum(cvxpy.inv_pos(x))), [binding @ x <= 1])
    with warnings.catch_warnings():
        # With a tolerance near the limit of doubles, the solver may end "almost solved", at 1e-10 instead of 1e-11.
        warnings.filterwarnings("ignore", message="Solution may be inaccurate")
        program.solve(solver=cvxpy.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    if program.status not in ("optimal", "optimal_inaccurate"):
        raise ArithmeticError(f"noise calibration ended with status {program.status!r}")
    z[used] = (binding @ x.value).max() / x.value
    return z


def box_least_squares(rows: csr_array, target: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """y with 0 ≤ y ≤ upper that brings rowsᵀ y nearest to `target`; at most rank-many entries lie strictly between.

    An active-set method after Stark and Parker (bounded-variable least squares), started with everything at 0: a
    variable is freed only if its column is independent of the free ones, which keeps the free set small.
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
        enter = int(np.argmax(gain))
        if gain[enter] <= tolerance:
            break
        free, rest = _settle(matrix, target, upper, y, [*free, enter])
    return y


def _settle(
    matrix: Any, target: np.ndarray, upper: np.ndarray, y: np.ndarray, free: list[int]
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
        outside = (goal < 0) | (goal > upper[at])
        if not outside.any():
            y[at] = goal
            return free, target - matrix.T @ y
        wall = np.where(goal < 0, 0.0, upper[at])
        share = np.where(outside, (wall - y[at]) / np.where(outside, step, 1.0), np.inf)
        part = float(np.clip(share.min(), 0.0, 1.0))
        y[at] += part * step
        stopped = outside & (share <= part)
        y[at[stopped]] = wall[stopped]
        free = [int(i) for i in at[~stopped]]
        rest = target - matrix.T @ y
    return free, rest
