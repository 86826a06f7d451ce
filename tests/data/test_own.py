"""The constructors for a user's own data: pairs of any identifiers, pandas frames, sparse matrices."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from dpbench import Catalogue, Contingency, Incidence, Records
from dpbench.data.labels import Labels
from dpbench.errors import UserError


def held(data: Incidence | Records) -> list[list[str]]:
    """Each row's items, by name."""
    flat = data.indices if isinstance(data, Incidence) else data.items
    rows = np.split(flat, data.indptr[1:-1])
    return [[data.item_labels[int(i)] for i in row] for row in rows]  # type: ignore[index]


@pytest.mark.parametrize(
    ("items", "names"),
    [
        (["b", "a", "b", "c"], ["a", "b", "c"]),
        ([10, 9, 10, 100], ["9", "10", "100"]),
        (["10", "9", "10", "100"], ["9", "10", "100"]),
        (["10", "009", "10", "9"], ["009", "10", "9"]),
        ([2.0, 1.0, 2.0, 3.5], ["1", "2", "3.5"]),
        (np.array([3, 1, 3, 2], dtype=np.uint8), ["1", "2", "3"]),
        (
            pd.to_datetime(["2024-05-02", "2024-05-01", "2024-05-02", "2025-01-01"]),
            ["2024-05-01", "2024-05-02", "2025-01-01"],
        ),
        (pd.Categorical(list("bbca"), categories=list("zcba")), ["a", "b", "c"]),
        (["é", "日本", "é", ""], ["", "é", "日本"]),
        ([True, False, True, True], ["false", "true"]),
    ],
)
def test_identifiers_of_any_type(items: object, names: list[str]) -> None:
    """Columns are in the order of the identifiers, whatever the order of the pairs, and keep their names."""
    users = [7, 7, 3, 3]
    data = Incidence.from_pairs(users, items)
    assert list(data.item_labels or ()) == names
    order = [2, 0, 3, 1]
    again = Incidence.from_pairs([users[i] for i in order], [list(items)[i] for i in order])  # type: ignore[call-overload]
    assert held(again) == held(data)
    data.validate()


def test_pairs_against_a_plain_count() -> None:
    rng = np.random.default_rng(3)
    users, items = rng.integers(0, 50, 2000), rng.integers(0, 80, 2000).astype(str)
    pairs = {(int(u), str(i)) for u, i in zip(users, items, strict=True)}
    data = Incidence.from_pairs(users, items)
    assert (data.rows, data.columns, data.ones) == (len({u for u, _ in pairs}), len({i for _, i in pairs}), len(pairs))
    assert held(data)[5] == sorted((i for u, i in pairs if u == sorted({u for u, _ in pairs})[5]), key=int)
    records = Records.from_pairs(users, items)
    assert records.records == 2000
    assert records.counts.tolist() == [int((items == name).sum()) for name in records.item_labels or ()]


def test_records_of_a_frame() -> None:
    frame = pd.DataFrame({"who": ["a", "b", "a"], "what": ["x", "x", "y"], "day": ["tue", "mon", "mon"]})
    data = Records.from_pandas(frame, user="who", item="what", context="day")
    assert data.context_labels == ("mon", "tue")
    assert data.edges.tolist() == [[1, 1], [1, 0]]
    assert repr(data) == "Records(2 users, 2 items x 2 contexts, 3 records, largest user 2)"
    with pytest.raises(UserError, match="300 different contexts are too many: expected at most 256"):
        Records.from_pairs([0] * 300, [0] * 300, range(300))
    with pytest.raises(UserError, match="holds column 0 twice"):
        Records.from_pairs([1, 1], ["x", "x"], repeats=False)


def test_histograms() -> None:
    frame = pd.DataFrame({"age": [30, 20, 30], "sex": ["m", "f", "m"], "n": [1, 2, 3]})
    data = Contingency.from_pandas(frame, cell=["age", "sex"], count="n")
    assert (data.shape, data.cells.tolist(), data.counts.tolist()) == ((2, 2), [0, 3], [2, 4])
    coded = Contingency.from_pairs([[0, 1, 1], [2, 0, 0]], shape=(2, 3))
    assert (coded.cells.tolist(), coded.counts.tolist()) == ([2, 3], [1, 2])
    assert repr(coded) == "Contingency(2 of 6 cells, 2 x 3, total 3)"
    matrix = Contingency.from_scipy(sparse.csr_array([[0, 4], [0, 0]]))
    assert (matrix.shape, matrix.cells.tolist(), matrix.counts.tolist()) == ((2, 2), [1], [4])
    for given, told in (
        ({"cells": [0, 5], "size": 5}, "row 1 is 5: expected a number from 0 to 4"),
        ({"cells": [0, 1], "counts": [1, -1], "size": 5}, "row 1 has the count -1"),
        ({"cells": [0, 1], "counts": [1], "size": 5}, "2 cells but 1 counts"),
        ({"cells": [[0], [1]], "size": 5}, "2 columns of cells for a shape of 1"),
    ):
        with pytest.raises(UserError, match=told):
            Contingency.from_pairs(**given)  # type: ignore[arg-type]


def test_catalogues() -> None:
    data = Catalogue.from_pairs((["i", "j", "i"], ["c1", "c1", "c2"]), (["u", "v"], ["j", "i"]))
    assert data.aggregates.tolist() == [[1, 0], [1, 1]]
    frames = pd.DataFrame({"item": [1, 2], "category": ["a", "b"]}), pd.DataFrame({"user": [9], "item": [2]})
    assert Catalogue.from_pandas(*frames).aggregates.tolist() == [[0, 1]]
    matrices = Catalogue.from_scipy(sparse.eye(3), sparse.csr_array([[1, 0, 1]]))
    assert matrices.aggregates.tolist() == [[1, 0, 1]]
    with pytest.raises(UserError, match="row 0 of the histories has 'k', which is not in the catalogue"):
        Catalogue.from_pairs((["i"], ["c"]), (["u"], ["k"]))


def test_matrices() -> None:
    dense = np.random.default_rng(0).integers(0, 2, (6, 5))
    data = Incidence.from_scipy(sparse.coo_array(dense), item_labels=list("abcde"))
    assert (data.counts.tolist(), data.row_sizes.tolist()) == (dense.sum(0).tolist(), dense.sum(1).tolist())
    assert repr(data).startswith("Incidence(6 rows x 5 columns")
    with pytest.raises(UserError, match="holds 2"):
        Incidence.from_scipy(sparse.csr_array(2 * dense))
    assert Records.from_scipy(sparse.csr_array(2 * dense)).counts.tolist() == (2 * dense.sum(0)).tolist()


@pytest.mark.parametrize(
    ("users", "items", "told"),
    [
        (["a", None], [1, 2], "users: row 1 is empty"),
        ([1.0, float("nan")], [1, 2], "users: row 1 is empty"),
        (["a", 3], [1, 2], "users: expected identifiers of one type"),
        (["a"], [1, 2], "1 users for 2 items"),
        ([], [], "0 users for 0 items"),
        ("ab", [1, 2], "users: expected a list of identifiers, found 'ab'"),
        ([[1], [2]], [1, 2], "cannot be identifiers: expected words, numbers or dates"),
    ],
)
def test_wrong_pairs(users: object, items: object, told: str) -> None:
    with pytest.raises(UserError, match=told):
        Incidence.from_pairs(users, items)


def test_labels_are_a_sequence_of_words() -> None:
    labels = Labels.of(["a", "", "éé", "日"])
    assert labels == ("a", "", "éé", "日")
    assert (labels[-1], labels[1:3], len(labels), "éé" in labels) == ("日", ("", "éé"), 4, True)
    with pytest.raises(IndexError):
        labels[4]
    assert Labels.of([]) == ()


def test_names_of_a_ranking() -> None:
    data = Incidence.from_pairs([1, 2, 3], ["a", "b", "c"])
    assert data.item_labels is not None
    assert data.item_labels[np.array([2, 0])] == ("c", "a")
    assert data.item_labels[[1]] == ("b",)
    assert data.item_labels[np.int64(1)] == "b"


@pytest.mark.parametrize(
    ("items", "told"),
    [
        (pd.period_range("2024-01", periods=3, freq="M"), "cannot be identifiers: expected words, numbers or dates"),
        (pd.to_timedelta([1, 2, 3], unit="D"), "cannot be identifiers: expected words, numbers or dates"),
        ([10**30, 1, 2], "a number is too large for 64 bits: expected such identifiers as words"),
    ],
)
def test_what_names_nothing(items: object, told: str) -> None:
    with pytest.raises(UserError, match=told):
        Incidence.from_pairs([1, 2, 3], items)


def test_what_is_no_table() -> None:
    with pytest.raises(UserError, match="expected a table with named columns, such as a pandas DataFrame, not dict"):
        Incidence.from_pandas({"user": [1], "item": [2]})
