"""What is read from a release, and the columns it becomes: nothing that is published is ignored."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import dpbench
from dpbench.auditing.features import learn_layout
from dpbench.auditing.observed import Observed, observe
from dpbench.auditing.replay import fitting_pairs
from dpbench.errors import UserError
from dpbench.mechanisms.base import MECHANISMS


def numbers(release: Any) -> dict[str, list[float]]:
    return {name: part.tolist() for name, part in observe(release).numbers.items() if not name.startswith("low bits")}


def items(release: Any) -> dict[str, Any]:
    found = observe(release).items
    assert found.pop("type")
    return found


def test_plain_values() -> None:
    assert numbers(2.5) == {"value": [2.5]}
    assert numbers(True) == {"value": [1.0]}
    assert numbers(np.float32(0.5)) == {"value": [0.5]}
    assert numbers([1.5, 2]) == {"value": [1.5, 2.0]}
    assert numbers(np.arange(4).reshape(2, 2) / 2) == {"value": [0.0, 0.5, 1.0, 1.5]}
    assert numbers({"a": [1.5], "b": {"c": np.array([2.5])}}) == {"a": [1.5], "b.c": [2.5]}
    assert numbers(SimpleNamespace(total=3.5, _hidden=1)) == {}, "one item for each name"
    assert items(SimpleNamespace(total=3.5, _hidden=1))["value"] == {"total": 3.5, "_hidden": 1.0}


def test_items() -> None:
    assert items({3, 5}) == {"value": {3: 1.0, 5: 1.0}}
    assert items("word") == {"value": {"word": 1.0}}
    assert items(None) == {"value": {None: 1.0}}
    assert items(["b", "a"]) == {"value": {"b": 0.0, "a": 1.0}}
    assert items({"b": 1, "a": 2.5}) == {"value": {"b": 1.0, "a": 2.5}, "value in order": {"b": 0.0, "a": 1.0}}
    assert items({"b": [1], "a": {3}})["value in order"] == {"b": 0.0, "a": 1.0}
    ranking = observe([7, 3])
    assert ranking.numbers["value"].tolist() == [7.0, 3.0]
    assert ranking.items["value as items"] == {7: 0.0, 3: 1.0}
    assert observe([(1, 2.5), (2, 3.5)]).numbers["value"].tolist() == [1.0, 2.5, 2.0, 3.5]


def test_what_cannot_be_read() -> None:
    with pytest.raises(UserError, match="release of type object"):
        observe(object())
    loop: list[Any] = ["x"]
    loop.append(loop)
    with pytest.raises(UserError, match="inside each other"):
        observe({"a": [loop, [loop]]})


@pytest.mark.parametrize("name", MECHANISMS.names())
def test_releases_of_ours(name: str) -> None:
    """Every part is read, and every draw fits the columns that were learned from others."""
    mechanism = dpbench.mechanism(name, **MECHANISMS.get(name).audited[0])
    (pair,) = fitting_pairs(mechanism, 1, 3)
    rng = np.random.default_rng(5)
    releases = [[mechanism.release(data, 1.0, rng) for _ in range(12)] for data in (pair.before, pair.after)]
    parts = set(releases[0][0].parts())
    found = [[observe(release) for release in side] for side in releases]
    read = set(found[0][0].numbers) | set(found[0][0].items)
    special = {"weights", "values", "buckets", "seeds", "bits", "starts", "seed", "unit"}  # told by cells, or by place
    assert parts - special <= read | special
    layout = learn_layout(*found)
    matrix = layout.matrix(found[0])
    assert matrix.shape == (12, len(layout.names))
    assert len(set(layout.names)) == len(layout.names)
    assert layout.matrix([observe(mechanism.release(pair.after, 1.0, rng))]).shape == (1, len(layout.names))


def test_columns() -> None:
    """Numbers, ranks, differences, equalities, lengths, membership and values of items."""
    draws = [
        Observed({"x": np.array([1.0, 1.0, 3.0])}, {"top": {"a": 2.5}}),
        Observed({"x": np.array([4.0, 2.0])}, {"top": {"b": 1.0, "a": 0.0}}),
    ]
    layout = learn_layout(draws, draws)
    rows = [dict(zip(layout.names, row, strict=True)) for row in layout.matrix(draws).tolist()]
    first, second = rows
    assert (first["x[0]"], first["x[2]"], second["x[1]"]) == (1.0, 3.0, 2.0)
    assert np.isnan(second["x[2]"])
    assert (first["x[0] = x[1]"], second["x[0] = x[1]"]) == (1.0, 0.0)
    assert second["x[0] - x[1]"] == 2.0
    assert (first["sum of x"], first["range of x"], first["length of x"], second["length of x"]) == (5.0, 2.0, 3.0, 2.0)
    assert (first["'b' in top"], second["'b' in top"], first["value of 'a' in top"]) == (0.0, 1.0, 2.5)
    assert (first["length of top"], second["length of top"]) == (1.0, 2.0)
    assert second["rank of x[0]"] > second["rank of x[1]"]
