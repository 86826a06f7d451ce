"""Tables of the page as data: heads, rows and cells with their sort keys. Rendered by templates."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Number
from typing import TYPE_CHECKING, Any

from dpbench.report.text import number

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Mark:
    """A warning beside a name: `text` is shown, `reason` explains it."""

    text: str
    reason: str = ""


@dataclass(frozen=True)
class Head:
    """The head of a column."""

    text: str
    number: bool = False
    mark: Mark | None = None


@dataclass(frozen=True)
class Cell:
    """One cell. `sort` is its sort key; None: the text."""

    text: str
    sort: str | float | None = None
    number: bool = False
    href: str = ""
    mark: Mark | None = None


@dataclass(frozen=True)
class Table:
    """A table with sortable columns. `caption` is for screen readers; `tall`: it scrolls inside its box."""

    id: str
    caption: str
    heads: tuple[Head, ...]
    rows: tuple[tuple[Cell, ...], ...]
    tall: bool = False


def cell(value: Any, mark: Mark | None = None) -> Cell:
    """A value as a cell: numbers are formatted and sort by their value, a Cell stays as it is."""
    if isinstance(value, Cell):
        return value
    if _is_number(value):
        as_float = float(value)
        return Cell(number(as_float), "" if math.isnan(as_float) else f"{as_float:.9g}", number=True)
    shown = "" if value is None else str(value)
    return Cell(shown, shown if mark else None, mark=mark)


def table(
    names: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    id: str,
    caption: str,
    tall: bool = False,
    head_mark: Callable[[str], Mark | None] = lambda _: None,
    cell_mark: Callable[[str, Mapping[str, Any]], Mark | None] = lambda *_: None,
) -> Table:
    """A table of plain values. Marks are looked up by the column's name, and for cells also by the whole row."""
    cells = []
    for values in rows:
        labels = dict(zip(names, values, strict=True))
        cells.append(tuple(cell(value, cell_mark(name, labels)) for name, value in labels.items()))
    numeric = [any(row[i].number for row in cells[:20]) for i in range(len(names))]
    heads = tuple(Head(name, is_number, head_mark(name)) for name, is_number in zip(names, numeric, strict=True))
    return Table(id, caption, heads, tuple(cells), tall)


def rows_of(frame: pd.DataFrame) -> list[tuple[Any, ...]]:
    return list(frame.itertuples(index=False, name=None))


def _is_number(value: Any) -> bool:
    return isinstance(value, Number) and not isinstance(value, bool)
