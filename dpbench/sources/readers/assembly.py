"""Columns of ids that arrive in chunks: collected, numbered and checked for repeats, in bounded memory.

Imported by the readers. `dpbench.data.grouping` builds the data kinds from them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dpbench.data import Incidence, Records
from dpbench.data.grouping import parts
from dpbench.errors import UserError

IDS = ("seen", "all")
MOST = 1 << 28
"""Most rows or columns with ids='all', which also keeps unused ids: an array of this many counts takes 2 GB."""


class Column:
    """Numbers that arrive in chunks, in one growing array: there are never two copies of everything."""

    def __init__(self, dtype: Any = np.int32) -> None:
        self._dtype = np.dtype(dtype)
        self._bytes = bytearray()  # grows in place, and uses no memory for capacity not yet filled

    def add(self, chunk: np.ndarray) -> None:
        self._bytes += np.ascontiguousarray(chunk, dtype=self._dtype).view(np.uint8).data

    def whole(self) -> np.ndarray:
        """All numbers. Nothing can be added afterwards."""
        return np.frombuffer(self._bytes, dtype=self._dtype)


def taken(table: np.ndarray, places: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """table[places], into `out` where it is given, which may be `places` itself."""
    out = np.empty(places.size, dtype=table.dtype) if out is None else out
    for part in parts(places.size):
        out[part] = table[places[part]]
    return out


def seen(ids: np.ndarray) -> np.ndarray:
    """The ids that occur, ascending."""
    most = int(ids.max(initial=-1))
    if not _dense(most, ids.size):
        return np.unique(ids)
    occurs = np.zeros(most + 1, dtype=bool)
    for part in parts(ids.size):
        occurs[ids[part]] = True
    return np.flatnonzero(occurs)


def _dense(most: int, number: int) -> bool:
    """Whether a table over all ids is no larger than the alternative for `number` ids."""
    return most < 8 * number + (1 << 20)


def numbered(ids: np.ndarray, which: str = "seen") -> tuple[np.ndarray, int]:
    """Replace ids in place by numbers from 0. Returns them and how many numbers there are.

    `seen`: only ids that occur get a number, in their order. `all`: every id up to the largest gets one.
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


def has_repeats(data: Incidence | Records, pairs: int) -> bool:
    """Whether some pair occurred twice among the `pairs` that `data` was made from."""
    if isinstance(data, Incidence):
        return data.ones < pairs
    same = data.items[1:] == data.items[:-1]
    starts = data.indptr[1:-1]
    same[starts[(starts > 0) & (starts < data.records)] - 1] = False  # the next user may begin with the same item
    return bool(same.any())


def repeated(users: np.ndarray, items: np.ndarray, n_items: int) -> np.ndarray:
    """Marks each pair that already occurred on an earlier line."""
    keys = users.astype(np.int64) * n_items + items
    _, first = np.unique(keys, return_index=True)
    again = np.ones(keys.size, dtype=bool)
    again[first] = False
    return again
