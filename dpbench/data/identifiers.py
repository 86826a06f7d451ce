"""Number identifiers of any type (words, numbers, dates) from 0, in sorted order, and keep their names.

Imported by the constructors of the data kinds and by the reader of a user's table; imports encoding, errors and labels. The
order of the rows does not matter: the same pairs give the same numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbench.data.encoding import encoded, is_text
from dpbench.data.labels import Labels
from dpbench.errors import UserError, nearest

MOST = 2**31 - 1
WHOLE = r"^(0|-?[1-9][0-9]{0,17})$"  # a whole number in its usual spelling: 007 is a name


@dataclass(frozen=True)
class Numbered:
    """A column of identifiers: the number assigned to each row, and the distinct identifiers in order."""

    codes: NDArray[np.int32]
    values: Any
    """The identifiers as an Arrow array; `labels` names them."""

    @property
    def size(self) -> int:
        """How many different ones there are."""
        return len(self.values)

    @property
    def labels(self) -> Labels:
        """The names of the identifiers, in order."""
        return labels_of(self.values)


def column(frame: Any, name: str, what: str) -> Any:
    """A column of a pandas frame; UserError with the nearest name when there is none."""
    if not hasattr(frame, "columns") or not hasattr(frame, "__getitem__"):
        raise UserError(
            f"{what}: expected a table with named columns, such as a pandas DataFrame, not {type(frame).__name__}"
        )
    if name not in frame.columns:
        raise UserError(f"{what}: the table has no column {name!r}: {nearest(name, [str(c) for c in frame.columns])}")
    return frame[name]


def numbered(what: str, values: Any) -> Numbered:
    """Identifiers as numbers. `what` is what messages call them, such as `Incidence: users`."""
    import pyarrow as pa
    import pyarrow.compute as pc

    array = arrow(what, values)
    if array.null_count:
        row = int(np.argmax(array.is_null().to_numpy(zero_copy_only=False)))
        raise UserError(f"{what}: row {row} is empty: expected an identifier in every row")
    if not pa.types.is_dictionary(array.type):
        array = encoded(pa.chunked_array([array])) if is_text(array.type) else array.dictionary_encode()
    codes, names = array.indices.to_numpy(), array.dictionary
    used = np.flatnonzero(np.bincount(codes, minlength=len(names)))
    if used.size < len(names):  # a column of categories may list some that do not occur
        new_code = np.zeros(len(names), dtype=np.int32)
        new_code[used] = np.arange(used.size)
        codes, names = new_code[codes], names.take(pa.array(used))
    if len(names) > MOST:
        raise UserError(f"{what}: {len(names)} different identifiers are too many: expected fewer than 2^31")
    order = pc.sort_indices(_sortable(names))
    rank = np.empty(len(names), dtype=np.int32)
    rank[order.to_numpy()] = np.arange(len(names), dtype=np.int32)
    return Numbered(rank[codes], names.take(order))


def arrow(what: str, values: Any) -> Any:
    """A column as one Arrow array of a type that can serve as identifier; missing values are null."""
    import pyarrow as pa

    if isinstance(values, str | bytes) or not np.iterable(values):
        raise UserError(f"{what}: expected a list of identifiers, found {values!r}")
    try:
        array = values if isinstance(values, pa.Array | pa.ChunkedArray) else pa.array(values, from_pandas=True)
    except OverflowError:
        raise UserError(f"{what}: a number is too large for 64 bits: expected such identifiers as words") from None
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise UserError(f"{what}: expected identifiers of one type (words, numbers or dates): {error}") from None
    if isinstance(array, pa.ChunkedArray) and is_text(array.type) and not array.null_count:
        array = encoded(array)
    elif isinstance(array, pa.ChunkedArray):
        array = array.unify_dictionaries().combine_chunks() if array.num_chunks != 1 else array.chunk(0)
    kind = array.type.value_type if pa.types.is_dictionary(array.type) else array.type
    if pa.types.is_null(kind):
        return array.cast(pa.string())
    if pa.types.is_floating(kind):
        return _whole_floats(array)
    named = not (pa.types.is_duration(kind) or isinstance(kind, pa.BaseExtensionType))
    if not named or pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        raise UserError(f"{what}: values of type {kind} cannot be identifiers: expected words, numbers or dates")
    return array


def _whole_floats(array: Any) -> Any:
    """Convert floats to integers if all are whole: tables with missing values store integers as floats."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    array = pc.if_else(pc.is_nan(array), pa.scalar(None, array.type), array)
    try:
        return array.cast(pa.int64())
    except pa.ArrowInvalid:
        return array


def _sortable(values: Any) -> Any:
    """The sort key of the identifiers: themselves, or their numeric value if all words are numbers."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not _is_text(values.type):
        return values
    if pc.all(pc.match_substring_regex(values, WHOLE)).as_py():
        return values.cast(pa.int64())
    return values


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)


def labels_of(values: Any) -> Labels:
    """The identifiers as text."""
    import pyarrow as pa

    kind = values.type
    if pa.types.is_timestamp(kind):
        for short in (pa.date32(), pa.timestamp("s", kind.tz), kind):  # shown as 2024-05-01 if all are midnight
            try:
                values = values.cast(short)
                break
            except pa.ArrowInvalid:
                continue
    texts = values.cast(pa.large_string())
    if texts.offset or len(texts) == 0:
        return Labels.of(texts.to_pylist())
    _, ends, text = texts.buffers()
    stops = np.frombuffer(ends, dtype=np.int64)[1 : len(texts) + 1]
    letters = np.frombuffer(text, dtype=np.uint8)[: stops[-1]] if text is not None else np.empty(0, np.uint8)
    return Labels(letters, stops)


def several(cell: str | Sequence[str]) -> list[str]:
    """The attributes of a cell as a list: one name, or several."""
    return [cell] if isinstance(cell, str) else [str(name) for name in cell]
