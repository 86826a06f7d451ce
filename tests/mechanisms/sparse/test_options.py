"""What summaries may be asked for beside their size: rounding, imputation, private sizes, products of dyadic ranges, and what
they refuse. Statistical tests have fixed seeds and allow five standard errors: a false alarm once in a million."""

from __future__ import annotations

import math

import numpy as np
import pytest

import dpbench
from dpbench.auditing.replay import audit_by_replay
from dpbench.data import Contingency
from dpbench.errors import UserError
from dpbench.mechanisms.sparse import _zeros as zeros
from dpbench.mechanisms.tables import LISTED
from dpbench.numerics import geometric, grid

from naive import sparse as naive

COUNTS = {(0, 3): 30, (1, 1): 4, (2, 4): 50, (4, 0): 1, (6, 2): 17}
SHAPE = (7, 5)
DATA = Contingency.from_dict(COUNTS, shape=SHAPE)
LINE = Contingency.from_dict(dict(zip(DATA.cells.tolist(), DATA.counts.tolist(), strict=True)), size=35)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def near(values: np.ndarray, expected: float) -> bool:
    return abs(values.mean() - expected) < 5 * values.std() / math.sqrt(values.size)


# Negative values.


@pytest.mark.parametrize("transform", ["none", "dyadic", "dyadic_product"])
def test_rounding_takes_the_negative_values_of_the_same_noise(transform: str) -> None:
    kept, rounded = (
        dpbench.mechanism("geometric", transform=transform, negatives=negatives).release(DATA, 0.3, rng(1))
        for negatives in ("keep", "zero")
    )
    assert kept.weights.min() < 0
    np.testing.assert_array_equal(rounded.weights, np.maximum(kept.weights, 0))


@pytest.mark.parametrize(
    ("name", "given"), [("threshold", {"tau": 9}), ("priority", {"s": 9}), ("filter_priority", {"s": 9})]
)
def test_samples_drop_their_negative_entries(name: str, given: dict) -> None:
    kept, rounded = (
        dpbench.mechanism(name, negatives=negatives, **given).release(DATA, 0.2, rng(2))
        for negatives in ("keep", "zero")
    )
    assert kept.values.min() < 0
    np.testing.assert_array_equal(rounded.cells, kept.cells[kept.values >= 0])
    np.testing.assert_array_equal(rounded.values, kept.values[kept.values >= 0])
    assert rounded.weights.min() >= 0
    assert rounded.chosen["entries"] == rounded.cells.size


# Imputation.


@pytest.mark.parametrize("alpha", [0.3, 0.9, math.exp(-0.05)])
@pytest.mark.parametrize("theta", [1, 2.4, 30])
def test_the_mean_of_stopped_noise_is_that_of_the_series(alpha: float, theta: float) -> None:
    assert zeros.mean_stopped(alpha, theta) == pytest.approx(naive.mean_stopped(alpha, theta), rel=1e-9)


def test_calibrated_values_take_the_bias_of_zeros_from_a_one_sided_filter() -> None:
    """An empty table: what passes is positive, and the absent values make up for it exactly in expectation."""
    empty = Contingency.from_dict({}, size=400)
    answers = {
        impute: np.array(
            [
                dpbench.mechanism("filter", theta=5, two_sided=False, impute=impute)
                .release(empty, 0.4, one)
                .sum(0, 400)
                for one in np.random.default_rng(3).spawn(700)
            ]
        )
        for impute in ("zero", "calibrated")
    }
    alpha = math.exp(-0.4)
    passing = 400 * zeros.pass_probability(alpha, 5, two_sided=False) * (5 + alpha / (1 - alpha))
    assert near(answers["zero"], passing)
    assert passing > 100
    assert near(answers["calibrated"], 0.0)


def test_half_the_threshold_is_taken_for_absent_values() -> None:
    release = dpbench.mechanism("filter", theta=20, impute="half").release(LINE, 1e6, rng())
    assert release.absent == release.chosen["absent"] == 10
    assert release.sum(0, 35) == 30 + 50 + 10 * 33  # 4, 1 and 17 did not pass


# Private sizes.


def test_noisy_sizes_have_their_share_of_the_budget() -> None:
    """n and ‖M‖₁ with α = exp(-share ε/2), as one individual moves both by one; the table gets the rest."""
    mechanism = dpbench.mechanism("filter", private_size=0.25)
    found = [mechanism.release(LINE, 0.8, one).chosen for one in np.random.default_rng(4).spawn(1500)]
    alpha = math.exp(-0.8 * 0.25 / 2)
    totals = np.array([chosen["total"] for chosen in found]) - LINE.total
    assert near(np.abs(totals), geometric.mean_abs(alpha))
    assert near(totals.astype(float) ** 2, geometric.variance(alpha))
    assert {chosen["alpha"] for chosen in found} == {math.exp(-0.8 * 0.75)}
    assert min(chosen["nonzeros"] for chosen in found) == 1
    assert max(chosen["nonzeros"] for chosen in found) <= 35


@pytest.mark.parametrize("name", ["filter", "threshold", "priority", "filter_priority", "sketch"])
def test_sizes_follow_from_the_noisy_numbers_alone(name: str) -> None:
    mechanism = dpbench.mechanism(name, private_size=0.5, ratio=2)
    assert mechanism.not_private() == ""
    for one in np.random.default_rng(5).spawn(50):
        release = mechanism.release(LINE, 1.0, one)
        n, total = int(release.chosen["nonzeros"]), int(release.chosen["total"])
        alpha = math.exp(-0.5 / (2 if name == "sketch" else 1))
        assert release.chosen["alpha"] == pytest.approx(alpha)
        if name == "priority":
            assert release.chosen["entries"] == min(2 * n, 35)
        elif name == "filter_priority":
            assert release.chosen["theta"] == max(1.0, total / n / 2)
            assert release.chosen["entries"] <= 2 * n
        elif name == "threshold":
            assert release.chosen["tau"] == pytest.approx(zeros.tau_for(alpha, 2 * n, 35, total))
        elif name == "sketch":
            assert release.chosen["buckets"] == max(1, 2 * n // 2)
        else:
            assert release.chosen["entries"] <= 2 * n


def test_true_sizes_are_never_published() -> None:
    for name in ("filter", "threshold", "priority", "filter_priority", "sketch"):
        assert not {"nonzeros", "total"} & set(dpbench.mechanism(name).release(LINE, 1.0, rng()).chosen)


@pytest.mark.parametrize("name", ["filter", "priority", "sketch"])
def test_replay_sees_that_noisy_sizes_are_paid_for_and_true_ones_are_not(name: str) -> None:
    private = audit_by_replay(dpbench.mechanism(name, private_size=0.3), 1.0, 60, 1, name=name)
    assert private.loss <= 1 + 1e-9
    assert private.loss > 0.9
    assert audit_by_replay(dpbench.mechanism(name), 1.0, 60, 1, name=name).loss > 1.5


# Products of dyadic ranges.


def test_one_individual_moves_products_by_the_product_of_the_heights() -> None:
    mechanism = dpbench.mechanism("filter", transform="dyadic_product")
    before = mechanism.table(DATA)
    assert before.sensitivity == grid.levels(SHAPE) == 4 * 4
    for cell in np.ndindex(*SHAPE):
        after = mechanism.table(Contingency.from_dict({**COUNTS, cell: COUNTS.get(cell, 0) + 1}, shape=SHAPE))
        moved = np.zeros(before.size)
        np.add.at(moved, after.places, after.values)
        np.subtract.at(moved, before.places, before.values)
        assert np.abs(moved).sum() == 16


def test_rectangles_have_the_variance_of_their_nodes() -> None:
    """Each of the nodes that make up a rectangle has the variance 2α/(1-α)², α = exp(-ε/16)."""
    mechanism = dpbench.mechanism("geometric", transform="dyadic_product")
    lo, hi = np.array([[1, 1], [0, 0], [2, 1]]), np.array([[6, 4], [7, 5], [3, 5]])
    errors = np.array(
        [mechanism.release(DATA, 1.0, one).rectangles(lo, hi) for one in np.random.default_rng(6).spawn(700)]
    ) - DATA.rectangles(lo, hi)
    for found, a, b in zip(errors.T, lo, hi, strict=True):
        nodes = len(naive.product_cover(tuple(a), tuple(b), SHAPE))
        assert near(found, 0.0)
        assert near(found**2, nodes * geometric.variance(math.exp(-1 / 16)))


def test_shortcut_and_laborious_agree_on_products() -> None:
    """Number of zeros that pass, and the answer to a rectangle: mean and mean square, of 700 releases each."""
    seen = {}
    for laborious in (False, True):
        mechanism = dpbench.mechanism("filter", theta=30, transform="dyadic_product", laborious=laborious)
        releases = [mechanism.release(DATA, 1.0, one) for one in np.random.default_rng(7 + laborious).spawn(700)]
        entries = np.array([release.cells.size for release in releases], dtype=float)
        answers = np.array([release.rectangles((1, 1), (6, 4)) for release in releases])
        seen[laborious] = entries, entries**2, answers, answers**2
    for fast, slow in zip(seen[False], seen[True], strict=True):
        assert abs(fast.mean() - slow.mean()) < 5 * math.hypot(fast.std(), slow.std()) / math.sqrt(700)


def test_a_transform_that_is_rebuilt_gives_the_same_release() -> None:
    kept, rebuilt = (
        dpbench.mechanism("filter", transform="dyadic", theta=5, rebuild=rebuild).release(DATA, 1.0, rng(8))
        for rebuild in (False, True)
    )
    np.testing.assert_array_equal(kept.published(), rebuilt.published())


# What is refused.


HUGE = Contingency.from_dict({3: 5, 10**11: 7}, size=10**12)


@pytest.mark.parametrize(
    ("name", "parameters", "says"),
    [
        (
            "filter",
            {"theta": 0.3},
            r"about 9.5e\+11 entries, and at most 6.71e\+07 fit: theta=0.3 .* expected a larger one",
        ),
        ("filter", {"t": 10**9}, "smaller t"),
        ("filter", {"theta": 3, "transform": "dyadic"}, "theta=3"),
        ("threshold", {"tau": 2}, "tau=2"),
        ("threshold", {"t": 10**10}, "smaller t"),
        ("priority", {"s": 10**9}, "smaller s"),
        ("filter_priority", {"s": 10**9, "theta": 400}, "smaller s"),
        ("filter_priority", {"s": 5, "theta": 4, "transform": "dyadic", "consistent": True}, "consistency check"),
        ("sketch", {"buckets": 10**9}, "fewer buckets"),
        ("geometric", {}, "writes all"),
        ("geometric", {"transform": "dyadic"}, "writes all"),
    ],
)
def test_a_release_that_no_memory_holds_is_refused_before_anything_is_drawn(
    name: str, parameters: dict, says: str
) -> None:
    with pytest.raises(UserError, match=says):
        dpbench.mechanism(name, **parameters).release(HUGE, 0.1, rng())


def test_what_fits_is_released() -> None:
    for name, parameters in (("filter", {"theta": 300}), ("threshold", {"tau": 1e8}), ("priority", {"s": 1000})):
        assert dpbench.mechanism(name, **parameters).release(HUGE, 0.1, rng()).cells.size < 10**5


def test_transforms_that_no_memory_holds_are_refused() -> None:
    wide = Contingency.from_dict({0: 1}, shape=(2,) * 61)
    assert "less than 2^63 have a number" in dpbench.mechanism("filter", transform="dyadic_product").unfit(wide)
    largest = Contingency.from_dict({0: 1}, size=2**62)
    assert dpbench.mechanism("filter", transform="dyadic").unfit(largest) == ""
    many = Contingency(np.arange(5000), np.ones(5000, dtype=np.int64), 2**30, (2,) * 30)
    assert grid.most_nodes(5000, many.shape) > LISTED
    reason = dpbench.mechanism("filter", transform="dyadic_product").unfit(many)
    assert "non-zero places" in reason
    assert "transform=none" in reason
    assert dpbench.mechanism("filter", transform="dyadic").unfit(many) == ""


@pytest.mark.parametrize(
    ("name", "parameters", "says"),
    [
        ("geometric", {"negatives": "drop"}, "negatives='drop'"),
        ("geometric", {"negatives": "zero", "transform": "haar"}, "may be negative"),
        ("priority", {"negatives": "zero", "transform": "haar"}, "may be negative"),
        ("filter", {"impute": "mean"}, "impute='mean'"),
        ("filter", {"impute": "calibrated"}, "no effect"),
        ("filter", {"impute": "half", "transform": "haar"}, "either sign"),
        ("filter", {"private_size": 1}, "private_size=1"),
        ("filter", {"private_size": -0.1}, "private_size=-0.1"),
        ("filter", {"private_size": True}, "private_size=True"),
        ("filter", {"private_size": "much"}, "private_size='much'"),
        ("filter", {"private_size": 0.1, "theta": 4}, "no effect"),
        ("threshold", {"private_size": 0.1, "tau": 4}, "no effect"),
        ("priority", {"private_size": 0.1, "s": 4}, "no effect"),
        ("filter_priority", {"private_size": 0.1, "s": 4, "theta": 9}, "no effect"),
        ("sketch", {"private_size": 0.1, "buckets": 4}, "no effect"),
        ("filter", {"rebuild": True}, "no effect"),
        ("filter", {"transform": "dyadic_product", "consistent": True}, "needs transform='dyadic'"),
    ],
)
def test_wrong_options(name: str, parameters: dict, says: str) -> None:
    with pytest.raises(UserError, match=says):
        dpbench.mechanism(name, **parameters)
