"""A column of words as numbers into the list of different words, several times faster than Arrow does it.

Imported by the reader of a user's table; imports numerics only. Arrow looks every word up in a table of words. Here each word
becomes a 64-bit number, numbers are looked up, and one pass at the end compares every word with the one that was found for
it. If two words ever have the same number, that pass notices, and Arrow does the work instead.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbench.numerics import words


def is_text(kind: Any) -> bool:
    """Whether values of this Arrow type are words, encoded already or not."""
    import pyarrow as pa

    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def encoded(column: Any) -> Any:
    """A chunked column of words without missing ones, as one Arrow dictionary array."""
    import pyarrow as pa

    if not pa.types.is_dictionary(column.type):
        codes, listed = _looked_up(column)
        return pa.DictionaryArray.from_arrays(pa.array(codes), listed)
    chunks = column.chunks
    listed = chunks[0].dictionary
    codes = np.concatenate([chunk.indices.to_numpy().astype(np.int32, copy=False) for chunk in chunks])
    if not all(
        chunk.dictionary.equals(listed) for chunk in chunks[1:]
    ):  # each part of a file may have a list of its own
        number, listed = _looked_up(pa.chunked_array([chunk.dictionary for chunk in chunks]))
        rows = lists = 0
        for chunk in chunks:
            part = slice(rows, rows + len(chunk))
            codes[part] = number[lists : lists + len(chunk.dictionary)][codes[part]]
            rows, lists = part.stop, lists + len(chunk.dictionary)
    return pa.DictionaryArray.from_arrays(pa.array(codes), listed)


def _looked_up(column: Any) -> tuple[NDArray[np.int32], Any]:
    """The number of each word in the list of different words; and that list, in the order in which they occur."""
    import pyarrow as pa

    numbers = np.empty(len(column), dtype=np.uint64)
    start = 0
    for ends, letters in map(_buffers, column.chunks):
        words.hashes(ends, letters, words.eights(letters), numbers[start : start + ends.size - 1])
        start += ends.size - 1
    encoded_numbers = pa.array(numbers).dictionary_encode()
    codes = encoded_numbers.indices.to_numpy()
    first = np.full(len(encoded_numbers.dictionary), -1, dtype=np.int64)
    words.firsts(codes, first)
    listed = column.take(pa.array(first)).combine_chunks()
    if not _same(column, codes, listed):
        again = column.combine_chunks().dictionary_encode()
        return again.indices.to_numpy(), again.dictionary
    return codes, listed


def _same(column: Any, codes: NDArray[np.int32], listed: Any) -> bool:
    """Whether every word of the column is the listed one that its number says."""
    listed_ends, listed_letters = _buffers(listed)
    listed_words = listed_ends, listed_letters, words.eights(listed_letters)
    start = 0
    for ends, letters in map(_buffers, column.chunks):
        part = codes[start : start + ends.size - 1]
        if not words.equal(ends, letters, words.eights(letters), part, *listed_words):
            return False
        start += part.size
    return True


def _buffers(array: Any) -> tuple[NDArray[Any], NDArray[np.uint8]]:
    """Where the words of an Arrow array begin and end, and the letters of all of them."""
    import pyarrow as pa

    kind = np.int64 if pa.types.is_large_string(array.type) else np.int32
    _, ends, letters = array.buffers()
    if not len(array):
        return np.zeros(1, dtype=kind), np.empty(0, dtype=np.uint8)
    read = np.frombuffer(ends, dtype=kind)[array.offset : array.offset + len(array) + 1]
    return read, np.empty(0, dtype=np.uint8) if letters is None else np.frombuffer(letters, dtype=np.uint8)
