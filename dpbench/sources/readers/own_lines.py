"""Text tables (CSV, TSV): read fast by Arrow if all lines are good, otherwise line by line, to name the bad one.

Imported by `own_table`.
"""

from __future__ import annotations

import csv
import gzip
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from dpbench.errors import UserError, nearest
from dpbench.sources.readers.parsing import BadLines

SEPARATORS = {".csv": ",", ".tsv": "\t"}
LARGEST = 2**62
NUMBER = re.compile(r"\d{1,18}", re.ASCII)


@dataclass(frozen=True)
class Wanted:
    """The columns that are read, and which of them hold numbers."""

    names: tuple[str, ...]
    count: str = ""
    lengths: tuple[int, ...] = ()
    """How many values each column of a cell may have; empty: any identifiers."""

    @property
    def cells(self) -> tuple[str, ...]:
        return tuple(name for name in self.names if name != self.count)

    @property
    def numbers(self) -> tuple[str, ...]:
        return (*(self.cells if self.lengths else ()), *([self.count] if self.count else []))

    def limits(self, name: str) -> tuple[int, int]:
        """The smallest and the largest number allowed in a column."""
        return 0, LARGEST if name == self.count else self.lengths[self.cells.index(name)] - 1

    def expected(self, name: str, value: object = None) -> str:
        """The message for a number that is not valid."""
        given = "" if value is None else f"{name} is {value!r}: "
        high = self.limits(name)[1]
        return f"{given}expected a whole number, {'0 or more' if name == self.count else f'from 0 to {high}'}"

    def problem(self, name: str, value: str) -> str:
        """What is wrong with a field; empty if nothing is."""
        if not value:
            return f"{name} is empty"
        if any("\udc80" <= letter <= "\udcff" for letter in value):
            return f"{name} is not text in UTF-8"
        if name in self.numbers and not (NUMBER.fullmatch(value) and int(value) <= self.limits(name)[1]):
            return self.expected(name, value)
        return ""


@dataclass(frozen=True)
class Text:
    """One CSV or TSV file, gzipped or not."""

    path: Path
    separator: str
    header: bool

    def columns(self, wanted: Wanted, bad: BadLines) -> dict[str, Any]:
        """The wanted columns as chunked Arrow arrays."""
        names = self.names()
        check_columns(self.path, wanted.names, names)
        columns = self._fast(names, wanted)
        return self._exact(names, wanted, bad) if columns is None else columns

    def names(self) -> list[str]:
        """The names of all columns."""
        with self._open() as file:
            try:
                first = next(csv.reader(file, delimiter=self.separator), [])
            except (csv.Error, OSError, EOFError) as error:
                raise UserError(f"{self.path}, line 1: cannot be read: {error}") from None
        if first:
            first[0] = first[0].removeprefix("\ufeff")
        return first if self.header else [str(number) for number in range(1, len(first) + 1)]

    def _fast(self, names: list[str], wanted: Wanted) -> dict[str, Any] | None:
        """All columns at once; None if any line is not as expected."""
        import pyarrow as pa
        import pyarrow.compute as pc
        from pyarrow import csv as arrow_csv

        types = {
            name: pa.int64() if name in wanted.numbers else pa.dictionary(pa.int32(), pa.string())
            for name in wanted.names
        }
        try:
            table = arrow_csv.read_csv(
                str(self.path),
                arrow_csv.ReadOptions(column_names=names, skip_rows_after_names=int(self.header), block_size=1 << 24),
                arrow_csv.ParseOptions(delimiter=self.separator, newlines_in_values=True),
                arrow_csv.ConvertOptions(
                    include_columns=list(wanted.names),
                    column_types=types,
                    null_values=[""],
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=True,
                ),
            )
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError):
            return None
        for name in wanted.names:
            if table[name].null_count:
                return None
            if name in wanted.numbers and len(table[name]):
                low, high = pc.min_max(table[name]).as_py().values()
                least, most = wanted.limits(name)
                if low < least or high > most:
                    return None
        return {name: table[name] for name in wanted.names}

    def _exact(self, names: list[str], wanted: Wanted, bad: BadLines) -> dict[str, Any]:
        import pyarrow as pa

        kept: dict[str, list[Any]] = {name: [] for name in wanted.names}
        for line, fields in self._records():
            if len(fields) != len(names):
                bad.found(self.path, line, f"expected {len(names)} fields, found {len(fields)}")
                continue
            row = dict(zip(names, fields, strict=True))
            if problem := next(filter(None, (wanted.problem(name, row[name]) for name in wanted.names)), ""):
                bad.found(self.path, line, problem)
                continue
            for name, values in kept.items():
                values.append(int(row[name]) if name in wanted.numbers else row[name])
        return {
            name: pa.chunked_array([pa.array(values, pa.int64() if name in wanted.numbers else pa.string())])
            for name, values in kept.items()
        }

    def _records(self) -> Iterator[tuple[int, list[str]]]:
        """The fields of each line that is not empty, with its number."""
        with self._open() as file:
            reader = csv.reader(file, delimiter=self.separator)
            before = 0
            try:
                for number, fields in enumerate(reader):
                    line, before = before + 1, reader.line_num
                    if fields and not (self.header and number == 0):
                        yield line, fields
            except (csv.Error, OSError, EOFError) as error:
                raise UserError(f"{self.path}, line {before + 1}: cannot be read: {error}") from None

    def _open(self) -> IO[str]:
        options: dict[str, Any] = {"encoding": "utf-8", "errors": "surrogateescape", "newline": ""}
        return (
            gzip.open(self.path, "rt", **options) if self.path.suffix.lower() == ".gz" else open(self.path, **options)
        )


OTHER_SEPARATORS = (";", "\t", ",", "|")


def check_columns(path: Path, wanted: Sequence[str], names: Sequence[str]) -> None:
    """UserError unless each wanted column is there once."""
    for name in wanted:
        if list(names).count(name) != 1:
            hint = nearest(name, names) if names else "it is empty"
            if len(names) == 1 and (other := next((mark for mark in OTHER_SEPARATORS if mark in names[0]), "")):
                hint = f"its columns seem to be separated by {other!r}: expected commas in .csv, tabs in .tsv"
            there = f"has the column {name!r} twice" if name in names else f"has no column {name!r}: {hint}"
            raise UserError(f"{path} {there}")
