"""Pairs of a row and a column, grouped by row: counted, placed and sorted without temporary copies.

numpy would widen counts and indices to 8 bytes per number; files of pairs are too long for that.
"""

from __future__ import annotations

from dpbench.numerics.compiled import kernel


@kernel()
def rising(rows, columns):  # type: ignore[no-untyped-def]
    """Whether the pairs are in order and none occurs twice."""
    for i in range(1, rows.size):
        if rows[i] < rows[i - 1] or (rows[i] == rows[i - 1] and columns[i] <= columns[i - 1]):
            return False
    return True


@kernel()
def offsets(rows, indptr):  # type: ignore[no-untyped-def]
    """Fill `indptr`, which is zero, so that the pairs of row r go to the positions indptr[r]..indptr[r + 1]."""
    for i in range(rows.size):
        indptr[rows[i] + 1] += 1
    for r in range(1, indptr.size):
        indptr[r] += indptr[r - 1]


@kernel()
def place(rows, columns, contexts, h, free, placed):  # type: ignore[no-untyped-def]
    """Put each pair's column * h + context (0 if `contexts` is empty) into the first free position of its row.

    `free` starts as the offsets and ends as those of the next row.
    """
    for i in range(rows.size):
        r = rows[i]
        context = contexts[i] if contexts.size else 0
        placed[free[r]] = columns[i] * h + context
        free[r] += 1


@kernel()
def sort_rows(indptr, placed):  # type: ignore[no-untyped-def]
    """Sort within each row; a row that is already sorted costs one pass."""
    for r in range(indptr.size - 1):
        for i in range(indptr[r] + 1, indptr[r + 1]):
            if placed[i] < placed[i - 1]:
                placed[indptr[r] : indptr[r + 1]].sort()
                break


@kernel()
def drop_repeats(indptr, placed):  # type: ignore[no-untyped-def]
    """Remove duplicate columns from sorted rows and adjust the offsets; returns how many entries are left."""
    kept, start = 0, 0
    for r in range(indptr.size - 1):
        stop = indptr[r + 1]
        for i in range(start, stop):
            if i == start or placed[i] != placed[i - 1]:
                placed[kept] = placed[i]
                kept += 1
        indptr[r + 1], start = kept, stop
    return kept
