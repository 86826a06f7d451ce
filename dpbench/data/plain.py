"""Arrays, lists and tables of other libraries as one of the data kinds, where there is one way to read them.

Used by `Mechanism.release` and `dpbench.run`. What can be read in two ways is an error that names the constructor to use.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dpbench.data.base import Data
from dpbench.data.contingency import Contingency
from dpbench.data.incidence import Incidence
from dpbench.data.records import Records
from dpbench.errors import UserError

MADE = {
    "incidence": "dpbench.Incidence.{}",
    "records": "dpbench.Records.{}",
    "contingency": "dpbench.Contingency.{}",
    "catalogue": "dpbench.Catalogue.{}",
}
HOW = {
    "frame": {"contingency": "from_pandas(frame, cell=..., count=..., size=...)", "catalogue": "from_pandas(...)"},
    "rows": {
        "incidence": "from_rows(rows, columns=NUMBER)",
        "records": "from_rows(users, items=NUMBER)",
        "contingency": "from_dict({cell: count}, size=NUMBER)",
        "catalogue": "from_matrix(matrix, histories)",
    },
}


def as_data(given: Any, kinds: Sequence[str]) -> Data:
    """`given` as data of the first of these kinds that it can mean. UserError names the constructor if that is not certain."""
    if isinstance(given, Data):
        return given
    frame = hasattr(given, "columns") and hasattr(given, "iloc")
    if frame and (found := _from_frame(given, kinds)) is not None:
        return found
    matrix = given if hasattr(given, "tocsr") else None if frame else _matrix(given)
    if matrix is not None:
        binary = not len(np.setdiff1d(matrix.data if hasattr(given, "tocsr") else matrix, (0, 1)))
        if "incidence" in kinds and matrix.ndim == 2 and binary:
            return Incidence.from_scipy(matrix)
        if "contingency" in kinds:
            return Contingency.from_scipy(matrix) if hasattr(given, "tocsr") else _histogram(matrix)
        if "records" in kinds and matrix.ndim == 2:
            return Records.from_scipy(matrix)
    kind = next((kind for kind in kinds if kind in MADE), "incidence")
    how = HOW["frame" if frame else "rows"].get(kind, "from_pandas(frame, user=..., item=...)")
    made = MADE[kind].format(how)
    raise UserError(f"data of type {type(given).__name__} can be read in several ways, or in none: give {made}")


def _from_frame(frame: Any, kinds: Sequence[str]) -> Data | None:
    """A table with the columns `user` and `item` (and `context`), or with one column per item and only zeros and ones."""
    names = [str(name) for name in frame.columns]
    if {"user", "item"} <= {*names} <= {"user", "item", "context"}:
        if "incidence" in kinds and "context" not in names:
            return Incidence.from_pandas(frame)
        if "records" in kinds:
            return Records.from_pandas(frame, context="context" if "context" in names else None)
    values = frame.to_numpy()
    if "incidence" in kinds and values.size and values.dtype.kind in "buif" and not len(np.setdiff1d(values, (0, 1))):
        from scipy.sparse import csr_array

        return Incidence.from_scipy(csr_array(values.astype(np.int8)), item_labels=names)
    return None


def _matrix(given: Any) -> Any:
    """An array of whole numbers that is not also a list of each row's columns; otherwise None."""
    if isinstance(given, str | bytes | dict):
        return None
    try:
        array = np.asarray(given)
    except ValueError:  # rows of different lengths
        return None
    if array.dtype.kind not in "buif" or not array.size or np.any((array < 0) | (array != np.floor(array))):
        return None
    # [[0, 1], [1, 0]] may be two rows of zeros and ones, or the columns of two rows. From three on, a column would repeat.
    listed = not isinstance(given, np.ndarray) and array.ndim == 2
    if listed and (array.shape[1] < 3 or array.max() > 1):
        return None
    return array.astype(np.int64)


def _histogram(array: Any) -> Contingency:
    """The cells of an array as counts."""
    cells = np.flatnonzero(array)
    return Contingency(cells, array.ravel()[cells], array.size, tuple(array.shape))
