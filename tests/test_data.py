"""Data kinds: invariants, read-only arrays, and what the constructors refuse."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from dpbench import Incidence
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
