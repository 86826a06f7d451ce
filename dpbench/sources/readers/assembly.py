"""Columns of ids to data kinds: who holds what, grouped by user, in bounded memory. Imported by the readers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dpbench.data import Incidence, Records
from dpbench.errors import UserError
from dpbench.sources.readers import _csr as csr

IDS = ("seen", "all")
PART = 1 << 20  # numbers worked on at a time
MOST = 1 << 28
"""Rows or columns that are kept whether they occur or not: an array of so many counts takes 2 GB."""


class Column:
    """Numbers that come in chunks, as one array that grows: there are never two copies of everything."""

    def __init__(self, dtype: Any = np.int32) -> None:
        self._dtype = np.dtype(dtype)
        self._bytes = bytearray()  # grows in place, and takes no memory for room that is not yet filled

    def add(self, chunk: np.ndarray) -> None:
        self._bytes += np.ascontiguousarray(chunk, dtype=self._dtype).view(np.uint8).data

    def whole(self) -> np.ndarray:
        """All of them. Nothing can be added any more."""
        return np.frombuffer(self._bytes, dtype=self._dtype)


def parts(size: int) -> Iterator[slice]:
    """Slices of an array of this size: numpy widens the numbers it indexes by to 8 bytes, so not all at once."""
    return (slice(start, start + PART) for start in range(0, size, PART))


def taken(table: np.ndarray, places: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """table[places], into `out` where it is given, which may be `places` itself."""
    out = np.empty(places.size, dtype=table.dtype) if out is None else out
    for part in parts(places.size):
        out[part] = table[places[part]]
    return out


def seen(ids: np.ndarray) -> np.ndarray:
    """The ids that occur, rising."""
    most = int(ids.max(initial=-1))
    if not _dense(most, ids.size):
        return np.unique(ids)
    occurs = np.zeros(most + 1, dtype=bool)
    for part in parts(ids.size):
        occurs[ids[part]] = True
    return np.flatnonzero(occurs)


def _dense(most: int, number: int) -> bool:
    """Whether a table of all ids is no larger than what else `number` ids need."""
    return most < 8 * number + (1 << 20)


def numbered(ids: np.ndarray, which: str = "seen") -> tuple[np.ndarray, int]:
    """Ids as numbers from 0, written over them, and how many numbers there are.

    `seen`: only ids that occur get a number, in their order. `all`: every id up to the largest is there.
    """
    most = int(ids.max(initial=-1))
    if which == "all" and most >= MOST:
        raise UserError(f"ids='all' is not valid: the largest id is {most}, expected less than {MOST}: take ids=seen")
    if which == "all" or not ids.size:
        return ids, most + 1
    names = seen(ids)
    if _dense(most, ids.size):
        number = np.empty(most + 1, dtype=np.int32)
        number[names] = np.arange(names.size, dtype=np.int32)
        return taken(number, ids, out=ids), names.size
    for part in parts(ids.size):
        ids[part] = np.searchsorted(names, ids[part])
    return ids, names.size


def incidence(users: np.ndarray, items: np.ndarray, n_users: int, n_items: int) -> Incidence:
    """Who holds what; a pair that occurs again is one."""
    _check_size(n_users, n_items)
    indptr = np.zeros(n_users + 1, dtype=np.int64)
    if csr.rising(users, items):  # nothing to sort, nothing to copy
        csr.offsets(users, indptr)
        return Incidence(indptr, items, n_items)
    indices = _grouped(users, items, None, 1, indptr)
    indices.resize(csr.drop_repeats(indptr, indices), refcheck=False)
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
    _check_size(n_users, n_items)
    indptr = np.zeros(n_users + 1, dtype=np.int64)
    edges = _grouped(users, items, contexts, h, indptr)
    found = np.empty(edges.size, dtype=np.uint8)
    for part in parts(edges.size):
        found[part] = edges[part] % h
    edges //= h
    return Records(indptr, edges, found, n_items, h, repeats, item_labels, context_labels)


def _grouped(
    rows: np.ndarray, columns: np.ndarray, contexts: np.ndarray | None, h: int, indptr: np.ndarray
) -> np.ndarray:
    """Each pair's column * h + context, row after row and rising in each; the offsets go to `indptr`."""
    csr.offsets(rows, indptr)
    placed = np.empty(rows.size, dtype=np.int32)
    csr.place(rows, columns, np.empty(0, np.uint8) if contexts is None else contexts, h, indptr.copy(), placed)
    csr.sort_rows(indptr, placed)
    return placed


def _check_size(n_rows: int, n_columns: int) -> None:
    if n_rows < 1 or n_columns < 1:
        raise UserError("there is nothing in these files: expected at least one good line")


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
