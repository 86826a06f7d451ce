"""What a release publishes, as numbers and by name; what is a diagnostic stays out of it."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from dpbench import Counts, History, Incidence, Records, TopK
from dpbench.data import Sample
from dpbench.data.summary import Dense, Entries, Sketched

SECRET = {"secret": 987654321.0}


@pytest.mark.parametrize(
    ("release", "parts"),
    [
        (Counts(counts=[1, 2], chosen={"scale": 3}, diagnostics=SECRET), {"counts": [1, 2], "chosen.scale": [3]}),
        (
            Counts(counts=[1], edges=[[2, 3]], sample=Sample(records=987654321), diagnostics=SECRET),
            {"counts": [1], "edges": [2, 3]},
        ),
        (TopK(top=[4, 0], columns=987654321, chosen={"k": 2}), {"top": [4, 0], "chosen.k": [2]}),
        (History(user=987654321, aggregates=[1.5], z=[2.0]), {"aggregates": [1.5], "z": [2.0]}),
        (
            History(user=0, aggregates=[1], history=np.array([3, 5]), diagnostics=SECRET),
            {"aggregates": [1], "history": [3, 5]},
        ),
        (
            Entries(size=9, cells=[2, 4], weights=[1.5, 2], values=[1, 2], chosen={"tau": 1.5}),
            {"cells": [2, 4], "weights": [1.5, 2], "values": [1, 2], "chosen.tau": [1.5]},
        ),
        (Entries(size=9, cells=[2], weights=[1]), {"cells": [2], "weights": [1]}),
        (Dense(size=2, weights=[1, 2]), {"weights": [1, 2]}),
        (Sketched(size=9, places=9, buckets=[[1, 2]], seeds=(7,)), {"buckets": [1, 2], "seeds": [7]}),
        (Counts(counts=[0], chosen={"way": "ab"}), {"counts": [0], "chosen.way": [97, 98]}),
    ],
)
def test_published_are_the_numbers_of_the_parts(release, parts: dict[str, list[float]]) -> None:
    assert {name: part.tolist() for name, part in release.parts().items()} == parts
    assert release.published().tolist() == [number for part in parts.values() for number in part]
    assert 987654321 not in release.published()
    for handed_over in (pickle.loads(pickle.dumps(release)), copy.copy(release), release.publishable()):
        assert {name: part.tolist() for name, part in handed_over.parts().items()} == parts
        assert {name: getattr(handed_over, name) for name in release.private_fields()} == release.private_fields()
    assert "secret" not in repr(release)
    assert "Sample" not in repr(release)


def test_an_empty_release_publishes_nothing() -> None:
    assert Counts(counts=[]).published().tolist() == []


def test_column_data_are_asked_the_same_way() -> None:
    """Binary data have items only; records have both, and each of these is column data of its own."""
    binary = Incidence.from_rows([[0, 1], [1]], columns=3)
    assert binary.item_columns() is binary
    assert binary.edge_columns() is None
    assert binary.repeats is False
    records = Records.from_rows([[(0, 1), (0, 1)], [(1, 0)]], items=3, contexts=2)
    items, edges = records.item_columns(), records.edge_columns()
    assert items.item_columns() is items
    assert items.edge_columns() is None
    assert (items.columns, edges.columns) == (3, 6)
    assert items.counts.tolist() == [2, 1, 0]
    assert edges.counts.tolist() == [0, 2, 1, 0, 0, 0]
    assert items.repeats
