"""Which columns are published together, and the errors of the highest counts: on releases whose answers are known."""

from __future__ import annotations

import numpy as np
import pytest

import dpbench
from dpbench import Counts, Incidence
from dpbench.errors import UserError
from dpbench.sources.generators.examples import EqualRows, GroupingExample
from dpbench.tasks.base import TASKS

RNG = np.random.default_rng(1)


def example(user: bool) -> Incidence:
    return GroupingExample(user=user).build(RNG)


def test_the_example_has_the_counts_of_the_paper() -> None:
    assert example(True).counts.tolist() == [11, 13, 13, 14]
    assert example(False).counts.tolist() == [11, 13, 12, 14]
    assert example(True).largest_row == example(False).largest_row == 2
    assert example(True).rows - example(False).rows == 1


def test_optimal_groups_tell_the_neighbours_apart_for_certain() -> None:
    """{{1, 2}, {3, 4}} with probability 1 on D and 0 on D' (Section 3.2)."""
    task, mechanism = TASKS.make("groups"), dpbench.mechanism("gs_optimal", bound=2)
    for user in (True, False):
        data = example(user)
        for seed in range(20):
            release = mechanism.release(data, 0.1, np.random.default_rng(seed))
            assert task.score(data, release, RNG) == {"together": float(user)}
    assert "true counts" in mechanism.not_private()


def test_sampled_groups_have_the_chances_of_the_recipe() -> None:
    """GS-S groups columns 1 and 2 when they are the two lowest or the two highest of the noisy sample; 5 standard errors."""
    from naive import gs as naive

    data, task, trials = example(True), TASKS.make("groups"), 3000
    dense = [
        [int(j in data.indices[a:b]) for j in range(4)] for a, b in zip(data.indptr, data.indptr[1:], strict=False)
    ]
    mechanism, rng = dpbench.mechanism("gs_s", bound=2), np.random.default_rng(2)
    ours = np.mean([task.score(data, mechanism.release(data, 1.0, rng), rng)["together"] for _ in range(trials)])
    lap = naive.noise(rng)
    found = [naive.gs_s(dense, naive.query(dense, 4), 2, 1.0, "column", rng, lap) for _ in range(trials)]
    theirs = np.mean([t[0] == t[1] for t in found])
    assert abs(ours - theirs) < 5 * np.sqrt(2 * 0.25 / trials)


def test_groups_wants_columns_that_are_there() -> None:
    assert "no column 4" in TASKS.make("groups", other=4).unfit(example(True))
    with pytest.raises(UserError, match="one=-1 is not valid"):
        TASKS.make("groups", one=-1)


def test_the_highest_counts_are_scored_apart() -> None:
    data = Incidence.from_rows([[0, 1, 2], [0, 1], [0], [0]], columns=4)  # counts 4, 2, 1, 0
    release = Counts(counts=np.array([14.0, 3.0, 1.0, 1.0]))
    assert TASKS.make("high_counts").score(data, release, RNG) == {"mae_high": 10.0, "mae_others": pytest.approx(2 / 3)}
    half = TASKS.make("high_counts", top=0.5).score(data, release, RNG)
    assert half == {"mae_high": 5.5, "mae_others": 0.5}


def test_equal_rows_are_equal_and_hold_no_column_twice() -> None:
    data = EqualRows(rows=300, columns=40, size=7).build(np.random.default_rng(3))
    data.validate()
    assert (data.row_sizes == 7).all()
    assert data.counts[0] > 2 * data.counts[-1]  # popularity falls with the rank
    with pytest.raises(UserError, match="size=50 is not valid"):
        EqualRows(columns=40, size=50)
