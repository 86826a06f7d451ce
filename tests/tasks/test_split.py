"""The split of the squared error of counts: against naive stages, closed forms, and the truth at a budget without noise."""

from __future__ import annotations

import numpy as np
import pytest

import dpbench
from dpbench.data.release import Counts
from dpbench.tasks.base import TASKS

from naive import stages as naive
from support.examples import incidence, records, records_once

INCIDENCE, RECORDS, ONCE = incidence(), records(), records_once()
COUNTS, ITEMS = TASKS.make("column_counts"), TASKS.make("record_analytics")
NAMES = [f"share_{part}" for part in ("bounding", "sampling", "grouping", "dropping", "noise")]
NO_NOISE = 1e13


def released(name, data=INCIDENCE, epsilon=1.0, seed=0, **parameters):
    return dpbench.mechanism(name, **parameters).release(data, epsilon, np.random.default_rng(seed))


def scores(release, data=INCIDENCE):
    task = COUNTS if data is INCIDENCE else ITEMS
    return task.score(data, release, np.random.default_rng(0))


def mean_shares(name, trials, epsilon, **parameters):
    found = [scores(released(name, epsilon=epsilon, seed=seed, **parameters)) for seed in range(trials)]
    return {share: np.array([f[share] for f in found]) for share in NAMES}


@pytest.mark.parametrize(
    ("name", "parameters", "data", "parts", "expected"),
    [
        ("alpa", {}, INCIDENCE, ["grouping"], lambda d, r: [[sum(d.counts) / d.columns] * d.columns]),
        ("zero", {}, RECORDS, ["dropping"], lambda d, r: [[0.0] * d.n_items]),
        ("fpa", {"rho": 5}, INCIDENCE, ["dropping"], lambda d, r: [naive.first_coefficients(d.counts, 5)]),
        ("fpa", {"rho": 13}, INCIDENCE, ["dropping"], lambda d, r: [naive.first_coefficients(d.counts, 13)]),
        ("gs_r", {}, INCIDENCE, ["grouping"], lambda d, r: [naive.group_averages(d.counts, r.counts)]),
        ("gs_s", {"sampling": "row"}, INCIDENCE, ["grouping"], lambda d, r: [naive.group_averages(d.counts, r.counts)]),
        ("gs", {"w": 5}, INCIDENCE, ["grouping"], lambda d, r: [naive.group_averages(d.counts, r.counts)]),
        ("gs", {}, RECORDS, ["grouping"], lambda d, r: [naive.group_averages(d.counts, r.counts)]),
        ("gs_private", {}, INCIDENCE, ["grouping"], lambda d, r: [naive.group_averages(d.counts, r.counts)]),
        ("dpsense", {"theta": 3}, INCIDENCE, ["bounding"], lambda d, r: [naive.scaled_rows(d, 3)]),
        ("clipped_laplace", {"m": 4}, RECORDS, ["bounding"], lambda d, r: [naive.scaled_rows(d.item_columns(), 4)]),
        ("clipped_gaussian", {"m": 4}, RECORDS, ["bounding"], lambda d, r: [naive.scaled_rows(d.item_columns(), 4, 2)]),
    ],
)
def test_stages_are_those_of_a_naive_version(name, parameters, data, parts, expected) -> None:
    for seed in range(3):
        release = released(name, data, epsilon=0.7, seed=seed, **parameters)
        stages = expected(data, release)
        assert [stage.part for stage in release.stages] == parts
        for stage, mine in zip(release.stages, stages, strict=True):
            np.testing.assert_allclose(stage.answers, mine, rtol=1e-9, atol=1e-9)
        found = scores(release, data)
        shares = naive.shares(data.counts.tolist(), release.counts.tolist(), stages)
        told = dict.fromkeys(NAMES, 0.0) | dict(zip([f"share_{p}" for p in (*parts, "noise")], shares, strict=True))
        assert {share: found[share] for share in NAMES} == pytest.approx(told, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("limit", ["normalise", "sample"])
def test_dpsense_s_scales_what_is_bounded(limit) -> None:
    alphas = set()
    for seed in range(6):  # at this budget every α is as likely as the others
        release = released("dpsense_s", epsilon=0.01, seed=seed, alpha_max=3.0, alphas=3, limit=limit)
        alphas.add(release.chosen["alpha"])
        bounded = np.array(naive.scaled_rows(INCIDENCE, int(release.chosen["theta"]))) * release.chosen["alpha"]
        np.testing.assert_allclose(release.stages[0].answers, bounded, rtol=1e-9)
    assert len(alphas) > 1


@pytest.mark.parametrize(
    ("name", "parameters", "most", "data"),
    [
        ("sra", {"l": 4}, 4, RECORDS),
        ("sra", {"l": 2}, 2, INCIDENCE),
        ("hpa", {"l": 4, "d": 3}, 4, RECORDS),
        ("hpa_popularity", {"d": 3}, 3, RECORDS),
        ("dpsense", {"theta": 3, "limit": "sample"}, 3, INCIDENCE),
    ],
)
def test_sampled_rows_are_bounded_first(name, parameters, most, data) -> None:
    """Bounding is the mean over all samples; without noise, the sample is what is published."""
    release = released(name, data, epsilon=NO_NOISE, **parameters)
    bounding, sampling = release.stages
    assert (bounding.part, sampling.part) == ("bounding", "sampling")
    np.testing.assert_allclose(bounding.answers, naive.scaled_rows(data.item_columns(), most), rtol=1e-9)
    np.testing.assert_allclose(sampling.answers, release.counts, atol=1e-6)
    assert sampling.answers.sum() == np.minimum(data.item_columns().row_sizes, most).sum()
    found = scores(release, data)
    assert found["share_noise"] == pytest.approx(0.0, abs=1e-6 * found["mse"])
    assert found["share_bounding"] + found["share_sampling"] == pytest.approx(found["mse"])


@pytest.mark.parametrize(
    ("name", "parameters", "data"),
    [
        ("gs", {"sampling": "none"}, INCIDENCE),
        ("gs_mean", {}, INCIDENCE),
        ("fpa", {}, RECORDS),
        ("dpsense", {}, INCIDENCE),
        ("dpsense_s", {}, INCIDENCE),
        ("dpsense_s", {"limit": "sample"}, INCIDENCE),
        ("clipped_laplace", {"bound": 40}, RECORDS),
    ],
)
def test_without_noise_the_last_stage_is_what_is_published(name, parameters, data) -> None:
    release = released(name, data, epsilon=NO_NOISE, **parameters)
    np.testing.assert_allclose(release.stages[-1].answers, release.counts, atol=1e-4)


# Closed forms.


@pytest.mark.parametrize("name", ["lpa", "gaussian", "linf", "knorm_counts", "gaussian_correlated"])
def test_noise_alone_is_all_of_the_error(name) -> None:
    data = INCIDENCE if name in ("linf", "gaussian") else ONCE
    found = scores(released(name, data), data)
    assert found["share_noise"] == found["mse"] > 0
    assert all(found[share] == 0 for share in NAMES[:-1])


def test_one_average_for_all_costs_the_variance_of_the_counts() -> None:
    release = released("alpa")
    found = scores(release)
    assert found["share_grouping"] == pytest.approx(np.var(INCIDENCE.counts), rel=1e-9)
    assert found["share_noise"] == pytest.approx((release.counts[0] - INCIDENCE.counts.mean()) ** 2, rel=1e-9)


def test_dropped_coefficients_cost_their_energy() -> None:
    """Parseval: noise and dropped coefficients never meet."""
    release = released("fpa", rho=6)
    assert scores(release)["share_dropping"] == pytest.approx(release.diagnostics["dropped"], rel=1e-9)


def test_zeros_drop_everything() -> None:
    found = scores(released("zero"))
    assert found["share_dropping"] == found["mse"] == np.square(INCIDENCE.counts).mean()
    assert found["share_noise"] == 0


def test_shares_have_the_expected_values_of_bias_and_variance() -> None:
    """DPSense with a fixed θ: bounding costs mean (c^θ - c)² on average, noise 2 (θ/ε)². 4000 trials, 5 standard errors
    (a false alarm once in a million): small enough to tell a factor of 1.1."""
    theta, epsilon = 2, 1.0
    found = mean_shares("dpsense", 4000, epsilon, theta=theta)
    bias = np.array(naive.scaled_rows(INCIDENCE, theta)) - INCIDENCE.counts
    for share, value in (("share_bounding", np.square(bias).mean()), ("share_noise", 2 * (theta / epsilon) ** 2)):
        error = found[share].std(ddof=1) / np.sqrt(found[share].size)
        assert 5 * error < 0.1 * value
        assert abs(found[share].mean() - value) < 5 * error


def test_a_share_may_be_below_zero() -> None:
    """Noise that happens to undo the bias of the groups."""
    found = mean_shares("dpsense", 60, 0.5, theta=1)
    assert (found["share_bounding"] < 0).any() or (found["share_noise"] < 0).any()


# What is not published, and who does not tell.


def test_stages_are_not_published_and_cost_no_noise() -> None:
    first, second = released("sra"), released("sra")
    assert [stage.answers.size for stage in first.stages] == [24, 24]
    assert np.array_equal(first.published(), second.published())
    assert set(first.parts()) == {"counts", "chosen.scale"}
    assert "stages" not in repr(first)


def test_a_release_that_does_not_tell_has_no_split() -> None:
    found = scores(Counts(counts=INCIDENCE.counts + 1.0))
    assert found["mse"] == 1.0
    assert not [name for name in found if name.startswith("share_")]


def test_stages_are_computed_only_when_asked_for() -> None:
    release = released("gs")
    assert "answers" not in release.stages[0].__dict__
    scores(release)
    assert "answers" in release.stages[0].__dict__


@pytest.mark.parametrize("task", [COUNTS, ITEMS, TASKS.make("leaderboard")])
def test_shares_are_declared_and_have_no_direction(task) -> None:
    for name in NAMES:
        metric = task.metric(name)
        assert metric.name == name
        assert metric.better == "neither"
        assert "negative share" in metric.description
