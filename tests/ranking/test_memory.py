"""The memory of a release: arrays of a known size, what is stored of it, and that it moves no number."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import dpbench
from dpbench import Incidence
from dpbench.errors import Damaged
from dpbench.numerics.compiled import kernel
from dpbench.ranking import memory, views

DATA = Incidence.from_rows([[i % 7, 7 + i % 13] for i in range(200)], columns=20)
MEGABYTE = 1 << 20


@kernel()
def inside(size):
    array = np.ones(size)
    return array.sum()


class Allocates:
    """Holds arrays of numpy, or one that a compiled kernel makes for itself, until the release is over."""

    def __init__(self, megabytes, compiled=False):
        self.megabytes, self.compiled = megabytes, compiled

    def release(self, data, *, epsilon, rng):
        size = self.megabytes * MEGABYTE // 8
        return inside(size) if self.compiled else np.ones(size).sum()


@pytest.mark.parametrize("megabytes", [1, 50])
def test_arrays_are_counted(megabytes):
    """At least what is held, and not more than twice that (or a few MB of the process itself)."""
    peak = memory.peak_of(Allocates(megabytes), DATA, 1.0)
    assert megabytes <= peak / MEGABYTE <= 2 * megabytes + 8


def test_arrays_of_a_compiled_kernel_are_counted():
    """Linux tells; elsewhere only the arrays of numpy are known."""
    if not (memory.PROCESS / "clear_refs").exists():
        pytest.skip("only Linux tells the peak of a process")
    assert 45 <= memory.peak_of(Allocates(50, compiled=True), DATA, 1.0) / MEGABYTE <= 110


def test_a_board_has_its_costs_and_the_same_trials(tmp_path):
    given = {"dataset": {"mine": DATA}, "trials": 4, "data_seeds": 1, "runner.jobs": 1, "mechanism": ["lpa", "zero"]}
    run = dpbench.run("cross/leaderboard", scale="smoke", results=tmp_path / "a", **given)
    bare = dpbench.run("cross/leaderboard", scale="smoke", results=tmp_path / "b", look=0, **given)
    numbers = views.COLUMN_BOARD.numbers(run.trials(), run)
    assert (numbers["memory"] > 0).all()  # also of the budgets at which nothing was measured
    assert (numbers["seconds"] > 0).all()
    assert run.trials().drop(columns="seconds").equals(bare.trials().drop(columns="seconds"))
    assert views.COLUMN_BOARD.numbers(bare.trials(), bare)["memory"].isna().all()
    assert {"seconds per release", "memory (MB)"} <= {*views.COLUMN_BOARD.summary(numbers).columns}


def test_a_damaged_file_is_set_aside(tmp_path):
    (tmp_path / memory.FILE).write_text("{}")
    with pytest.warns(Damaged, match="is damaged"):
        assert memory.stored(tmp_path) == {}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert memory.stored(tmp_path) == {}
