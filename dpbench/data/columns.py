"""`ColumnData`: what mechanisms for column counts ask of their data, whichever kind it is.

An `Incidence` is column data itself. `Records` give two views: by item, and by item and context. Each of these has
`item_columns()`, the counts that every kind publishes, and `edge_columns()`, which is None where there are no edges.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")


class ColumnData(Protocol):
    """Rows (users) by columns, as CSR: row i holds the columns `indices[indptr[i]:indptr[i+1]]`."""

    @property
    def indptr(self) -> NDArray[np.int64]:
        """Where each row begins in `indices`."""
        ...

    @property
    def indices(self) -> NDArray[np.integer[Any]]:
        """The columns of all rows, one row after the other."""
        ...

    @property
    def columns(self) -> int:
        """d, the number of columns."""
        ...

    @property
    def rows(self) -> int:
        """n, the number of rows, empty ones included."""
        ...

    @property
    def ones(self) -> int:
        """The number of entries in all rows together."""
        ...

    @property
    def counts(self) -> NDArray[np.int64]:
        """The true column counts."""
        ...

    @property
    def row_sizes(self) -> NDArray[np.int64]:
        """How many columns each row holds."""
        ...

    @property
    def largest_row(self) -> int:
        """The size of the largest row."""
        ...

    @property
    def repeats(self) -> bool:
        """Whether a row may hold a column more than once: a public fact."""
        ...

    def memo(self, key: Hashable, compute: Callable[[], T]) -> T:
        """What `compute` gives, kept with the data under `key`."""
        ...

    def fact(self, key: Hashable, owner: type, compute: Callable[[], float]) -> float:
        """A number of the data that `owner` computes, kept with the data under `key`."""
        ...

    def item_columns(self) -> ColumnData:
        """The data as counts of items."""
        ...

    def edge_columns(self) -> ColumnData | None:
        """The data as counts of items by context; None where there are no contexts."""
        ...
