"""Rows of trials as Arrow tables: numbers as doubles, text as strings. Imported by the store and the frame.

A release may give a number in one trial and a text in another. Then the stored column is text, with numbers spelled out. On
reading, a column in which every text is a number becomes numeric again. So the type of a column depends on the trials that
are read, not on which of them were stored together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa

from dpbench.model.trial import TrialRow, TrialValue

NUMERIC = ("metric.", "expected.")
"""What the names of columns begin with that hold numbers only."""


def table(rows: Sequence[TrialRow]) -> pa.Table:
    """Every number except the trial is a double, so that files of one setting fit together."""
    types: dict[str, pa.DataType] = {}
    for row in rows:
        for name, value in row.items():
            kind = pa.int64() if name == "trial" else pa.string() if isinstance(value, str) else pa.float64()
            if types.get(name) != pa.string():  # a text in one trial makes the whole column text
                types[name] = kind
    columns = {name: [_spelled(row.get(name), kind) for row in rows] for name, kind in types.items()}
    return pa.table(columns, schema=pa.schema(types.items()))


def are_plain(schema: pa.Schema) -> bool:
    """Whether a table has the types that `table` writes, no duplicate columns, and numeric metrics."""
    kinds = {field.name: field.type for field in schema}
    if len(kinds) < len(schema) or kinds.pop("trial", None) != pa.int64():
        return False
    words = [name for name, kind in kinds.items() if kind != pa.float64()]
    return all(kinds[name] == pa.string() and name != "seconds" and not name.startswith(NUMERIC) for name in words)


def as_words(given: pa.Table, names: Iterable[str]) -> pa.Table:
    """The same table with these columns, if present, as text."""
    for name in {*names} & {*given.column_names}:
        if given.schema.field(name).type != pa.string():
            spelled = [_spelled(value, pa.string()) for value in given[name].to_pylist()]
            given = given.set_column(given.column_names.index(name), name, pa.array(spelled, pa.string()))
    return given


def settled(given: pa.Table, keep: Iterable[str]) -> pa.Table:
    """The same table with every column of spelled-out numbers as numbers, and without empty columns except `keep`."""
    for field in given.schema:
        if given[field.name].null_count == given.num_rows and field.name not in keep:
            given = given.drop_columns(field.name)
        elif field.type == pa.string():
            values = [_number(word) for word in given[field.name].to_pylist()]
            if not any(isinstance(value, str) for value in values):
                position = given.column_names.index(field.name)
                given = given.set_column(position, field.name, pa.array(values, pa.float64()))
    return given


def same(value: TrialValue, other: TrialValue) -> bool:
    """Whether two copies of a cell agree: a number equals its spelling, and NaN equals NaN."""
    if isinstance(value, str) or isinstance(other, str):
        return _spelled(value, pa.string()) == _spelled(other, pa.string())
    return value == other or (value != value and other != other)


def _spelled(value: TrialValue, kind: pa.DataType) -> TrialValue:
    if kind != pa.string() or value is None or isinstance(value, str):
        return value
    return str(float(value))


def _number(word: str | None) -> TrialValue:
    """The number that a text spells exactly as `_spelled` does; otherwise the text."""
    try:
        return word if word is None or str(float(word)) != word else float(word)
    except ValueError:
        return word
