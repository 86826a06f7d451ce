"""Columns of ids to data kinds: who holds what, grouped by user, in bounded memory. Imported by the readers."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpbench.data import Incidence, Records
from dpbench.errors import UserError

IDS = ("seen", "all")
MOST = 1 << 28
"""Rows or columns that are kept whether they occur or not: an array of so many counts takes 2 GB."""


def joined(chunks: list[np.ndarray], dtype: Any = np.int32) -> np.ndarray:
    """One array of all chunks, which are let go on the way: there are never two copies of everything."""
    whole: np.ndarray = np.empty(sum(chunk.size for chunk in chunks), dtype=dtype)
    at = 0
    chunks.reverse()
    while chunks:
        chunk = chunks.pop()
        whole[at : at + chunk.size] = chunk
        at += chunk.size
    return whole


def numbered(ids: np.ndarray, which: str = "seen") -> tuple[np.ndarray, int]:
    """Ids as numbers from 0, and how many numbers there are.

    `seen`: only ids that occur get a number, in their order. `all`: every id up to the largest is there.
    """
    most = int(ids.max(initial=-1))
    if which == "all" and most >= MOST:
        raise UserError(f"ids='all' is not valid: the largest id is {most}, expected less than {MOST}: take ids=seen")
    if which == "all" or not ids.size:
        return ids, most + 1
    if most < 8 * ids.size + (1 << 20):
        occurs = np.zeros(most + 1, dtype=bool)
        occurs[ids] = True
        number = np.cumsum(occurs, dtype=np.int32) - np.int32(1)
        return number[ids], int(number[-1]) + 1
    names, places = np.unique(ids, return_inverse=True)
    return places.astype(np.int32), names.size


def incidence(users: np.ndarray, items: np.ndarray, n_users: int, n_items: int) -> Incidence:
    """Who holds what; a pair that occurs again is one."""
    indptr, indices, _ = _grouped(users, items, n_users, n_items)
    return Incidence(indptr, indices, n_items)


def records(
    users: np.ndarray,
    items: np.ndarray,
    contexts: np.ndarray,
    n_users: int,
    n_items: int,
    context_labels: tuple[str, ...],
    *,
    repeats: bool,
    item_labels: tuple[str, ...] | None = None,
) -> Records:
    """Each user's (item, context) records, in the order of the items: the order of the lines does not matter."""
    h = len(context_labels)
    if n_items * h >= 2**31:
        raise UserError(f"{n_items} items in {h} contexts are too many: expected fewer than 2^31 pairs")
    indptr, edges, times = _grouped(users, items.astype(np.int32) * h + contexts, n_users, n_items * h)
    if times is not None and times.max(initial=1) > 1:
        sizes = np.add.reduceat(np.append(times, 0), indptr[:-1]) * (np.diff(indptr) > 0)
        edges, indptr = np.repeat(edges, times), np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    found = (edges // h).astype(np.int32), (edges % h).astype(np.uint8)
    return Records(indptr, *found, n_items, h, repeats, item_labels, context_labels)


def _grouped(
    rows: np.ndarray, columns: np.ndarray, n_rows: int, n_columns: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """CSR of the distinct pairs, columns rising in each row, and how often each pair occurs (None: once)."""
    if n_rows < 1 or n_columns < 1:
        raise UserError("there is nothing in these files: expected at least one good line")
    if rising(rows, columns):
        sizes = np.bincount(rows, minlength=n_rows)
        return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64), columns.astype(np.int32, copy=False), None
    from scipy.sparse import coo_array

    matrix = coo_array((np.ones(rows.size, dtype=np.int32), (rows, columns)), (n_rows, n_columns)).tocsr()
    matrix.sum_duplicates()
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32, copy=False), matrix.data


def has_repeats(data: Incidence | Records, pairs: int) -> bool:
    """Whether `data`, made of so many pairs, was given a pair twice."""
    if isinstance(data, Incidence):
        return data.ones < pairs
    same = data.items[1:] == data.items[:-1]
    starts = data.indptr[1:-1]
    same[starts[(starts > 0) & (starts < data.records)] - 1] = False  # the next user may begin with the same item
    return bool(same.any())


def repeated(users: np.ndarray, items: np.ndarray, n_items: int) -> np.ndarray:
    """Marks each pair that occurred before, in the order of the lines."""
    keys = users.astype(np.int64) * n_items + items
    _, first = np.unique(keys, return_index=True)
    again = np.ones(keys.size, dtype=bool)
    again[first] = False
    return again


def rising(rows: np.ndarray, columns: np.ndarray) -> bool:
    """Whether the pairs are in order and none occurs twice: nothing to sort, nothing to copy."""
    steps = np.diff(rows)
    return not (steps < 0).any() and not ((np.diff(columns) <= 0) & (steps == 0)).any()
