"""Data kinds: invariants, read-only arrays, and what the constructors refuse."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dpbench import Catalogue, Contingency, Data, Incidence, Records
from dpbench.data.base import arrays_of
from dpbench.errors import UserError


def test_incidence_from_rows() -> None:
    data = Incidence.from_rows([[2, 0], [], [1, 2, 3, 2]], columns=5)
    assert (data.rows, data.columns, data.ones, data.largest_row) == (3, 5, 5, 3)
    assert data.counts.tolist() == [1, 1, 2, 1, 0]
    assert data.row_sizes.tolist() == [2, 0, 3]
    assert data.statistics()["average_count"] == 1.0


def test_incidence_is_read_only_and_leaves_the_callers_arrays_alone() -> None:
    indptr, indices = np.array([0, 2]), np.array([0, 1])
    data = Incidence(indptr, indices, 2)
    for array in (data.indptr, data.indices, data.counts, data.row_sizes):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    indices[0] = 0
    with pytest.raises(AttributeError):
        data.columns = 3  # type: ignore[misc]


def test_incidence_of_no_rows_and_of_empty_rows() -> None:
    assert Incidence.from_rows([], columns=3).counts.tolist() == [0, 0, 0]
    assert Incidence.from_rows([[], []], columns=3).largest_row == 0


@pytest.mark.parametrize(
    ("rows", "columns", "message"),
    [([[0, 5]], 5, "index 5 is outside 0..4"), ([[-1]], 5, "index -1 is outside"), ([[0]], 0, "columns=0|outside")],
)
def test_incidence_refuses_what_is_outside(rows: list[list[int]], columns: int, message: str) -> None:
    with pytest.raises(UserError, match=message):
        Incidence.from_rows(rows, columns=columns)


NOT_WHOLE: list[tuple[Callable[[Any], Data], str]] = [
    (lambda x: Incidence.from_rows([[0], [1, x]], columns=4), "Incidence: row 1 has {}: expected whole numbers, col"),
    (lambda x: Records.from_rows([[0], [1, x]], items=4), "Records: user 1 has {}: expected whole numbers, items"),
    (lambda x: Records.from_rows([[(0, x)]], items=4), "Records: user 0 has {}: expected whole numbers, items"),
    (lambda x: Contingency.from_dict({0: x}, size=4), "Contingency: count {} of cell 0 is not a whole number"),
    (lambda x: Contingency.from_dict({x: 1}, size=4), "Contingency: cell {} is not valid: expected a whole number"),
    (lambda x: Contingency.from_dict({(0, x): 1}, shape=(2, 2)), r"Contingency: cell \(0, {}\) is not valid: expected"),
    (lambda x: Contingency.from_records([[0, x]], shape=(4,)), "Contingency: column 0 has {}: expected whole numbers"),
    (lambda x: Catalogue.from_matrix([[1], [1]], [[0, x]]), "Catalogue: history 0 has {}: expected whole numbers, it"),
]


ODD = [1.5, np.float64(1.5), float("nan"), float("inf"), "1", None, 2**70]


@pytest.mark.parametrize("value", ODD, ids=repr)
@pytest.mark.parametrize("case", range(len(NOT_WHOLE)))
def test_what_is_not_whole_is_refused_and_not_cut(case: int, value: Any) -> None:
    make, message = NOT_WHOLE[case]
    shown = re.escape(repr(value)).replace(re.escape("np.float64(1.5)"), r"(np\.float64\()?1\.5\)?")
    with pytest.raises(UserError, match=message.format(shown)):
        make(value)


@pytest.mark.parametrize("value", [1.0, np.int8(1), np.uint64(1), np.float32(1)])
@pytest.mark.parametrize("case", range(len(NOT_WHOLE)))
def test_whole_numbers_of_any_type_are_taken(case: int, value: Any) -> None:
    make, _ = NOT_WHOLE[case]
    assert arrays(make(value)) == arrays(make(1))


def arrays(data: Data) -> dict[str, Any]:
    return {name: array.tolist() for name, array in arrays_of(data).items()}


def test_rows_that_are_no_lists() -> None:
    with pytest.raises(UserError, match="Incidence: row 0 is 3: expected a list of whole numbers, columns from 0 to 3"):
        Incidence.from_rows([3], columns=4)  # type: ignore[list-item]
    with pytest.raises(UserError, match="Incidence: row 0 is '12': expected a list"):
        Incidence.from_rows(["12"], columns=4)  # type: ignore[list-item]
    with pytest.raises(UserError, match=r"Incidence: row 0 has \[2, 3\]: expected whole numbers, columns"):
        Incidence.from_rows([[1, [2, 3]]], columns=4)  # type: ignore[list-item]
    with pytest.raises(UserError, match="Records: user 0 is 3: expected a list of items or"):
        Records.from_rows([3], items=4)  # type: ignore[list-item]
    with pytest.raises(UserError, match=r"Records: user 0 has \(1, 2, 3\): expected items or"):
        Records.from_rows([[(1, 2, 3), (4, 5, 6)]], items=8)
    assert Incidence.from_rows(iter([iter([1]), range(2)]), columns=4).counts.tolist() == [1, 2, 0, 0]


def test_incidence_validate_finds_repeats() -> None:
    Incidence.from_rows([[0, 1], [1]], columns=2).validate()
    with pytest.raises(UserError, match="row 1 holds column 1 twice"):
        Incidence(np.array([0, 1, 3]), np.array([0, 1, 1]), 2).validate()
    with pytest.raises(UserError, match="offsets"):
        Incidence(np.array([0, 4]), np.array([0, 1, 1]), 2)


def test_a_pickled_copy_is_whole_and_leaves_derived_facts_behind() -> None:
    data = Incidence.from_rows([[0, 1], [1]], columns=2)
    data.memo("something", lambda: 3)
    copy = pickle.loads(pickle.dumps(data))
    assert copy.counts.tolist() == data.counts.tolist()
    assert "_memo" not in copy.__dict__
    assert not copy.indices.flags.writeable
