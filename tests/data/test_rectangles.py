"""Rectangles over several attributes: true counts, and answers from cells, from the line's transforms and from products of
dyadic ranges. All comparisons are exact: no noise here."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import dpbench
from dpbench.data import Contingency
from dpbench.data.summary import Dense, Entries, Sketched
from dpbench.errors import UserError
from dpbench.model.setting import Dataset
from dpbench.numerics import boxes, dyadic, grid, haar
from dpbench.numerics.hashing import bucket_and_sign
from dpbench.sources.cache import describe
from dpbench.sources.generators.tables import GaussianTable, layout
from dpbench.tasks.base import TASKS

from naive import sparse as naive

SHAPES = [(5,), (4, 3), (7, 5), (1, 6), (8, 8), (3, 4, 5), (2, 3, 2, 2)]


def table(shape: tuple[int, ...], seed: int = 3) -> tuple[Contingency, dict[tuple[int, ...], int]]:
    rng = np.random.default_rng(seed)
    cells = [cell for cell in np.ndindex(*shape) if rng.random() < 0.5]
    counts = {cell: int(rng.integers(1, 9)) for cell in cells}
    return Contingency.from_dict(counts, shape=shape), counts


def rectangles(shape: tuple[int, ...], most: int = 300) -> tuple[np.ndarray, np.ndarray]:
    """All rectangles, or some of them, empty ones too."""
    sides = [[(a, b) for a in range(m + 1) for b in range(a, m + 1)] for m in shape]
    found = np.array(list(itertools.product(*sides)))
    found = found[np.random.default_rng(1).permutation(len(found))[:most]]
    return found[..., 0], found[..., 1]


@pytest.mark.parametrize("shape", SHAPES)
def test_products_of_dyadic_ranges_are_those_of_the_naive_version(shape) -> None:
    data, counts = table(shape)
    places, sums = grid.nodes(data.cells, data.counts, shape)
    wanted = naive.product(counts, shape)
    found = {tuple(map(int, np.unravel_index(p, grid.sides(shape)))): int(s) for p, s in zip(places, sums, strict=True)}
    assert found == wanted
    assert (np.diff(places) > 0).all()
    assert places.size <= grid.most_nodes(data.nonzeros, shape)


def test_one_attribute_has_the_dyadic_ranges() -> None:
    data, _ = table((21,))
    for one, other in zip(
        grid.nodes(data.cells, data.counts, (21,)), dyadic.nodes(data.cells, data.counts, 21), strict=True
    ):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("shape", SHAPES)
def test_every_rectangle_is_answered_exactly_whatever_is_published(shape) -> None:
    data, counts = table(shape)
    lo, hi = rectangles(shape)
    truth = [naive.rectangle(counts, tuple(a), tuple(b)) for a, b in zip(lo, hi, strict=True)]
    np.testing.assert_array_equal(data.rectangles(lo, hi), truth)
    made = {
        "none": (data.cells, data.counts),
        "dyadic": dyadic.nodes(data.cells, data.counts, data.size),
        "haar": haar.coefficients(data.cells, data.counts, data.size),
        "dyadic_product": grid.nodes(data.cells, data.counts, shape),
    }
    for transform, (cells, weights) in made.items():
        release = Entries(size=data.size, shape=shape, transform=transform, cells=cells, weights=weights)
        np.testing.assert_allclose(release.rectangles(lo, hi), truth, atol=1e-9, err_msg=transform)
    full = np.zeros(data.size)
    full[data.cells] = data.counts
    np.testing.assert_array_equal(Dense(size=data.size, shape=shape, weights=full).rectangles(lo, hi), truth)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_rectangle_asks_for_the_products_of_the_nodes_of_its_sides(shape) -> None:
    lo, hi = rectangles(shape, 60)
    for a, b in zip(lo, hi, strict=True):
        asked: list[int] = []

        def at(places: np.ndarray, asked: list[int] = asked) -> np.ndarray:
            asked += places.tolist()
            return np.zeros(places.size)

        grid.rectangle_sum(at, shape, a[None], b[None])
        wanted = [np.ravel_multi_index(c, grid.sides(shape)) for c in naive.product_cover(tuple(a), tuple(b), shape)]
        assert sorted(asked) == sorted(wanted)
        assert len(asked) <= math.prod(max(1, 2 * naive.levels(m)) for m in shape)


@pytest.mark.parametrize("shape", SHAPES)
def test_ranges_of_the_line_are_a_few_rectangles(shape) -> None:
    """They have no cell in common and none is missing; a release of products answers ranges from them."""
    data, _ = table(shape)
    lo, hi = (ends.ravel() for ends in np.triu_indices(data.size + 1))
    covered = np.zeros((lo.size, data.size))
    parts = list(boxes.of_ranges(lo, hi, shape))
    assert len(parts) == 2 * len(shape) - 1
    for first, end in parts:
        for number, (a, b) in enumerate(zip(first, end, strict=True)):
            inside = np.zeros(shape)
            inside[tuple(slice(x, y) for x, y in zip(a, b, strict=True))] = 1
            covered[number] += inside.ravel()
    wanted = (np.arange(data.size) >= lo[:, None]) & (np.arange(data.size) < hi[:, None])
    np.testing.assert_array_equal(covered, wanted)
    cells, weights = grid.nodes(data.cells, data.counts, shape)
    release = Entries(size=data.size, shape=shape, transform="dyadic_product", cells=cells, weights=weights)
    np.testing.assert_allclose(release.sum(lo, hi), data.sum(lo, hi))
    assert release.subset(data.cells) == pytest.approx(data.total)


def test_blocks_do_not_change_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    data, _ = table((7, 5))
    lo, hi = rectangles((7, 5))
    cells, weights = grid.nodes(data.cells, data.counts, data.shape)
    release = Entries(size=data.size, shape=data.shape, transform="dyadic_product", cells=cells, weights=weights)
    before = data.rectangles(lo, hi)
    monkeypatch.setattr(boxes, "BLOCK", 3)
    monkeypatch.setattr(grid, "BLOCK", 3)
    np.testing.assert_array_equal(data.rectangles(lo, hi), before)
    np.testing.assert_allclose(release.rectangles(lo, hi), before)


def test_a_sketch_answers_rectangles_too() -> None:
    data, _ = table((4, 3))
    bucket, sign = bucket_and_sign(data.cells, 4096, 5)
    buckets = np.bincount(bucket, weights=sign * data.counts, minlength=4096)[None]
    release = Sketched(size=12, shape=(4, 3), places=12, buckets=buckets, seeds=(5,))
    lo, hi = rectangles((4, 3), 40)
    np.testing.assert_allclose(release.rectangles(lo, hi), data.rectangles(lo, hi))


def test_one_rectangle_is_a_number_and_many_keep_their_form() -> None:
    data, _ = table((7, 5))
    assert data.rectangles((0, 0), (7, 5)) == data.total
    assert np.ndim(data.rectangles((0, 0), (7, 5))) == 0
    assert data.rectangles([[(0, 0)], [(1, 1)]], (7, 5)).shape == (2, 1)


def test_a_million_by_a_million_cells() -> None:
    """10^12 cells: work and memory go with the entries and the rows of the rectangles."""
    shape = (10**6, 10**6)
    rng = np.random.default_rng(4)
    cells = np.unique(rng.integers(0, 10**12, 2000))
    data = Contingency(cells, np.ones(cells.size, dtype=np.int64), 10**12, shape)
    lo = rng.integers(0, 5 * 10**5, (20, 2))
    hi = lo + 5 * 10**5
    x, y = np.divmod(data.cells, 10**6)
    truth = [int(np.sum((x >= a) & (x < c) & (y >= b) & (y < d))) for (a, b), (c, d) in zip(lo, hi, strict=True)]
    mechanism = dpbench.mechanism("filter", theta=1, transform="dyadic_product")
    nodes = mechanism.release(data, 1e6, np.random.default_rng(0))  # so large a budget has no noise
    assert nodes.cells.size <= 441 * data.nonzeros
    np.testing.assert_array_equal(nodes.rectangles(lo, hi), truth)


@pytest.mark.parametrize(
    ("lo", "hi", "says"),
    [
        ((0, 0), (8, 5), r"hi <= \(7, 5\)"),
        ((-1, 0), (7, 5), "0 <= lo"),
        ((3, 3), (2, 5), "lo <= hi"),
        ((0, 0, 0), (1, 1, 1), "3 coordinates: expected 2"),
        (0, 1, "0 coordinates: expected 2"),
    ],
)
def test_wrong_rectangles(lo, hi, says: str) -> None:
    data, _ = table((7, 5))
    release = Entries(size=35, shape=(7, 5), cells=[1], weights=[1.0])
    for asked in (data, release):
        with pytest.raises(UserError, match=says):
            asked.rectangles(lo, hi)


def test_too_many_rows_are_refused_with_a_way_out() -> None:
    release = Entries(size=10**12, shape=(10**11, 10), cells=[1], weights=[1.0])
    with pytest.raises(UserError, match=r"1e\+11 rows.*transform='dyadic_product'"):
        release.rectangles((0, 0), (10**11, 5))


def test_a_shape_that_is_not_the_size_is_refused() -> None:
    with pytest.raises(UserError, match=r"shape=\(3, 4\) has 12 cells, but size=13"):
        Entries(size=13, shape=(3, 4), cells=[1], weights=[1.0])
    assert Entries(size=13, cells=[1], weights=[1.0]).shape == (13,)


def test_absent_places_have_the_value_that_is_imputed() -> None:
    release = Entries(size=6, shape=(2, 3), cells=[1, 4], weights=[10.0, 20.0], absent=-0.5)
    full = np.array([-0.5, 10, -0.5, -0.5, 20, -0.5])
    for lo, hi in itertools.combinations_with_replacement(range(7), 2):
        assert release.sum(lo, hi) == pytest.approx(full[lo:hi].sum())
    assert release.rectangles((0, 1), (2, 3)) == pytest.approx(full.reshape(2, 3)[:, 1:].sum())
    assert release.subset([0, 1, 5]) == pytest.approx(9)
    np.testing.assert_array_equal(Entries(size=6, cells=[], weights=[], absent=2.0).at(np.arange(3)), [2, 2, 2])


# The task, and tables of several attributes.


def test_rectangle_queries_have_the_same_share_of_every_attribute() -> None:
    data, _ = table((40, 20))
    task = TASKS.make("rectangle_queries", share=0.01, upto=0.25, steps=3, queries=7)
    np.testing.assert_array_equal(task.sides(data), [[4, 2], [9, 4], [20, 10]])
    np.testing.assert_array_equal(task.lengths(data), [8, 36, 200])
    lo, hi = task.bounds(data)
    assert lo.shape == (21, 2)
    np.testing.assert_array_equal((hi - lo)[::7], task.sides(data))
    assert (lo >= 0).all()
    assert (hi <= [40, 20]).all()
    perfect = Entries(size=800, shape=(40, 20), cells=data.cells, weights=data.counts)
    scores = task.score(data, perfect, np.random.default_rng(0))
    assert scores["abs_error"] == scores["abs_error/200"] == 0
    off = Entries(size=800, shape=(40, 20), cells=data.cells, weights=data.counts + 0.5)
    inside = Contingency(data.cells, np.ones_like(data.counts), 800, (40, 20)).rectangles(lo, hi)
    np.testing.assert_allclose(task.errors(data, off), 0.5 * inside)


def test_rectangles_are_not_asked_of_one_attribute() -> None:
    reason = TASKS.make("rectangle_queries").unfit(table((9,))[0])
    assert "two attributes or more" in reason
    assert "range_queries" in reason


def test_gaussian_tables_may_have_several_attributes() -> None:
    """As equal as the cells can be divided; cells and counts are those of the line, but for their seed."""
    assert [layout(20000, 2), layout(10**6, 3), layout(12, 1)] == [(125, 160), (100, 100, 100), (12,)]
    line, square = (
        GaussianTable(cells=900, attributes=attributes).build(np.random.default_rng(1)) for attributes in (1, 2)
    )
    assert (line.shape, square.shape) == ((900,), (30, 30))
    np.testing.assert_array_equal(line.cells, square.cells)
    np.testing.assert_array_equal(line.counts, square.counts)
    with pytest.raises(UserError, match="cells=13 cannot be laid out in 2 attributes"):
        GaussianTable(cells=13, attributes=2)
    with pytest.raises(UserError, match="attributes=0"):
        GaussianTable(cells=16, attributes=0)


def test_a_table_of_one_attribute_keeps_its_identity() -> None:
    """Fingerprints and seeds of data that have always been a line stay what they were."""
    spec = Dataset("gaussian", "gaussian", {"cells": 50})
    assert describe(spec)["params"] == {"cells": 50}
    assert describe(Dataset("gaussian", "gaussian", {"cells": 50, "attributes": 1})) == describe(spec)
    assert Contingency.from_dict({1: 1}, size=50).shape == (50,)
