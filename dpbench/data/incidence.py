"""`Incidence`: a binary matrix of users by columns, of which all column counts are asked (gs, Section 2.1)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpbench.data.base import Data, check_csr, read_only, whole_numbers
from dpbench.errors import UserError

PART = 1 << 24  # ones counted at a time: bincount widens what it counts to 8 bytes each


@dataclass(frozen=True, eq=False)
class Incidence(Data, kind="incidence"):
    """n rows (users) by d columns, binary, as CSR: row i holds the columns `indices[indptr[i]:indptr[i+1]]`.

    The constructor checks shapes only, so that a memory map is not scanned; `validate` scans everything.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.integer[Any]]
    columns: int

    derived = ("counts",)
    repeats: ClassVar[bool] = False
    """A row holds a column once."""

    @classmethod
    def from_rows(cls, rows: Iterable[Sequence[int]], *, columns: int) -> Incidence:
        """From the list of each row's columns; for tests and notebooks."""
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
        """The counts to publish, as a problem of column counts: these data themselves."""
        return self

    def edge_columns(self) -> None:
        """There are no edges."""
        return

    def validate(self) -> None:
        """The full check, a scan of all ones: offsets, range, and no column twice in a row."""
        check_csr("Incidence", self.indptr, self.indices, self.columns)
        row = np.repeat(np.arange(self.rows), self.row_sizes)
        order = np.lexsort((self.indices, row))
        same = (np.diff(self.indices[order]) == 0) & (np.diff(row[order]) == 0)
        if same.any():
            at = order[1:][same][0]
            raise UserError(f"Incidence: row {row[at]} holds column {self.indices[at]} twice")

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
