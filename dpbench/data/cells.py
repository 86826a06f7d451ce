"""Build a `Contingency` from columns of cells and counts. Imported by its constructors and by the reader of users' tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbench.data.base import whole_numbers
from dpbench.data.contingency import Contingency, _domain
from dpbench.data.identifiers import column, numbered, several
from dpbench.errors import UserError


def table(cells: Any, counts: Any, size: int | None, shape: Sequence[int] | None) -> Contingency:
    """Cells given as numbers. The counts of rows with the same cell are added."""
    lengths, total = _domain(size, shape)
    listed = isinstance(cells, list | tuple) and bool(cells) and np.iterable(cells[0])
    columns = list(cells) if listed else [cells]
    if len(columns) != len(lengths):
        raise UserError(f"Contingency: {len(columns)} columns of cells for a shape of {len(lengths)} attributes")
    codes = []
    for number, (values, length) in enumerate(zip(columns, lengths, strict=True)):
        what = f"Contingency: column {number} of the cells"
        numbers = whole_numbers(what, np.asarray(values), f"from 0 to {length - 1}")
        outside = (numbers < 0) | (numbers >= length)
        if outside.any():
            row = int(np.argmax(outside))
            raise UserError(f"{what}: row {row} is {numbers[row]}: expected a number from 0 to {length - 1}")
        codes.append(numbers)
    if len({numbers.size for numbers in codes}) > 1:
        raise UserError(
            f"Contingency: columns of {', '.join(str(c.size) for c in codes)} rows: expected the same number"
        )
    cell = codes[0].astype(np.int64)
    for numbers, length in zip(codes[1:], lengths[1:], strict=True):
        cell = cell * length + numbers
    return _summed(cell, _amounts(counts, cell.size), total, lengths)


def from_frame(
    frame: Any, cell: str | Sequence[str], count: str | None, size: int | None, shape: Sequence[int] | None
) -> Contingency:
    """A pandas frame; without a size, the domain consists of the identifiers that occur."""
    columns = [column(frame, name, "Contingency") for name in several(cell)]
    counts = None if count is None else column(frame, count, "Contingency")
    if size is not None or shape is not None:
        return table(columns, counts, size, shape)
    identifiers = [
        numbered(f"Contingency: {name}", values) for name, values in zip(several(cell), columns, strict=True)
    ]
    return table(
        [attribute.codes for attribute in identifiers], counts, None, [attribute.size for attribute in identifiers]
    )


def _amounts(counts: Any, rows: int) -> NDArray[np.int64]:
    if counts is None:
        return np.ones(rows, dtype=np.int64)
    amounts = whole_numbers("Contingency: counts", np.asarray(counts), "0 or more")
    if amounts.size != rows:
        raise UserError(f"Contingency: {rows} cells but {amounts.size} counts")
    if (amounts < 0).any():
        row = int(np.argmax(amounts < 0))
        raise UserError(f"Contingency: row {row} has the count {amounts[row]}: expected 0 or more")
    return amounts


def _summed(cells: NDArray[np.int64], amounts: NDArray[np.int64], size: int, shape: tuple[int, ...]) -> Contingency:
    order = np.argsort(cells, kind="stable")
    cells, amounts = cells[order], amounts[order]
    first = np.flatnonzero(np.diff(cells, prepend=-1))
    sums = np.add.reduceat(amounts, first) if first.size else amounts
    return Contingency(cells[first][sums > 0], sums[sums > 0], size, shape)
