"""The errors of a release are computed once for `score` and the worker, and never taken for those of another release."""

from __future__ import annotations

import gc
import weakref

import numpy as np

from dpbench.data import Counts, Incidence
from dpbench.tasks.base import once
from dpbench.tasks.column_counts import ColumnCounts

DATA = Incidence.from_rows([[0, 1], [1, 2]], columns=3)


def release(*counts: float) -> Counts:
    return Counts(counts=np.array(counts), chosen={})


def test_the_latest_errors_are_computed_once():
    asked: list[Counts] = []

    def errors(data: Incidence, given: Counts) -> np.ndarray:
        asked.append(given)
        return given.counts - data.counts

    first, second = release(1, 2, 1), release(0, 0, 0)
    for given in (first, first, second, second, first):
        assert once(errors, DATA, given).tolist() == (given.counts - DATA.counts).tolist()
    assert [given is first for given in asked] == [True, False, True]


def test_other_data_and_other_tasks_have_other_errors():
    other = Incidence.from_rows([[0], [0]], columns=3)
    given, task = release(5, 5, 5), ColumnCounts()
    assert once(task.errors, DATA, given).tolist() == [4, 3, 4]
    assert once(task.errors, other, given).tolist() == [3, 5, 5]
    assert once(lambda data, release: -release.counts, other, given).tolist() == [-5, -5, -5]


def test_the_release_is_not_kept_in_memory():
    given = release(1, 2, 1)
    once(ColumnCounts().errors, DATA, given)
    watched = weakref.ref(given)
    del given
    gc.collect()
    assert watched() is None


def test_a_release_that_cannot_be_referred_to_weakly_is_computed_each_time():
    class Small:
        __slots__ = ("counts",)

    given = Small()
    for counts in ([1.0, 2.0, 1.0], [0.0, 0.0, 0.0]):
        given.counts = np.array(counts)
        assert once(lambda data, release: release.counts - data.counts, DATA, given).tolist() == [
            count - true for count, true in zip(counts, [1, 2, 1], strict=True)
        ]
