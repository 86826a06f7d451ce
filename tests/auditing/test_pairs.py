"""Pairs of neighbours: they are neighbours, within the bound, of every shape, and the same for the same seed."""

from __future__ import annotations

import numpy as np
import pytest

from dpbench.auditing.pairs import ROW_SHAPES, pairs
from dpbench.data.base import arrays_of
from dpbench.mechanisms.sparse.synthesizer import MOVED

COUNT = 300


def made(kind: str, seed: int = 0, **more):
    return list(pairs(kind, np.random.default_rng(seed), COUNT, **more))


@pytest.mark.parametrize("bound", [None, 1, 3])
@pytest.mark.parametrize("kind", ["incidence", "records"])
def test_the_new_row_comes_last_and_fits_the_bound(kind: str, bound: int | None) -> None:
    for pair in made(kind, bound=bound):
        before, after = pair.before, pair.after
        before.validate()
        after.validate()
        assert after.columns == before.columns
        assert after.indptr.size == before.indptr.size + 1
        assert after.indptr[:-1].tolist() == before.indptr.tolist()
        values = "items" if kind == "records" else "indices"
        size = getattr(before, values).size
        assert getattr(after, values)[:size].tolist() == getattr(before, values).tolist()
        if kind == "records":
            assert after.contexts[:size].tolist() == before.contexts.tolist()
        if bound is not None:
            assert after.largest_row <= bound


@pytest.mark.parametrize("kind", ["incidence", "records"])
def test_a_row_as_large_as_the_bound_is_there(kind: str) -> None:
    assert (
        max(
            pair.after.row_sizes[-1] if kind == "incidence" else pair.after.user_sizes[-1]
            for pair in made(kind, bound=4)
        )
        == 4
    )
    assert any(pair.before.indptr.size == 1 for pair in made(kind, bound=4))
    names = {pair.name.partition(" (")[0] for pair in made(kind)}
    assert names == set(ROW_SHAPES)


def test_a_wide_bound_is_filled() -> None:
    largest = [pair.after.row_sizes[-1] for pair in made("incidence", bound=60)]
    assert max(largest) == 60


def table(data) -> np.ndarray:
    full = np.zeros(data.size, dtype=np.int64)
    full[data.cells] = data.counts
    return full


def test_a_bound_of_thousands_does_not_fill_the_memory() -> None:
    """A square of such rows would take gigabytes."""
    bound = 5_000
    found = made("incidence", bound=bound)
    assert max(pair.after.largest_row for pair in found) == bound
    assert max(pair.after.ones for pair in found) < 100 * bound


def test_contingency_pairs_have_one_individual_more() -> None:
    for pair in made("contingency"):
        pair.after.validate()
        assert pair.before.shape == pair.after.shape
        change = table(pair.after) - table(pair.before)
        assert sorted(change[change != 0].tolist()) == [1]
    assert any(pair.before.total == 0 for pair in made("contingency"))


def test_moved_individuals_stay_in_their_group() -> None:
    for pair in made("contingency", neighbours=MOVED):
        pair.after.validate()
        change = table(pair.after) - table(pair.before)
        assert sorted(change[change != 0].tolist()) == [-1, 1]
        width = pair.before.shape[-1]
        assert len(set((np.flatnonzero(change) // width).tolist())) == 1


def test_catalogue_pairs_have_one_item_of_the_last_user_more() -> None:
    for pair in made("catalogue"):
        before, after = pair.before, pair.after
        for name in ("item_ptr", "item_categories"):
            assert getattr(before, name).tolist() == getattr(after, name).tolist()
        assert [before.history(u).tolist() for u in range(before.users - 1)] == [
            after.history(u).tolist() for u in range(before.users - 1)
        ]
        last = before.users - 1
        assert len(set(after.history(last)) - set(before.history(last))) == 1
        assert set(before.history(last)) < set(after.history(last))


@pytest.mark.parametrize("kind", ["incidence", "records", "contingency", "catalogue"])
def test_the_same_seed_gives_the_same_pairs(kind: str) -> None:
    for one, other in zip(made(kind, 3), made(kind, 3), strict=True):
        assert one.name == other.name
        for key, array in arrays_of(one.after).items():
            assert array.tolist() == getattr(other.after, key).tolist()
    assert [pair.name for pair in made(kind, 3)] != [pair.name for pair in made(kind, 4)]
