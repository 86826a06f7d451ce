"""The data kind Records: what it counts, what it becomes, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

import dpbench
from dpbench import Records
from dpbench.errors import UserError

from naive import analytics as naive

USERS = [[(0, 1), (0, 1), (3, 0), (0, 2)], [], [(1, 1)], [(3, 2), (1, 0)]]
DATA = Records.from_rows(USERS, items=5, contexts=3)


def test_counts_and_sizes() -> None:
    flat = [record for user in USERS for record in user]
    assert DATA.counts.tolist() == naive.item_counts(flat, 5)
    assert DATA.edges.tolist() == naive.edge_counts(flat, 5, 3)
    assert DATA.user_sizes.tolist() == [4, 0, 1, 2]
    assert (DATA.users, DATA.records, DATA.n_items, DATA.n_contexts) == (4, 7, 5, 3)
    assert (DATA.largest_user, DATA.smallest_user) == (4, 0)
    assert DATA.statistics() == {
        "users": 4,
        "items": 5,
        "records": 7,
        "largest": 4,
        "average": 7 / 4,
        "smallest": 0,
        "contexts": 3,
        "largest_l2": pytest.approx(10**0.5),
    }


def test_one_user_moves_counts_by_more_than_the_root_of_his_records_where_they_repeat() -> None:
    always = Records.from_rows([[4, 4, 4, 4, 4], [0, 1, 2]], items=5)
    assert always.largest_l2 == 5
    assert Records.from_rows([[0, 1, 2, 3], [0]], items=5).largest_l2 == 2, "repeats are allowed, there are none"
    assert Records.from_rows([[0, 1, 2, 3], [0]], items=5, repeats=False).largest_l2 == 2
    assert Records.from_rows([], items=2).largest_l2 == 0


def test_users_may_be_lists_of_items_alone() -> None:
    data = Records.from_rows([[2, 2], [0]], items=3)
    assert data.n_contexts == 1
    assert data.edges.tolist() == [[1], [0], [2]]


def test_no_users() -> None:
    data = Records.from_rows([], items=3, contexts=2)
    assert data.counts.tolist() == [0, 0, 0]
    assert (data.largest_user, data.smallest_user) == (0, 0)
    for name in ("sra", "hpa", "hpa_popularity", "lpa", "fpa", "gs"):
        release = dpbench.mechanism(name).release(data, 1.0, np.random.default_rng(0))
        assert np.isfinite(release.counts).all()


def test_incidence_drops_repeats_and_contexts() -> None:
    matrix = DATA.incidence()
    matrix.validate()
    assert matrix.counts.tolist() == [1, 2, 0, 2, 0]
    assert matrix.row_sizes.tolist() == [2, 0, 1, 2]
    once = Records.from_rows([[2, 0], [1]], items=3, repeats=False)
    assert once.incidence().counts.tolist() == [1, 1, 1]


def test_views_as_columns() -> None:
    items, edges = DATA.item_columns(), DATA.edge_columns()
    assert items.counts.tolist() == DATA.counts.tolist() == np.bincount(items.indices, minlength=5).tolist()
    assert edges.counts.tolist() == DATA.edges.ravel().tolist() == np.bincount(edges.indices, minlength=15).tolist()
    assert (items.largest_row, edges.largest_row, edges.columns) == (4, 4, 15)
    assert items.repeats
    assert DATA.item_columns() is items  # made once
    assert not Records.from_rows([[0]], items=1, repeats=False).edge_columns().repeats


def test_read_only() -> None:
    for array in (DATA.indptr, DATA.items, DATA.contexts, DATA.counts, DATA.edges, DATA.edge_columns().indices):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


@pytest.mark.parametrize(
    ("users", "options", "message"),
    [
        ([[5]], {"items": 5}, "index 5 is outside 0..4"),
        ([[(0, 3)]], {"items": 5, "contexts": 3}, "index 3 is outside 0..2"),
        ([[-1]], {"items": 5}, "index -1 is outside"),
        ([[0]], {"items": 0}, "outside|n_items=0"),
        ([[1, 2], [3, 1, 3]], {"items": 5, "repeats": False}, "without repeats.*row 1 holds column 3 twice"),
    ],
)
def test_refuses(users: list, options: dict, message: str) -> None:
    with pytest.raises(UserError, match=message):
        Records.from_rows(users, **options)


def test_refuses_arrays_that_do_not_fit() -> None:
    indptr, items, contexts = np.array([0, 2]), np.array([0, 1]), np.zeros(2, np.uint8)
    with pytest.raises(UserError, match="offsets"):
        Records(np.array([0, 3]), items, contexts, 2, 1)
    with pytest.raises(UserError, match="2 items but 1 contexts"):
        Records(indptr, items, contexts[:1], 2, 1)
    with pytest.raises(UserError, match="1 item_labels, expected 2"):
        Records(indptr, items, contexts, 2, 1, item_labels=("one",))
    with pytest.raises(UserError, match="n_contexts=300"):
        Records(indptr, items, contexts, 2, 300)


def test_survives_the_cache(data_cache) -> None:
    """Fields, labels and derived counts come back from the disk as they were."""
    from dpbench.sources.stored import load, save

    data = Records.from_rows(USERS, items=5, contexts=3)
    data = Records(
        data.indptr, data.items, data.contexts, 5, 3, item_labels=tuple("abcde"), context_labels=("x", "y", "ü")
    )
    folder = data_cache / "data" / "records-round-trip"
    save(data, folder)
    again = load(folder, verify=True)[1]
    assert again.item_labels == tuple("abcde")
    assert again.context_labels == ("x", "y", "ü")
    assert again.repeats is True
    assert again.edges.tolist() == data.edges.tolist()
    assert "edges" in again.__dict__  # from the disk, not counted again
    assert again.incidence().counts.tolist() == data.incidence().counts.tolist()
