"""The split of the squared error of queries: against naive stages, and against the truth at a budget without noise."""

from __future__ import annotations

import statistics

import numpy as np
import pytest

import dpbench
from dpbench.data.contingency import Contingency
from dpbench.data.summary import Entries
from dpbench.numerics import hashing
from dpbench.tasks.base import TASKS

from naive import stages as naive
from support.examples import contingency

DATA = contingency()
SIZE = DATA.size
COUNTS = dict(zip(DATA.cells.tolist(), DATA.counts.tolist(), strict=True))
LINE = [COUNTS.get(cell, 0) for cell in range(SIZE)]
RANGES = TASKS.make("range_queries", share=0.05, queries=60)
SUBSETS = TASKS.make("subset_queries", share=0.05, queries=60)
RECTANGLES = TASKS.make("rectangle_queries", share=0.05, queries=60)
NAMES = [f"share_{part}" for part in ("bounding", "sampling", "grouping", "dropping", "noise")]
NO_NOISE = 1e5


def released(name, epsilon=0.3, seed=0, data=DATA, **parameters):
    return dpbench.mechanism(name, **parameters).release(data, epsilon, np.random.default_rng(seed))


def scores(release, task=RANGES, data=DATA):
    return task.score(data, release, np.random.default_rng(0))


def by_cell(stage) -> dict[int, float]:
    return {int(cell): float(stage.at(np.array([cell]))[0]) for cell in stage.cells}


@pytest.mark.parametrize(
    ("name", "parameters", "parts"),
    [
        ("filter", {"theta": 25}, ["dropping"]),
        ("filter", {}, ["dropping"]),
        ("filter", {"theta": 25, "laborious": True}, ["dropping"]),
        ("filter", {"theta": 25, "two_sided": False, "impute": "half"}, ["dropping"]),
        ("threshold", {"tau": 60}, ["sampling"]),
        ("threshold", {"tau": 60, "negatives": "zero"}, ["sampling"]),
        ("priority", {"s": 60}, ["sampling"]),
        ("priority", {"s": 590}, ["sampling"]),
        ("filter_priority", {"s": 60, "theta": 20}, ["dropping", "sampling"]),
        ("filter_priority", {"s": 60, "theta": 20, "laborious": True}, ["dropping", "sampling"]),
        ("gshm", {"delta": 1e-3}, ["dropping"]),
        ("stability_laplace", {}, ["dropping"]),
    ],
)
def test_listed_cells_keep_their_true_counts(name, parameters, parts) -> None:
    release = released(name, **parameters)
    assert [stage.part for stage in release.stages] == parts
    values = None if release.values is None else release.values.tolist()
    expected = naive.listed_truth(COUNTS, release.cells.tolist(), release.weights.tolist(), values)
    last = release.stages[-1].answers
    assert by_cell(last) == pytest.approx(expected)
    assert last.absent == release.absent
    assert by_cell(last.plain) == {cell: COUNTS.get(cell, 0) for cell in expected}
    if parts[0] != parts[-1]:
        passed = by_cell(release.stages[0].answers)
        assert all(COUNTS.get(cell, 0) == count for cell, count in passed.items())
        listed = {int(c) for c, v in zip(release.cells, release.values, strict=True) if c in COUNTS}
        assert listed <= passed.keys(), "what was sampled had passed the filter"
    lo, hi = RANGES.bounds(DATA)
    answers = [
        [sum(stage.answers.at(np.arange(a, b))) for a, b in zip(lo, hi, strict=True)] for stage in release.stages
    ]
    published = [sum(release.at(np.arange(a, b))) for a, b in zip(lo, hi, strict=True)]
    shares = naive.shares([sum(LINE[a:b]) for a, b in zip(lo, hi, strict=True)], published, answers)
    told = dict.fromkeys(NAMES, 0.0) | dict(zip([f"share_{p}" for p in (*parts, "noise")], shares, strict=True))
    found = scores(release)
    assert {share: found[share] for share in NAMES} == pytest.approx(told, rel=1e-9, abs=1e-9 * found["mse"])


@pytest.mark.parametrize("name", ["filter", "threshold", "priority", "gshm"])
def test_nodes_of_a_tree_keep_their_true_sums(name) -> None:
    release = released(name, epsilon=2.0, transform="dyadic", **({"delta": 1e-2} if name == "gshm" else {}))
    sums = naive.node_sums(COUNTS, SIZE)
    last = release.stages[-1].answers.plain
    assert by_cell(last) == {int(node): sums[node] for node in release.cells}


@pytest.mark.parametrize("name", ["sketch", "gaussian_sketch"])
def test_cells_that_share_a_bucket_are_answered_by_their_sum(name) -> None:
    release = released(name, rows=3, buckets=40, **({"combine": "median"} if name == "sketch" else {}))
    (stage,) = release.stages
    assert stage.part == "grouping"

    def hashed(seed):
        return lambda cell: tuple(int(x[0]) for x in hashing.bucket_and_sign(np.array([cell]), 40, seed))

    hashes = [hashed(seed) for seed in release.seeds]
    for cell in (0, 17, int(DATA.cells[3])):
        shared = naive.shared_buckets(COUNTS, hashes, 40, cell)
        assert stage.answers.at(np.array([cell]))[0] == pytest.approx(statistics.median(shared))


def test_the_laborious_sketch_has_the_same_collisions() -> None:
    one, other = (released("sketch", rows=2, buckets=40, laborious=way) for way in (False, True))
    assert one.seeds == other.seeds
    assert np.array_equal(one.stages[0].answers.buckets, other.stages[0].answers.buckets)


def test_buckets_of_dawa_have_their_true_means() -> None:
    release = released("dawa", epsilon=0.1)
    expected = naive.run_means(LINE, release.weights.tolist())
    np.testing.assert_allclose(release.stages[0].answers.weights, expected)
    assert release.stages[0].part == "grouping"


def test_what_exceeds_the_levels_of_alp_is_bounded() -> None:
    release = released("alp", largest=30, buckets=600)
    assert release.stages[0].part == "bounding"
    assert by_cell(release.stages[0].answers) == {cell: min(count, 30) for cell, count in COUNTS.items()}


LAST = [
    ("filter", {"theta": 40}),
    ("filter", {"theta": 40, "transform": "haar"}),
    ("filter", {"t": 80, "transform": "dyadic", "consistent": True}),
    ("filter", {"theta": 40, "transform": "dyadic_product"}),
    ("threshold", {"tau": 90, "transform": "haar"}),
    ("priority", {"s": 70}),
    ("priority", {"s": 70, "transform": "dyadic"}),
    ("filter_priority", {"s": 50, "theta": 35}),
    ("sketch", {"rows": 3, "combine": "median", "buckets": 90}),
    ("sketch", {"transform": "dyadic", "buckets": 300}),
    ("gaussian_sketch", {"rows": 3, "buckets": 90}),
    ("dawa", {}),
    ("noise_first", {}),
]
LINE_OF_CELLS = ("dyadic", "haar")
"""Transforms that are asked for ranges alone."""


@pytest.mark.parametrize(
    ("task", "name", "parameters"),
    [
        pytest.param(task, name, parameters, id=f"{task.name}-{name}-{parameters}")
        for task in (RANGES, SUBSETS, RECTANGLES)
        for name, parameters in LAST
        if task is RANGES or parameters.get("transform") not in LINE_OF_CELLS
    ],
)
def test_without_noise_the_last_stage_is_all_of_the_error(task, name, parameters) -> None:
    release = released(name, epsilon=NO_NOISE, **parameters)
    found = scores(release, task)
    rest = sum(found[share] for share in NAMES[:-1])
    assert rest == pytest.approx(found["mse"], rel=1e-3, abs=1e-3)
    assert abs(found["share_noise"]) <= 1e-3 * found["mse"] + 1e-3
    if name not in ("dawa", "noise_first", "sketch", "gaussian_sketch"):
        assert found["mse"] > 1, "something was dropped, or this test says nothing"


@pytest.mark.parametrize("name", ["geometric", "hb", "p_identity", "sqrt_matrix", "privelet"])
def test_noise_alone_is_all_of_the_error(name) -> None:
    found = scores(released(name))
    assert found["share_noise"] == pytest.approx(found["mse"], rel=1e-12)
    assert all(found[share] == 0 for share in NAMES[:-1])


def test_plain_weights_are_split_as_plain_weights() -> None:
    release = released("priority", s=60)
    plain = TASKS.make("range_queries", share=0.05, queries=60, weights="plain")
    found = scores(release, plain)
    assert sum(found[share] for share in NAMES) == pytest.approx(found["mse"])
    values = Entries(size=SIZE, cells=release.cells, weights=release.stages[-1].answers.values)
    lo, hi = RANGES.bounds(DATA)
    errors = release.plain.sum(lo, hi) - DATA.sum(lo, hi)
    part = np.mean((values.sum(lo, hi) - DATA.sum(lo, hi)) * errors)
    assert found["share_sampling"] == pytest.approx(part)


def test_a_trillion_cells_cost_nothing_more() -> None:
    """No stage has the size of the domain."""
    cells = np.sort(np.random.default_rng(1).choice(10**12, 500, replace=False))
    data = Contingency(cells, np.random.default_rng(2).integers(1, 60, 500), 10**12)
    for name, parameters in (("filter", {"theta": 30.0}), ("priority", {"s": 100}), ("filter_priority", {"s": 100})):
        release = released(name, epsilon=1.0, data=data, **parameters)
        assert all(stage.answers.cells.size <= 10**4 for stage in release.stages)
        found = scores(release, TASKS.make("range_queries", share=0.01, queries=50), data)
        assert sum(found[share] for share in NAMES) == pytest.approx(found["mse"])


def test_synthetic_individuals_have_no_split() -> None:
    found = scores(released("synthesizer", epsilon=2.0))
    assert not [name for name in found if name.startswith("share_")]
