"""Build data kinds from (user, item) pairs: grouped by user and sorted, in bounded memory.

Imported by the data kinds' own constructors and by the readers of files; imports the kinds and numerics.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbench.data.incidence import Incidence
from dpbench.data.records import Records
from dpbench.errors import UserError
from dpbench.numerics import csr

PART = 1 << 20  # numbers processed at a time
Ids = NDArray[np.integer[Any]]


def parts(size: int) -> Iterator[slice]:
    """Slices that cover an array of this size: numpy widens index arrays to 8 bytes, so they are used in parts."""
    return (slice(start, start + PART) for start in range(0, size, PART))


def incidence(
    users: Ids, items: Ids, n_users: int, n_items: int, *, item_labels: Sequence[str] | None = None
) -> Incidence:
    """Which user holds which item. Repeated pairs count once."""
    _check_size(n_users, n_items)
    indptr = np.zeros(n_users + 1, dtype=np.int64)
    if csr.rising(users, items):  # nothing to sort, nothing to copy
        csr.offsets(users, indptr)
        return Incidence(indptr, items, n_items, item_labels)
    indices = _grouped(users, items, None, 1, indptr)
    indices.resize(csr.drop_repeats(indptr, indices), refcheck=False)
    return Incidence(indptr, indices, n_items, item_labels)


def records(
    users: Ids,
    items: Ids,
    contexts: NDArray[np.integer[Any]],
    n_users: int,
    n_items: int,
    context_labels: tuple[str, ...],
    *,
    repeats: bool,
    item_labels: Sequence[str] | None = None,
) -> Records:
    """Each user's (item, context) records, sorted by item, so that the order of the input does not matter."""
    h = len(context_labels)
    if n_items * h >= 2**31:
        raise UserError(f"{n_items} items in {h} contexts are too many: expected fewer than 2^31 pairs")
    _check_size(n_users, n_items)
    indptr = np.zeros(n_users + 1, dtype=np.int64)
    edges = _grouped(users, items, contexts, h, indptr)
    context_of = np.empty(edges.size, dtype=np.uint8)
    for part in parts(edges.size):
        context_of[part] = edges[part] % h
    edges //= h
    return Records(indptr, edges, context_of, n_items, h, repeats, item_labels, context_labels)


def _grouped(
    rows: Ids, columns: Ids, contexts: NDArray[np.integer[Any]] | None, h: int, indptr: NDArray[np.int64]
) -> NDArray[np.int32]:
    """Each pair's column * h + context, row by row, ascending within each row; the offsets go to `indptr`."""
    csr.offsets(rows, indptr)
    placed = np.empty(rows.size, dtype=np.int32)
    csr.place(rows, columns, np.empty(0, np.uint8) if contexts is None else contexts, h, indptr.copy(), placed)
    csr.sort_rows(indptr, placed)
    return placed


def _check_size(n_rows: int, n_columns: int) -> None:
    if n_rows < 1 or n_columns < 1:
        raise UserError("these files hold no data: expected at least one valid line")
