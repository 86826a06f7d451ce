"""Words as numbers: the same as Arrow, whatever the words, their lengths and the parts of the column."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from dpbench.data import encoding
from dpbench.numerics import words

LENGTHS = (0, 1, 3, 7, 8, 9, 15, 16, 17, 30)


def chunks(rng: np.random.Generator) -> list[list[str]]:
    letters = list("ab\0é日")
    return [
        ["".join(rng.choice(letters, rng.choice(LENGTHS))) for _ in range(rng.integers(0, 40))]
        for _ in range(rng.integers(1, 5))
    ]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_the_same_as_arrow(kind: pa.DataType) -> None:
    rng = np.random.default_rng(5)
    for _ in range(40):
        column = pa.chunked_array([pa.array(part, kind) for part in chunks(rng)], type=kind)
        found, expected = encoding.encoded(column), column.combine_chunks().dictionary_encode()
        assert found.indices.equals(expected.indices)
        assert found.dictionary.equals(expected.dictionary)


def test_parts_of_an_array() -> None:
    """A slice starts in the middle of its letters."""
    whole = pa.array(["first", "seventeen letters", "é", "first", "", "é"])
    column = pa.chunked_array([whole[1:4], whole[3:], whole[:0]])
    assert encoding.encoded(column).to_pylist() == column.to_pylist()
    assert encoding.encoded(pa.chunked_array([], pa.string())).to_pylist() == []


def test_encoded_parts_with_lists_of_their_own() -> None:
    rng = np.random.default_rng(6)
    for small in (pa.int8(), pa.int32()):
        parts = [pa.array(part, pa.string()).dictionary_encode() for part in chunks(rng)]
        column = pa.chunked_array([part.cast(pa.dictionary(small, pa.string())) for part in parts])
        assert encoding.encoded(column).to_pylist() == column.to_pylist()
    same = parts[0]
    assert encoding.encoded(pa.chunked_array([same, same])).to_pylist() == 2 * same.to_pylist()


def test_two_words_with_one_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """If all hashes are equal, the last pass notices."""
    monkeypatch.setattr(words, "hashes", lambda ends, letters, eights, out: out.fill(7))
    column = pa.chunked_array([["a", "b"], ["b", "a longer word"]])
    assert encoding.encoded(column).to_pylist() == column.to_pylist()


@pytest.mark.parametrize("difference", [0, 6, 7, 8, 15, 16])
def test_one_letter_makes_another_word(difference: int) -> None:
    word = "0123456789abcdefg"
    other = word[:difference] + "X" + word[difference + 1 :]
    for size in (difference + 1, len(word)):
        found = encoding.encoded(pa.chunked_array([[word[:size], other[:size], word[:size]]]))
        assert found.indices.to_pylist() == [0, 1, 0]
