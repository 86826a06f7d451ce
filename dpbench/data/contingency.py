"""`Contingency`: a sparse histogram over a large domain, queried by range and subset sums (sparse)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbench.data.base import Data, is_whole, read_only, whole_numbers
from dpbench.errors import UserError
from dpbench.numerics import boxes

LARGEST = 2**62
"""Cells are int64, and a tree over them has twice as many nodes."""


@dataclass(frozen=True, eq=False, repr=False)
class Contingency(Data, kind="contingency"):
    """n non-zero cells of m: sorted `cells` in range(size) with positive whole `counts`. No array is as large as the domain.

    A domain of several attributes has a `shape` and is flattened, the last attribute varying fastest. The constructor
    checks shapes only, so that a memory map is not scanned; `validate` scans everything.
    """

    cells: NDArray[np.int64]
    counts: NDArray[np.int64]
    size: int
    shape: tuple[int, ...] = ()

    derived = ("running",)

    @classmethod
    def from_dict(
        cls, counts: Mapping[Any, int], *, size: int | None = None, shape: Sequence[int] | None = None
    ) -> Contingency:
        """From {cell: count}; cells are numbers, or tuples when `shape` is given. For tests and notebooks.

        >>> data = Contingency.from_dict({3: 10, 999_999: 2}, size=10**6)
        >>> data.nonzeros, data.total
        (2, 12)
        >>> Contingency.from_dict({(0, 2): 5}, shape=(2, 3)).cells
        array([2])
        """
        shape, size = _domain(size, shape)
        keys = [_line(cell, shape) for cell in counts]
        values = list(counts.values())
        if len(set(keys)) != len(keys):
            raise UserError("Contingency: a cell is given twice")
        for cell, value in zip(keys, values, strict=True):
            if not 0 <= cell < size:
                raise UserError(f"Contingency: cell {cell} is outside 0..{size - 1}")
            if not is_whole(value) or value < 0:
                raise UserError(f"Contingency: count {value!r} of cell {cell} is not a whole number of 0 or more")
        cells, amounts = np.array(keys, dtype=np.int64), np.array(values, dtype=np.int64)
        order = np.argsort(cells)
        order = order[amounts[order] > 0]
        return cls(cells[order], amounts[order], size, shape)

    @classmethod
    def from_records(cls, columns: Sequence[ArrayLike], *, shape: Sequence[int]) -> Contingency:
        """From records, one column of codes per attribute: how many records fall in each cell.

        >>> Contingency.from_records([[0, 0, 1], [2, 2, 0]], shape=(2, 3)).counts
        array([2, 1])
        """
        shape, size = _domain(None, shape)
        codes = [whole_numbers(f"Contingency: column {i}", c, "one code per record") for i, c in enumerate(columns)]
        if len(codes) != len(shape):
            raise UserError(f"Contingency: {len(codes)} columns for a shape of {len(shape)} attributes")
        try:
            cells = np.ravel_multi_index(codes, shape)
        except ValueError:
            raise UserError(f"Contingency: a record lies outside the shape {shape}") from None
        cells.sort()
        first = np.flatnonzero(np.diff(cells, prepend=-1))
        return cls(cells[first], np.diff(first, append=cells.size), size, shape)

    @classmethod
    def from_pairs(
        cls, cells: Any, counts: Any = None, *, size: int | None = None, shape: Sequence[int] | None = None
    ) -> Contingency:
        """From cells and the number of individuals that each row stands for (default: one).

        `cells`: one column of numbers, or one column for each attribute of `shape`. A cell may occur in several rows.

        >>> Contingency.from_pairs([3, 7, 3], [1, 5, 2], size=10).counts
        array([3, 5])
        """
        from dpbench.data.cells import table

        return table(cells, counts, size, shape)

    @classmethod
    def from_pandas(
        cls,
        frame: Any,
        *,
        cell: str | Sequence[str] = "cell",
        count: str | None = None,
        size: int | None = None,
        shape: Sequence[int] | None = None,
    ) -> Contingency:
        """From a table: `cell` names the column of the cells, or one column for each attribute.

        With `size` or `shape` they hold numbers from 0. Otherwise they hold any identifiers, and the domain consists of
        those that occur. The domain then reveals something about the data.

        >>> import pandas as pd
        >>> table = pd.DataFrame({"age": [30, 40, 30], "people": [5, 2, 1]})
        >>> Contingency.from_pandas(table, cell="age", count="people", size=120).counts
        array([6, 2])
        """
        from dpbench.data.cells import from_frame

        return from_frame(frame, cell, count, size, shape)

    @classmethod
    def from_scipy(cls, matrix: Any) -> Contingency:
        """From a sparse matrix of whole numbers: one attribute for its rows, one for its columns.

        >>> from scipy.sparse import csr_array
        >>> Contingency.from_scipy(csr_array([[0, 4], [1, 0]])).shape
        (2, 2)
        """
        from scipy.sparse import coo_array

        pairs = coo_array(matrix)
        return cls.from_pairs(list(pairs.coords), pairs.data, shape=pairs.shape)

    def __post_init__(self) -> None:
        super().__post_init__()
        shape, size = _domain(self.size, self.shape or None)
        object.__setattr__(self, "size", size)
        object.__setattr__(self, "shape", shape)
        if self.cells.ndim != 1 or self.cells.shape != self.counts.shape:
            raise UserError(f"Contingency: {self.cells.size} cells but {self.counts.size} counts")
        if self.cells.size > size:
            raise UserError(f"Contingency: {self.cells.size} cells in a domain of {size}")

    @property
    def nonzeros(self) -> int:
        """n, the number of non-zero cells."""
        return self.cells.size

    @cached_property
    def running(self) -> NDArray[np.int64]:
        """Sum of all counts before each cell, and the total at the end."""
        return read_only(np.concatenate([[0], np.cumsum(self.counts, dtype=np.int64)]))

    @property
    def total(self) -> int:
        """‖M‖₁, the number of individuals."""
        return int(self.running[-1])

    def sum(self, lo: ArrayLike, hi: ArrayLike) -> NDArray[np.int64]:
        """True count of each range lo <= cell < hi."""
        return self.running[np.searchsorted(self.cells, hi)] - self.running[np.searchsorted(self.cells, lo)]

    def rectangles(self, lo: ArrayLike, hi: ArrayLike) -> NDArray[np.int64]:
        """True count of each rectangle lo <= x < hi; the last axis of both holds one coordinate per attribute."""
        total = boxes.sums(self.sum, *boxes.checked(lo, hi, self.shape), self.shape)
        return np.rint(total).astype(np.int64).reshape(np.broadcast_shapes(np.shape(lo), np.shape(hi))[:-1])[()]

    def subset(self, cells: ArrayLike) -> int:
        """True count of a set of cells."""
        asked = np.sort(np.asarray(cells, dtype=np.int64))
        at = np.searchsorted(asked, self.cells)
        inside = at < asked.size
        return int(self.counts[inside][asked[at[inside]] == self.cells[inside]].sum())

    def validate(self) -> None:
        """The full check, a scan of all cells: inside the domain, in order, none twice, counts positive."""
        if not self.cells.size:
            return
        for cell in (self.cells.min(), self.cells.max()):
            if not 0 <= cell < self.size:
                raise UserError(f"Contingency: cell {cell} is outside 0..{self.size - 1}")
        steps = np.diff(self.cells)
        if np.any(steps == 0):
            raise UserError(f"Contingency: cell {self.cells[:-1][steps == 0][0]} is given twice")
        if np.any(steps < 0):
            raise UserError(f"Contingency: cells must be sorted, {self.cells[1:][steps < 0][0]} comes too late")
        if np.any(self.counts <= 0):
            at = int(np.argmax(self.counts <= 0))
            raise UserError(f"Contingency: count {self.counts[at]} of cell {self.cells[at]}: expected 1 or more")

    def facts(self) -> str:
        """The short description that `repr` shows."""
        return f"{self.nonzeros:,} of {self.size:,} cells, {' x '.join(map(str, self.shape))}, total {self.total:,}"

    def statistics(self) -> dict[str, float]:
        """Table 1 of sparse: the density n/m, and what makes it up."""
        n = self.nonzeros
        return {
            "cells": self.size,
            "nonzeros": n,
            "density": n / self.size,
            "mean": self.total / n if n else 0.0,
            "largest": int(self.counts.max(initial=0)),
            "total": self.total,
        }


def _domain(size: int | None, shape: Sequence[int] | None) -> tuple[tuple[int, ...], int]:
    """Shape and size of a domain, each from the other."""
    if size is None and shape is None:
        raise UserError("Contingency: size or shape of the domain is missing")
    lengths = (size,) if shape is None else tuple(shape)
    for length in lengths:
        if isinstance(length, bool) or not isinstance(length, int | np.integer) or length < 1:
            raise UserError(f"Contingency: size {length!r} is not valid: expected a positive whole number")
    cells = math.prod(int(length) for length in lengths if length is not None)
    if size is not None and size != cells:
        raise UserError(f"Contingency: shape {lengths} has {cells} cells, but size={size}")
    if cells > LARGEST:
        raise UserError(f"Contingency: a domain of {cells} cells is too large: at most 2^62")
    return tuple(int(length) for length in lengths if length is not None), cells


def _line(cell: Any, shape: tuple[int, ...]) -> int:
    """The flat index of a cell, which is given as one number or as one number per attribute."""
    if not all(is_whole(x) for x in (cell if isinstance(cell, tuple) else (cell,))):
        raise UserError(f"Contingency: cell {cell!r} is not valid: expected a whole number, or one per attribute")
    if not isinstance(cell, tuple):
        return int(cell)
    if len(cell) != len(shape) or any(not 0 <= x < length for x, length in zip(cell, shape, strict=True)):
        raise UserError(f"Contingency: cell {cell} is outside the shape {shape}")
    index = 0
    for x, length in zip(cell, shape, strict=True):
        index = index * length + int(x)
    return index
