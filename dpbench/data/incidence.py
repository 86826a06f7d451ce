"""`Incidence`: a binary matrix of users by columns, queried for all column counts (gs, Section 2.1)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpbench.data.base import Data, check_csr, labelled, read_only, whole_numbers
from dpbench.errors import UserError

PART = 1 << 24  # ones counted at a time: bincount widens its input to 8 bytes each


@dataclass(frozen=True, eq=False, repr=False)
class Incidence(Data, kind="incidence"):
    """n rows (users) by d columns, binary, as CSR: row i holds the columns `indices[indptr[i]:indptr[i+1]]`.

    The constructor checks shapes only, so that a memory map is not scanned; `validate` scans everything.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.integer[Any]]
    columns: int
    item_labels: Sequence[str] | None = None
    """The name of each column, if they have names."""

    derived = ("counts",)
    repeats: ClassVar[bool] = False
    """Whether a row may hold a column more than once: never."""

    @classmethod
    def from_pairs(cls, users: Any, items: Any) -> Incidence:
        """From two columns of identifiers (words, numbers, dates), one pair of a user and an item in each row.

        A repeated pair counts once. Rows and columns are in the order of the identifiers; the items' names
        are kept as `item_labels`.

        >>> data = Incidence.from_pairs(["ann", "ann", "bob"], ["inn", "zoo", "zoo"])
        >>> data
        Incidence(2 rows x 2 columns, 3 ones, largest row 2)
        >>> dict(zip(data.item_labels, data.counts.tolist()))
        {'inn': 1, 'zoo': 2}
        """
        from dpbench.data import grouping
        from dpbench.data.identifiers import numbered

        rows, columns = numbered("Incidence: users", users), numbered("Incidence: items", items)
        if rows.codes.size != columns.codes.size or not rows.codes.size:
            raise UserError(f"Incidence: {rows.codes.size} users for {columns.codes.size} items: expected pairs")
        return grouping.incidence(rows.codes, columns.codes, rows.size, columns.size, item_labels=columns.labels)

    @classmethod
    def from_pandas(cls, frame: Any, *, user: str = "user", item: str = "item") -> Incidence:
        """From a table with one row per pair; `user` and `item` name its columns.

        >>> import pandas as pd
        >>> visits = pd.DataFrame({"who": ["ann", "ann", "bob"], "place": ["inn", "zoo", "zoo"]})
        >>> Incidence.from_pandas(visits, user="who", item="place").counts
        array([1, 2])
        """
        from dpbench.data.identifiers import column

        return cls.from_pairs(column(frame, user, "Incidence"), column(frame, item, "Incidence"))

    @classmethod
    def from_scipy(cls, matrix: Any, *, item_labels: Sequence[str] | None = None) -> Incidence:
        """From a sparse matrix of users by items; every stored entry must be one or zero.

        >>> from scipy.sparse import csr_array
        >>> Incidence.from_scipy(csr_array([[1, 0, 1], [0, 0, 1]]))
        Incidence(2 rows x 3 columns, 3 ones, largest row 2)
        """
        from scipy.sparse import csr_array

        binary = csr_array(matrix)
        binary.sum_duplicates()
        if (wrong := np.setdiff1d(binary.data, (0, 1))).size:
            raise UserError(
                f"Incidence: the matrix holds {wrong[0]}: expected zeros and ones only, such as matrix != 0"
            )
        binary.eliminate_zeros()
        indices = binary.indices.astype(np.int32) if binary.shape[1] < 2**31 else binary.indices
        return cls(binary.indptr.astype(np.int64), indices, int(binary.shape[1]), item_labels)

    @classmethod
    def from_rows(cls, rows: Iterable[Sequence[int]], *, columns: int) -> Incidence:
        """From the list of each row's columns; for tests and notebooks.

        >>> Incidence.from_rows([[0, 2], [1, 2, 3], [2]], columns=4).counts
        array([1, 1, 3, 1])
        """
        _check_columns(columns)
        expected = f"columns from 0 to {columns - 1}"
        lists = [np.unique(whole_numbers(f"Incidence: row {i}", row, expected)) for i, row in enumerate(rows)]
        sizes = np.array([row.size for row in lists], dtype=np.int64)
        indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        indices = np.concatenate(lists) if lists else np.empty(0, dtype=np.int64)
        check_csr("Incidence", indptr, indices, columns)
        return cls(indptr, indices.astype(np.int32), columns)

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_columns(self.columns)
        object.__setattr__(self, "columns", int(self.columns))
        object.__setattr__(self, "item_labels", labelled("Incidence", self.item_labels, self.columns))
        if self.indptr.ndim != 1 or self.indptr[0] != 0 or self.indptr[-1] != self.indices.size:
            raise UserError("Incidence: offsets must run from 0 to the number of ones")

    @property
    def rows(self) -> int:
        """n, the number of rows, empty ones included."""
        return self.indptr.size - 1

    @property
    def ones(self) -> int:
        """Number of non-zero cells."""
        return self.indices.size

    @cached_property
    def row_sizes(self) -> NDArray[np.int64]:
        """Number of ones in each row."""
        return read_only(np.diff(self.indptr))

    @cached_property
    def largest_row(self) -> int:
        """Δ₁(Q), the largest observed row: the L1 sensitivity of all column counts."""
        return int(self.row_sizes.max(initial=0))

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """c = Q(D), the true column counts."""
        total = np.zeros(self.columns, dtype=np.int64)
        for start in range(0, self.ones, PART):
            total += np.bincount(self.indices[start : start + PART], minlength=self.columns)
        return read_only(total)

    def item_columns(self) -> Incidence:
        """The counts to publish, as column counts: the data itself."""
        return self

    def edge_columns(self) -> None:
        """There are no edges."""
        return

    def validate(self) -> None:
        """The full check, a scan of all ones: offsets, range, and no duplicate column in a row."""
        check_csr("Incidence", self.indptr, self.indices, self.columns)
        row = np.repeat(np.arange(self.rows), self.row_sizes)
        order = np.lexsort((self.indices, row))
        same = (np.diff(self.indices[order]) == 0) & (np.diff(row[order]) == 0)
        if same.any():
            at = order[1:][same][0]
            raise UserError(f"Incidence: row {row[at]} holds column {self.indices[at]} twice")

    def facts(self) -> str:
        """The short description that `repr` shows."""
        return f"{self.rows:,} rows x {self.columns:,} columns, {self.ones:,} ones, largest row {self.largest_row:,}"

    def statistics(self) -> dict[str, float]:
        """Table 2 of gs: rows, columns, largest row, average count."""
        return {
            "rows": self.rows,
            "columns": self.columns,
            "largest_row": self.largest_row,
            "average_count": self.ones / self.columns,
            "ones": self.ones,
        }


def _check_columns(columns: object) -> None:
    if not isinstance(columns, int | np.integer) or columns < 1:
        raise UserError(f"Incidence: columns={columns!r} is not valid: expected a positive whole number")
