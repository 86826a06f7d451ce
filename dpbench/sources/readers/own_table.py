"""Reader of a user's own table: CSV, TSV or Parquet, with columns of any names and identifiers of any type.

Named `table` in configurations; also used by `audit --data`. Arrow reads whole columns fast. Only if something is wrong is
a text file read line by line (`own_lines`), so that the bad line can be named.
"""

from __future__ import annotations

import functools
import gzip
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from dpbench.data import Contingency, Data, Incidence, Records
from dpbench.data.cells import table as contingency
from dpbench.data.encoding import encoded, is_text
from dpbench.data.identifiers import arrow, numbered
from dpbench.errors import UserError
from dpbench.sources.readers.base import Reader
from dpbench.sources.readers.own_lines import SEPARATORS, Text, Wanted, check_columns
from dpbench.sources.readers.parsing import OTHERS, BadLines

PARQUET = (".parquet", ".pq")
FORMS = (*SEPARATORS, *PARQUET)


class Repeats(UserWarning):
    """Pairs that occur more than once in a table but are counted once."""


@dataclass(frozen=True, kw_only=True)
class TableReader(Reader, name="table"):
    """Your own data: one line per pair of a user and an item, or per cell of a histogram.

    `user` and `item` name columns. With `context` the lines are records; with `cell` they are cells of a histogram, each with
    its `count` (without one, every line counts one). Several files in a folder are read as one table.
    """

    user: str = ""
    """The column of the users (default: user)."""
    item: str = ""
    """The column of the items (default: item)."""
    context: str = ""
    """The column of the contexts, up to 256 different ones: makes records."""
    cell: str = ""
    """The column of the cells, or several separated by commas, one per attribute: makes a histogram."""
    count: str = ""
    """The column that says how many individuals a line stands for (default: one)."""
    shape: str = ""
    """The number of cells of each attribute, such as 100x24: cells are then numbers from 0. Default: the values that occur."""
    kind: str = ""
    """incidence, records or contingency (default: by the columns)."""
    header: bool = True
    """Whether the first line of a text file names the columns; otherwise they are called 1, 2, 3 and so on."""

    kinds: ClassVar[tuple[str, ...]] = ("incidence", "records", "contingency")
    what: ClassVar[str] = "a table, as CSV, TSV or Parquet"
    names: ClassVar[tuple[str, ...]] = tuple(f"*{form}" for form in FORMS)
    many: ClassVar[bool] = True
    untold: ClassVar[tuple[str, ...]] = (
        *("path", "kind", "user", "item", "context", "cell", "count", "header", "on_bad_line"),
    )

    def __post_init__(self) -> None:
        for name in ("user", "item", "context", "cell", "count", "shape"):
            object.__setattr__(self, name, "" if getattr(self, name) is None else str(getattr(self, name)))
        implied = "contingency" if self.cell else "records" if self.context else "incidence"
        object.__setattr__(self, "kind", self.kind or implied)
        super().__post_init__()
        useless = ("user", "item", "context") if self.kind == "contingency" else ("cell", "count", "shape")
        if self.kind == "contingency" and not self.cell:
            raise UserError("a histogram needs `cell`, the name of the column of its cells")
        for name in (*useless, *(["context"] if self.kind == "incidence" else [])):
            if getattr(self, name):
                raise UserError(f"{name}={getattr(self, name)} has no effect on {self.kind} data")
        if not isinstance(self.header, bool):
            raise UserError(f"header={self.header!r} is not valid: expected true or false")
        self._lengths()

    @property
    def wanted(self) -> Wanted:
        """The columns that are read."""
        if self.kind != "contingency":
            return Wanted((self.user or "user", self.item or "item", *([self.context] if self.context else [])))
        cells = tuple(name.strip() for name in self.cell.split(","))
        lengths = self._lengths()
        if lengths and len(lengths) != len(cells):
            raise UserError(f"shape={self.shape} has {len(lengths)} attributes for {len(cells)} columns: {self.cell}")
        return Wanted((*cells, *([self.count] if self.count else [])), self.count, lengths)

    def _lengths(self) -> tuple[int, ...]:
        parts = self.shape.split("x") if self.shape else []
        if not all(part.isdigit() and int(part) > 0 for part in parts):
            raise UserError(f"shape={self.shape!r} is not valid: expected numbers of cells, such as 100x24")
        return tuple(int(part) for part in parts)

    def build(self, rng: np.random.Generator) -> Data:
        columns = self.columns()
        if self.kind == "contingency":
            return self._contingency(columns)
        values = list(columns.values())
        if self.kind == "records":
            return Records.from_pairs(*values)
        data = Incidence.from_pairs(*values)
        if again := len(values[0]) - data.ones:
            warnings.warn(
                f"{self.path}: {again:,} of {len(values[0]):,} pairs are repeats and count once; kind=records keeps them",
                Repeats,
                stacklevel=2,
            )
        return data

    def columns(self) -> dict[str, Any]:
        """The wanted columns of all files, as Arrow arrays without missing values. A bad line is an error or is skipped."""
        bad = self.bad_lines()
        read = [self._read(path, bad) for path in self.files()]
        columns = {name: _joined(self.files(), name, [part[name] for part in read]) for name in read[0]}
        if not len(next(iter(columns.values()))):
            raise bad.nothing(self.path, "good line", self.what)
        bad.report()
        # Each file, and each part of one, has its own list of words. Arrow joins such lists very slowly.
        return {name: encoded(values) if is_text(values.type) else values for name, values in columns.items()}

    def _contingency(self, columns: dict[str, Any]) -> Contingency:
        wanted = self.wanted
        counts = columns[wanted.count].to_numpy() if wanted.count else None
        cells = [columns[name] for name in wanted.cells]
        if wanted.lengths:
            return contingency([cell.to_numpy() for cell in cells], counts, None, wanted.lengths)
        identifiers = [numbered(f"{self.path}: {name}", cell) for name, cell in zip(wanted.cells, cells, strict=True)]
        return contingency(
            [attribute.codes for attribute in identifiers], counts, None, [attribute.size for attribute in identifiers]
        )

    def _read(self, path: Path, bad: BadLines) -> dict[str, Any]:
        text = _text(path, self.header)
        return self._parquet(path, bad) if text is None else text.columns(self.wanted, bad)

    def _parquet(self, path: Path, bad: BadLines) -> dict[str, Any]:
        import pyarrow as pa
        import pyarrow.parquet as pq

        wanted = self.wanted
        source, schema = _opened(path)
        check_columns(path, wanted.names, schema.names)
        try:
            table = pq.read_table(source, columns=list(wanted.names))
        except (pa.ArrowInvalid, OSError) as error:
            raise UserError(f"{path} cannot be read as Parquet: {error}") from None
        columns = {name: _usable(path, name, table[name]) for name in wanted.names}
        wrong = np.zeros(table.num_rows, dtype=bool)
        for name, values in columns.items():
            if values.null_count:
                empty = values.is_null().to_numpy(zero_copy_only=False)
                _leave_out(path, bad, empty & ~wrong, lambda _, name=name: f"{name} is empty")
                wrong |= empty
            if name in wanted.numbers:
                outside, columns[name] = _outside(path, values, wanted, name)
                describe = functools.partial(_told, wanted, name, values)
                _leave_out(path, bad, outside & ~wrong, describe)
                wrong |= outside
        if wrong.any():
            columns = {name: values.filter(pa.array(~wrong)) for name, values in columns.items()}
        return {
            name: values if isinstance(values, pa.ChunkedArray) else pa.chunked_array([values])
            for name, values in columns.items()
        }


def column_names(path: Path) -> list[str]:
    """The names of the columns of a table."""
    text = _text(path, True)
    return list(_opened(path)[1].names) if text is None else text.names()


def _text(path: Path, header: bool) -> Text | None:
    """A file as lines of text; None when it is Parquet. UserError for anything else."""
    plain = path.name.lower().removesuffix(".gz")
    form = next((form for form in FORMS if plain.endswith(form)), None)
    if form is None:
        save = "; save the sheet as CSV" if path.suffix.lower().startswith((".xls", ".ods")) else ""
        expected = f"expected one of {', '.join(FORMS)} (or .gz after it){save}"
        raise UserError(f"{path}: unknown ending {path.suffix!r}: {expected}")
    if form in PARQUET:
        return None
    _refuse_other_forms(path)
    return Text(path, SEPARATORS[form], header)


def _opened(path: Path) -> tuple[Any, Any]:
    """A Parquet file as Arrow reads it, and its schema."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        source = pa.BufferReader(gzip.decompress(path.read_bytes())) if path.suffix.lower() == ".gz" else str(path)
        return source, pq.read_schema(source)
    except (pa.ArrowInvalid, OSError, EOFError) as error:
        raise UserError(f"{path} cannot be read as Parquet: {error}") from None


def _usable(path: Path, name: str, values: Any) -> Any:
    """A column that can serve as identifier. Words stay in parts: they are encoded when all files are read."""
    return values if is_text(values.type) else arrow(f"{path}: column {name!r}", values)


def _joined(paths: Sequence[Path], name: str, columns: list[Any]) -> Any:
    """One column of all files. Files may differ in how they store the same type: short or long numbers, encoded words."""
    import pyarrow as pa

    chunks = [
        (path, chunk) for path, column in zip(paths, columns, strict=True) for chunk in column.chunks if len(chunk)
    ]
    types = {chunk.type: path for path, chunk in chunks}
    if len(types) < 2:
        return pa.chunked_array([chunk for _, chunk in chunks], next(iter(types), columns[0].type))
    plain = [kind.value_type if pa.types.is_dictionary(kind) else kind for kind in types]
    try:
        common = pa.unify_schemas([pa.schema([(name, kind)]) for kind in plain], promote_options="permissive")
        return pa.chunked_array([chunk.cast(common.field(0).type) for _, chunk in chunks])
    except (pa.ArrowTypeError, pa.ArrowInvalid):
        types_by_file = " and ".join(f"{kind} in {path.name}" for kind, path in zip(plain, types.values(), strict=True))
        raise UserError(
            f"{paths[0].parent}: the column {name!r} holds {types_by_file}: expected one type in all files"
        ) from None


def _outside(path: Path, values: Any, wanted: Wanted, name: str) -> tuple[np.ndarray, Any]:
    """Which rows of a number column are not numbers or out of range; and the column as numbers."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_integer(values.type):
        raise UserError(f"{path}: the column {name!r} holds {values.type} values: {wanted.expected(name)}")
    numbers = pc.fill_null(values, 0).cast(pa.int64(), safe=False)
    whole = numbers.to_numpy()
    low, high = wanted.limits(name)
    return (whole < low) | (whole > high), numbers


def _told(wanted: Wanted, name: str, values: Any, row: int) -> str:
    return wanted.expected(name, values[row].as_py())


def _leave_out(path: Path, bad: BadLines, wrong: np.ndarray, problem: Any) -> None:
    if wrong.any():
        row = int(np.argmax(wrong))
        bad.found(path, row + 1, problem(row), int(wrong.sum()), unit="row")


def _refuse_other_forms(path: Path) -> None:
    try:
        with gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb") as file:
            head = file.read(4)
    except (OSError, EOFError) as error:
        raise UserError(f"{path} cannot be read: {error}") from None
    for start, what in OTHERS.items():
        if head.startswith(start):
            raise UserError(f"{path} is {what}: expected CSV or TSV in UTF-8, or Parquet")
