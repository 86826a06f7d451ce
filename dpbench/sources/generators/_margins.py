"""Random binary matrices with given row sums and column sums, both exact, at 10⁸ ones and more.

Three steps, each O(ones) or less: `_odds.fit` finds the maximum-entropy probabilities p_ij = x_i y_j / (1 + x_i y_j) whose sums
are the margins (with a taste, the odds x_i y_j f_ij); `_fill` draws each row with exactly its size and each column with
probability p_ij (Deville's systematic sampling); `_settle` moves the few ones by which the column sums still differ from the
required ones.
"""

from __future__ import annotations

import numpy as np

from dpbench.numerics.compiled import kernel
from dpbench.sources.generators._odds import classes_of, fit
from dpbench.sources.generators._taste import Taste

PASSES = 20
"""Passes of `_settle` before the remaining ones are moved one at a time. Typical datasets need about five."""


def realisable(row_sums: np.ndarray, column_sums: np.ndarray) -> bool:
    """Gale and Ryser: is there any binary matrix with these margins?"""
    if int(row_sums.sum()) != int(column_sums.sum()):
        return False
    if int(row_sums.max(initial=0)) > column_sums.size or int(column_sums.max(initial=0)) > row_sums.size:
        return False
    # The k largest columns can take at most Σ_i min(r_i, k) ones.
    wanted = np.cumsum(np.sort(column_sums)[::-1])
    rows_of_at_least = row_sums.size - np.cumsum(np.bincount(row_sums, minlength=column_sums.size + 1))
    return bool(np.all(wanted <= np.cumsum(rows_of_at_least[: column_sums.size])))


def matrix(
    row_sums: np.ndarray, column_sums: np.ndarray, rng: np.random.Generator, taste: Taste | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """CSR (indptr, indices) of a random binary matrix with exactly these margins, which must be realisable.

    int64 offsets, int32 columns ascending within each row. Besides the result, memory is needed only per row and per column.
    """
    indptr = np.zeros(row_sums.size + 1, dtype=np.int64)
    np.cumsum(row_sums, out=indptr[1:])
    indices = np.empty(int(indptr[-1]), dtype=np.int32)
    if not indices.size:
        return indptr, indices
    odds = fit(row_sums, column_sums, taste)
    names = np.flatnonzero(column_sums).astype(np.int32)
    label = np.searchsorted(odds.classes, classes_of(column_sums, taste)).astype(np.int32)
    order = np.argsort(row_sums, kind="stable")
    bounds = np.append(np.searchsorted(row_sums[order], odds.sizes), row_sums.size)
    _fill(indptr, indices, order, bounds, odds.x, odds.y, odds.bands, odds.factors, label, names, rng)
    del order
    surplus = _count(indices, column_sums.size) - column_sums
    for _ in range(PASSES):
        lacking = np.flatnonzero(surplus < 0)
        if not lacking.size:
            break
        stubs = np.repeat(lacking, -surplus[lacking]).astype(np.int32)
        if _settle(indptr, indices, surplus, column_sums + surplus, stubs, rng) == stubs.size:
            break
    while surplus.any():
        if not _augment(indptr, indices, surplus):
            raise ValueError("there is no binary matrix with these margins")
    return indptr, indices


@kernel()
def _unit(cumulative: np.ndarray, guide: np.ndarray, at: float, total: float) -> int:
    """The j with cumulative[j] <= at < cumulative[j + 1]; `guide` narrows the binary search to a few steps."""
    cells = guide.size - 1
    cell = min(max(int(at * (cells / total)), 0), cells - 1)
    low, high = guide[cell], guide[cell + 1]
    while low < high:
        middle = (low + high) >> 1
        if cumulative[middle + 1] > at:
            high = middle
        else:
            low = middle + 1
    return low


@kernel()
def _draw(
    row: np.ndarray, cumulative: np.ndarray, guide: np.ndarray, buffer: np.ndarray, rng: np.random.Generator
) -> None:
    """Fill `row` with distinct units, ascending; unit j is in it with probability cumulative[j + 1] - cumulative[j].

    Deville's systematic sampling: one unit from each interval [k, k + 1) of the cumulative probabilities. A unit that lies
    across the border k (a before it, b after it) and was not taken before is taken with probability b / (1 - a), so that its
    total probability is a + b and no unit is taken twice. Starting at a random unit lets every pair occur together.
    """
    size, units, total = row.size, cumulative.size - 1, float(row.size)
    first = int(rng.random() * units)
    start = cumulative[first]
    last = -1
    for k in range(size):
        u = rng.random()
        low, taken = float(k), -1
        if k > 0:
            at = start + k
            border = _unit(cumulative, guide, at - total if at >= total else at, total)
            shift = start - total if border < first else start
            before, behind = k - (cumulative[border] - shift), cumulative[border + 1] - shift - k
            position = border - first if border >= first else border - first + units
            low = min(max(k + behind, float(k)), k + 1.0)
            if position > last:
                chance = behind / (1.0 - before) if before + behind < 1.0 else 1.0
                if u < chance:
                    taken = position
                else:
                    u = (u - chance) / (1.0 - chance)
        if taken < 0:
            at = start + low + u * (k + 1 - low)
            unit = _unit(cumulative, guide, at - total if at >= total else at, total)
            taken = unit - first if unit >= first else unit - first + units
        # Rounding may be off by one unit; these bounds keep the row distinct and complete in any case.
        last = min(max(taken, last + 1), units - size + k)
        buffer[k] = last + first if last + first < units else last + first - units
    wrapped = 0
    while wrapped < size and buffer[size - 1 - wrapped] < first:
        wrapped += 1
    row[:wrapped] = buffer[size - wrapped : size]
    row[wrapped:] = buffer[: size - wrapped]


@kernel()
def _fill(
    indptr: np.ndarray,
    indices: np.ndarray,
    order: np.ndarray,
    bounds: np.ndarray,
    x: np.ndarray,
    y: np.ndarray,
    bands: np.ndarray,
    factors: np.ndarray,
    label: np.ndarray,
    names: np.ndarray,
    rng: np.random.Generator,
) -> None:
    """Draw all rows, class by class of equal sizes. `label`: class of each used column; `names`: its column number."""
    units = label.size
    cumulative = np.zeros(units + 1)
    weight = np.empty(y.size)
    guide = np.empty(units + 2, dtype=np.int32)
    buffer = np.empty(units, dtype=np.int32)
    for i in range(x.size):
        rows = order[bounds[i] : bounds[i + 1]]
        size = indptr[rows[0] + 1] - indptr[rows[0]]
        factor = factors[bands[i]]
        for j in range(y.size):
            odds = x[i] * y[j] * factor[j]
            weight[j] = odds / (1.0 + odds)
        for j in range(units):
            cumulative[j + 1] = cumulative[j] + weight[label[j]]
        scale = size / cumulative[units]
        cells = min(units, rows.size * size)
        cell = 0
        for j in range(units):
            cumulative[j + 1] *= scale
            while cell <= cells and cell * (size / cells) < cumulative[j + 1]:
                guide[cell] = j
                cell += 1
        guide[cell : cells + 1] = units - 1
        for row in rows:
            own = indices[indptr[row] : indptr[row + 1]]
            _draw(own, cumulative, guide[: cells + 1], buffer, rng)
            for k in range(own.size):
                own[k] = names[own[k]]


@kernel()
def _exchange(row: np.ndarray, out: int, column: int) -> bool:
    """Replace row[out] by `column` and keep the row sorted; False, with nothing changed, if the row already holds it."""
    at = np.searchsorted(row, column)
    if at < row.size and row[at] == column:
        return False
    if at > out:
        for k in range(out, at - 1):
            row[k] = row[k + 1]
        row[at - 1] = column
    else:
        for k in range(out, at, -1):
            row[k] = row[k - 1]
        row[at] = column
    return True


@kernel()
def _settle(
    indptr: np.ndarray,
    indices: np.ndarray,
    surplus: np.ndarray,
    left: np.ndarray,
    stubs: np.ndarray,
    rng: np.random.Generator,
) -> int:
    """One pass: each column with a surplus gives up that many ones, chosen uniformly, to columns that lack some.

    `stubs`: the lacking columns, each as often as it lacks ones; `left`: ones of each column not visited yet. A row that
    already holds the new column stays as it is. Returns how many ones are still lacking.
    """
    lacking = stubs.size
    for row in range(indptr.size - 1):
        own = indices[indptr[row] : indptr[row + 1]]
        k = 0
        while k < own.size and lacking > 0:
            column = own[k]
            left[column] -= 1
            if surplus[column] > 0 and rng.random() * (left[column] + 1) < surplus[column]:
                for _ in range(8):
                    pick = int(rng.random() * lacking)
                    other = stubs[pick]
                    if _exchange(own, k, other):
                        lacking -= 1
                        stubs[pick] = stubs[lacking]
                        surplus[column] -= 1
                        surplus[other] += 1
                        # The ones in between moved down by one: the next one to visit is already here.
                        k -= other > column
                        break
            k += 1
    return lacking


@kernel()
def _augment(indptr: np.ndarray, indices: np.ndarray, surplus: np.ndarray) -> bool:
    """Move one surplus to a lacking column by the shortest chain of exchanges. For margins that leave little freedom.

    Breadth-first search over columns: u leads to v if a row holds u and not v. A shortest chain uses no row twice, and for
    realisable margins one exists.
    """
    parent = np.full(surplus.size, -1, dtype=np.int64)
    via = np.full(surplus.size, -1, dtype=np.int64)
    queue = np.empty(surplus.size, dtype=np.int64)
    head = tail = 0
    for column in range(surplus.size):
        if surplus[column] > 0:
            parent[column] = column
            queue[tail] = column
            tail += 1
    while head < tail:
        column = queue[head]
        head += 1
        for row in range(indptr.size - 1):
            own = indices[indptr[row] : indptr[row + 1]]
            at = np.searchsorted(own, column)
            if at == own.size or own[at] != column:
                continue
            k = 0
            for other in range(surplus.size):
                if k < own.size and own[k] == other:
                    k += 1
                elif parent[other] < 0:
                    parent[other], via[other] = column, row
                    queue[tail] = other
                    tail += 1
                    if surplus[other] < 0:
                        surplus[other] += 1
                        while parent[other] != other:
                            line = indices[indptr[via[other]] : indptr[via[other] + 1]]
                            _exchange(line, np.searchsorted(line, parent[other]), other)
                            other = parent[other]
                        surplus[other] -= 1
                        return True
    return False


@kernel()
def _count(indices: np.ndarray, columns: int) -> np.ndarray:
    """Column sums without the eight-byte copy of all indices that np.bincount makes."""
    counts = np.zeros(columns, dtype=np.int64)
    for column in indices:
        counts[column] += 1
    return counts
