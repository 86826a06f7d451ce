"""gs_private against a version written from its recipe on plain lists, and gs_mean as a name for one choice of gs.

Kolmogorov-Smirnov over 1500 releases each at a level of 1e-4 per comparison (below 1e-2 for all together); fixed seeds.
"""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest
from scipy import stats

import dpbench
from dpbench import Incidence
from dpbench.engine.plan import describe_variant
from dpbench.errors import UserError
from dpbench.mechanisms.base import MECHANISMS
from dpbench.mechanisms.gs.grouping import grouping_of
from dpbench.model.run import Variant

from naive import gs as naive

TRIALS, LEVEL, D, DELTA = 1500, 1e-4, 9, 4


def rows() -> list[list[int]]:
    rng = np.random.default_rng(12)
    sizes = [DELTA, 0, 0, *rng.integers(1, DELTA + 1, 30)]
    popularity = np.arange(1, D + 1) ** 2.0
    return [rng.choice(D, size, replace=False, p=popularity / popularity.sum()).tolist() for size in sizes]


ROWS = rows()
DATA = Incidence.from_rows(ROWS, columns=D)
DENSE = [[int(j in row) for j in range(D)] for row in ROWS]


def statistics(trials) -> dict[str, np.ndarray]:
    t, w, mean_row = (np.array(part, dtype=float) for part in zip(*trials, strict=True))
    error = t - DATA.counts
    return {"mae": np.abs(error).mean(axis=1), "last": error[:, -1], "w": w, "mean row": mean_row}


@functools.cache
def ours(sampling: str, epsilon: float, share: float) -> dict[str, np.ndarray]:
    mechanism = dpbench.mechanism("gs_private", bound=DELTA, sampling=sampling, mean_share=share)
    rng = np.random.default_rng(1)
    releases = [mechanism.release(DATA, epsilon, rng) for _ in range(TRIALS)]
    return statistics([(r.counts, r.chosen["w"], r.chosen["mean_row"]) for r in releases])


def smallest(sampling: str, epsilon: float, share: float, **faults: float) -> float:
    rng = np.random.default_rng(2)
    lap, counts = naive.noise(rng, **faults), naive.query(DENSE, D)
    theirs = statistics(
        [naive.gs_private(DENSE, counts, DELTA, epsilon, sampling, rng, lap, share) for _ in range(TRIALS)]
    )
    mine = ours(sampling, epsilon, share)
    return min(stats.ks_2samp(mine[key], theirs[key]).pvalue for key in mine)


@pytest.mark.parametrize(
    ("sampling", "epsilon", "share"), [("column", 1.0, 0.02), ("row", 1.0, 0.02), ("column", 5.0, 0.5)]
)
def test_same_law_as_the_recipe(sampling: str, epsilon: float, share: float) -> None:
    assert smallest(sampling, epsilon, share) > LEVEL


@pytest.mark.parametrize(("place", "factor"), [("total", 10), ("rows", 1.5), ("output", 1.5)])
def test_a_planted_fault_is_seen(place: str, factor: float) -> None:
    """More noise in one place of the naive version must not pass."""
    assert smallest("column", 5.0, 0.5, **{place: factor}) < LEVEL


def test_the_mean_row_is_within_its_limits_and_near_the_truth() -> None:
    mechanism = dpbench.mechanism("gs_private", bound=DELTA)
    chosen = [mechanism.release(DATA, 0.1, np.random.default_rng(s)).chosen["mean_row"] for s in range(50)]
    assert all(1 <= mean_row <= DELTA for mean_row in chosen)
    sharp = mechanism.release(DATA, 1e6, np.random.default_rng(0)).chosen["mean_row"]
    assert sharp == pytest.approx(DATA.ones / np.count_nonzero(DATA.row_sizes), rel=1e-2)


def test_its_error_given_the_groups_is_the_closed_form() -> None:
    mechanism, rng = dpbench.mechanism("gs_private", bound=DELTA, mean_share=0.5), np.random.default_rng(3)
    off = []
    for _ in range(1500):
        release = mechanism.release(DATA, 1.0, rng)
        expected = mechanism.grouping_error(DATA, 1.0, grouping_of(release), int(release.chosen["w"]))
        off.append(np.abs(release.counts - DATA.counts).mean() - expected)
    assert abs(np.mean(off)) < 5 * np.std(off) / math.sqrt(len(off))


def test_what_it_takes() -> None:
    assert dpbench.mechanism("gs_private", bound=4).not_private() == ""
    assert "declare `bound`" in dpbench.mechanism("gs_private").not_private()
    assert "below the largest row" in dpbench.mechanism("gs_private", bound=2).unfit(DATA)
    for wrong in ({"sampling": "none"}, {"mean_share": 0.0}, {"mean_share": 1.0}):
        with pytest.raises(UserError, match="is not valid"):
            dpbench.mechanism("gs_private", **wrong)


@pytest.fixture(scope="module")
def mostly_empty() -> tuple[Incidence, list[list[int]]]:
    """The same rows among many empty ones: over all rows the mean would be below 1."""
    rows = [*ROWS, *[[]] * 90]
    return Incidence.from_rows(rows, columns=D), [*DENSE, *[[0] * D] * 90]


def test_gs_mean_has_the_law_of_the_recipe_where_most_rows_are_empty(mostly_empty) -> None:
    """Group size, foretold error and published error, 1500 releases each; three comparisons at 1e-4."""
    data, dense = mostly_empty
    mechanism, rng = dpbench.mechanism("gs_mean", bound=DELTA), np.random.default_rng(1)
    releases = [mechanism.release(data, 2.0, rng) for _ in range(TRIALS)]
    ours = statistics([(r.counts, r.chosen["w"], r.chosen["estimated_l1"]) for r in releases])
    rng = np.random.default_rng(2)
    lap, counts = naive.noise(rng), naive.query(dense, D)
    theirs = statistics([naive.gs_mean(dense, counts, DELTA, 2.0, "column", rng, lap) for _ in range(TRIALS)])
    assert min(stats.ks_2samp(ours[key], theirs[key]).pvalue for key in ours) > LEVEL


def test_empty_rows_do_not_change_the_mean_row(mostly_empty) -> None:
    data, _ = mostly_empty
    mechanism = dpbench.mechanism("gs_mean", bound=DELTA)
    one, other = (mechanism.release(d, 1.0, np.random.default_rng(5)).chosen["estimated_l1"] for d in (DATA, data))
    assert one == other


def test_gs_mean_is_gs_with_the_mean_row_and_has_its_key() -> None:
    preset, plain = dpbench.mechanism("gs_mean"), dpbench.mechanism("gs", scale_up="mean_row")
    one, other = (m.release(DATA, 1.0, np.random.default_rng(5)) for m in (preset, plain))
    assert one.published().tolist() == other.published().tolist()
    assert "mean row" in preset.not_private()
    keys = [
        describe_variant(Variant("gs_mean", cls, params), MECHANISMS.make(cls, **params))
        for cls, params in [
            ("gs_mean", {}),
            ("gs_mean", {"scale_up": "mean_row", "w": "auto"}),
            ("gs", {"scale_up": "mean_row"}),
        ]
    ]
    assert keys[0] == keys[1] == keys[2] == {"class": "gs", "params": {"scale_up": "mean_row"}}
