"""Expected errors given all but the last noise: exact on tiny cases, and equal to the mean of sampled errors.

Statistical tests have fixed seeds. Each compares a mean of differences with zero at `LIMIT` standard errors; with about 150 such
comparisons a false alarm has a probability below 1e-4. A scale that is wrong by a tenth must be seen
(`test_a_wrong_scale_is_seen`).
"""

from __future__ import annotations

import dataclasses
import math
import pickle

import numpy as np
import pytest

import dpbench
from dpbench.data.last_step import FairSigns, NoiseCase, NoiseLaw, NoisyCounts, NoisyTable, laplace_law, normal_law
from dpbench.mechanisms.base import MECHANISMS
from dpbench.numerics import geometric
from dpbench.tasks.base import TASKS

from support.examples import example_of

LIMIT = 5.0
EPSILON = 0.3
COUNTS = {
    "lpa": [{}],
    "alpa": [{}],
    "fpa": [{"rho": 1}, {"rho": 2}, {"rho": 4}],
    "gs_r": [{}],
    "gs_s": [{}, {"sampling": "row"}],
    "gs": [{}, {"sampling": "none"}, {"w": 3}],
    "gs_mean": [{}],
    "gs_private": [{}],
    "gs_optimal": [{}],
    "gs_sizes": [{}],
    "dpsense": [{}, {"theta": 2}, {"limit": "sample"}],
    "dpsense_s": [{}, {"limit": "sample"}],
    "sra": [{"l": 2}],
    "hpa": [{"l": 2, "d": 1}],
    "hpa_popularity": [{"d": 1}],
    "linf": [{}],
    "knorm_counts": [{}],
    "gaussian": [{}],
    "gaussian_correlated": [{}],
    "clipped_laplace": [{}],
    "clipped_gaussian": [{}],
}
"""Every mechanism for counts that states its last step."""
CASES = [(name, parameters) for name, choices in COUNTS.items() for parameters in choices]
SHARED = {"alpa", "fpa", "gs_r", "gs_optimal"}
"""Few independent draws per release, so many releases."""


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    popular = 1 / np.arange(1, 25)
    rows = [
        rng.choice(24, size=rng.integers(1, 6), replace=False, p=popular / popular.sum()).tolist() for _ in range(60)
    ]
    return dpbench.Incidence.from_rows(rows, columns=24)


def differences(data, task, mechanism, trials, change=lambda release: release, epsilon=EPSILON):
    """Sampled minus expected metrics, one list per metric."""
    rng, found = np.random.default_rng(11), {}
    for _ in range(trials):
        release = change(mechanism.release(data, epsilon=epsilon, rng=rng))
        sampled = task.score(data, release, rng)
        for name, value in task.expected(data, release, rng).items():
            found.setdefault(name, []).append(sampled[name] - value)
    return {name: np.array(values) for name, values in found.items()}


def distance(values):
    """How many standard errors the mean is away from zero."""
    error = values.std(ddof=1) / math.sqrt(values.size)
    return abs(values.mean()) / error if error else 0.0 if abs(values.mean()) < 1e-9 else math.inf


def test_the_list_is_complete(table):
    """Whoever states a last step is tested here."""
    stating = set()
    for name, cls in MECHANISMS.items():
        if "incidence" in cls.kinds:
            mechanism = MECHANISMS.make(name, **({"k": 3} if "k" in {f.name for f in dataclasses.fields(cls)} else {}))
            if mechanism.release(table, epsilon=1.0, rng=np.random.default_rng(0)).last_step is not None:
                stating.add(name)
    assert stating == set(COUNTS)


@pytest.mark.parametrize(("name", "parameters"), CASES)
def test_the_mean_of_sampled_errors_is_the_expected_one(name, parameters, table):
    trials = 4000 if name in SHARED else 500
    found = differences(table, TASKS.make("column_counts"), MECHANISMS.make(name, **parameters), trials)
    only_squares = name == "fpa" and parameters["rho"] > 1
    assert set(found) == ({"mse"} if only_squares else {"mae", "mre", "mse", "l1"})
    assert {metric: distance(values) for metric, values in found.items() if distance(values) > LIMIT} == {}


@pytest.mark.parametrize("name", ["lpa", "fpa", "gs", "dpsense", "sra", "hpa"])
def test_items_and_edges_of_records(name):
    data = example_of(name, "records").data()
    parameters = {"sra": {"l": 2}, "hpa": {"l": 2, "d": 1}, "fpa": {"rho": 2}}.get(name, {})
    found = differences(data, TASKS.make("record_analytics"), MECHANISMS.make(name, **parameters), 600)
    assert set(found) == {"mse", "edge_mse"}
    assert {metric: distance(values) for metric, values in found.items() if distance(values) > LIMIT} == {}


@pytest.mark.parametrize("name", ["lpa", "alpa", "dpsense", "gs"])
def test_the_highest_counts_and_the_others(name, table):
    found = differences(table, TASKS.make("high_counts", top=0.2), MECHANISMS.make(name), 1500)
    assert set(found) == {"mae_high", "mae_others"}
    assert {metric: distance(values) for metric, values in found.items() if distance(values) > LIMIT} == {}


@pytest.mark.parametrize(
    "name", ["lpa", "alpa", "fpa", "gs", "gs_r", "dpsense", "dpsense_s", "sra", "gaussian", "linf"]
)
def test_a_wrong_scale_is_seen(name, table):
    def wider(release):
        def law(given):
            return dataclasses.replace(given, variance=1.21 * given.variance, mean_abs=1.1 * given.mean_abs)

        cases = tuple(dataclasses.replace(case, law=law(case.law), key=None) for case in release.last_step.cases)
        return dataclasses.replace(release, last_step=NoisyCounts(cases))

    parameters = {"fpa": {"rho": 1}, "sra": {"l": 2}}.get(name, {})
    trials = 4000 if name in SHARED else 2000
    found = differences(table, TASKS.make("column_counts"), MECHANISMS.make(name, **parameters), trials, wider, 0.02)
    assert max(distance(found["mae"]), distance(found["mse"])) > LIMIT


def density_mean(law, offset):
    """E|offset + noise| by adding up the density over a fine grid."""
    x = np.linspace(-60, 60, 2_400_001) * math.sqrt(law.variance)
    density = {
        "laplace": lambda: np.exp(-np.abs(x) / law.mean_abs) / (2 * law.mean_abs),
        "normal": lambda: np.exp(-(x**2) / (2 * law.variance)) / math.sqrt(2 * math.pi * law.variance),
    }[law.kind]()
    return float(np.sum(np.abs(offset + x) * density) * (x[1] - x[0]))


@pytest.mark.parametrize("law", [laplace_law(0.7), normal_law(2.5)], ids=["laplace", "normal"])
@pytest.mark.parametrize("offset", [0.0, 0.3, -4.0, 50.0])
def test_one_biased_number_by_its_density(law, offset):
    errors = NoiseCase(law, lambda: np.array([3.0 + offset])).errors(np.array([3]), np.array([2.0]))
    exact = density_mean(law, offset)
    assert errors.absolute == pytest.approx(exact, rel=1e-8)
    assert errors.weighted == pytest.approx(2 * exact, rel=1e-8)
    assert errors.squared == pytest.approx(offset**2 + law.variance, rel=1e-12)


def test_a_bias_without_noise_is_the_error():
    for law in (laplace_law(0.0), normal_law(0.0)):
        errors = NoiseCase(law, lambda: np.array([1.0, 5.0])).errors(np.array([2, 3]), np.ones(2))
        assert (errors.absolute, errors.weighted, errors.squared) == (3.0, 3.0, 5.0)


def test_moments_alone_give_no_absolute_error_of_a_biased_number():
    errors = NoiseCase(NoiseLaw(4.0, 1.5), lambda: np.array([1.0])).errors(np.array([0]), np.ones(1))
    assert math.isnan(errors.absolute)
    assert errors.squared == 5.0


def test_cases_are_weighted_by_their_probability(table):
    """DPSense's own closed form, which also averages over θ, is an independent way to the same number."""
    task = TASKS.make("column_counts")
    for name in ("dpsense", "dpsense_s"):
        mechanism = MECHANISMS.make(name)
        release = mechanism.release(table, epsilon=0.5, rng=np.random.default_rng(1))
        expected = task.expected(table, release, np.random.default_rng())["mae"]
        assert expected == pytest.approx(mechanism.expected_error(table, 0.5), rel=1e-7)


@pytest.mark.parametrize("parameters", [{}, {"limit": "sample"}, {"step": 0.1}], ids=str)
@pytest.mark.parametrize("name", ["dpsense", "dpsense_s"])
def test_few_anchors_keep_the_mean_and_lower_the_spread(name, parameters, table, monkeypatch):
    """Interpolation between few thresholds is a control variate: no bias, whatever the anchors are."""
    if name == "dpsense_s" and "step" in parameters:
        pytest.skip("its candidates are whole numbers")
    monkeypatch.setattr("dpbench.mechanisms.sensitivity._anchors.MOST", 2)
    monkeypatch.setattr("dpbench.mechanisms.sensitivity._anchors.FEW", 4)
    monkeypatch.setattr("dpbench.mechanisms.sensitivity._anchors.FEWER", 3)
    data = dpbench.Incidence(indptr=table.indptr, indices=table.indices, columns=table.columns)  # nothing remembered
    mechanism, task = MECHANISMS.make(name, **parameters), TASKS.make("column_counts")
    found = differences(data, task, mechanism, 500)
    assert {metric: distance(values) for metric, values in found.items() if distance(values) > LIMIT} == {}
    rng = np.random.default_rng(3)
    releases = [mechanism.release(data, epsilon=EPSILON, rng=rng) for _ in range(100)]
    alone = [dataclasses.replace(r, last_step=NoisyCounts(r.last_step.cases[:1])) for r in releases]
    spread, before = (np.std([task.expected(data, r, rng)["mae"] for r in each]) for each in (releases, alone))
    assert spread < before / 2


@pytest.mark.parametrize("name", ["lpa", "gs", "dpsense"])
def test_never_published(name, table):
    """A secure release does not carry it, nor does a copy or a pickle, nor one with exact noise, whose law is another."""
    mechanism = MECHANISMS.make(name, bound=5)
    release = mechanism.release(table, epsilon=1.0, rng=np.random.default_rng(0))
    assert release.last_step is not None
    assert release.publishable().last_step is None
    assert pickle.loads(pickle.dumps(release)).last_step is None
    assert "last_step" not in repr(release)
    secure = mechanism.release(table, epsilon=1.0, rng="secure", noise="exact")
    exact = mechanism.release(table, epsilon=1.0, rng=np.random.default_rng(0), noise="exact")
    assert secure.last_step is None
    assert exact.last_step is None
    assert TASKS.make("column_counts").expected(table, exact, np.random.default_rng()) == {}


def test_sums_of_geometric_noise_by_convolution():
    for alpha in (0.05, 0.6, 0.95):
        x = np.arange(-1500, 1501)
        one = (1 - alpha) / (1 + alpha) * alpha ** np.abs(x)
        law = one
        for terms in range(1, 4):
            reach = (law.size - 1) // 2
            exact = float(np.sum(law * np.abs(np.arange(-reach, reach + 1))))
            assert geometric.mean_abs_sum(alpha, terms) == pytest.approx(exact, rel=1e-11)
            law = np.convolve(law, one)
    assert geometric.mean_abs_sum(0.9, 0) == 0.0
    many = 10**6  # nearly normal: E|S| = σ √(2/π)
    normal = math.sqrt(2 / math.pi * many * geometric.variance(0.9))
    assert geometric.mean_abs_sum(0.9, many) == pytest.approx(normal, rel=1e-6)


QUERIES = {
    "range": TASKS.make("range_queries", share=0.05, upto=0.5, steps=2, queries=20),
    "subset": TASKS.make("subset_queries", share=0.05, upto=0.5, steps=2, queries=20),
    "rectangle": TASKS.make("rectangle_queries", share=0.1, queries=20),
}
SUMMARIES = [
    ("geometric", {}, "range"),
    ("geometric", {}, "subset"),
    ("geometric", {"transform": "dyadic"}, "range"),
    ("geometric", {"transform": "dyadic_product"}, "rectangle"),
    ("filter", {"theta": 3}, "range"),
    ("filter", {"theta": 3, "impute": "half"}, "subset"),
    ("threshold", {}, "range"),
    ("priority", {}, "subset"),
    ("priority", {}, "rectangle"),
    ("filter_priority", {"theta": 3}, "range"),
]


@pytest.mark.parametrize(("name", "parameters", "task"), SUMMARIES)
def test_queries_of_summaries(name, parameters, task):
    data = example_of(name, "contingency").data()
    found = differences(data, QUERIES[task], MECHANISMS.make(name, **parameters), 200)
    assert {"abs_error", "mean_relative_error", "mse"} <= set(found)
    assert ("median_relative_error" in found) == (name != "geometric")
    assert {metric: distance(values) for metric, values in found.items() if distance(values) > LIMIT} == {}


@pytest.mark.parametrize(("name", "parameters", "task"), [SUMMARIES[1], SUMMARIES[4]])
def test_a_wrong_law_of_a_summary_is_seen(name, parameters, task):
    data = example_of(name, "contingency").data()

    def wrong(release):
        if isinstance(release.last_step, NoisyTable):
            return dataclasses.replace(release, last_step=NoisyTable(release.last_step.alpha**0.9))
        return dataclasses.replace(release, last_step=FairSigns(lambda: np.ones(release.cells.size, dtype=bool)))

    found = differences(
        data, QUERIES[task], MECHANISMS.make(name, **parameters), 200 if task == "range" else 1000, wrong
    )
    assert distance(found["mse"]) > LIMIT


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("geometric", {"negatives": "zero"}),
        ("filter", {"two_sided": False, "theta": 3}),
        ("priority", {"negatives": "zero"}),
        ("filter", {"transform": "dyadic"}),
        ("geometric", {"transform": "haar"}),
        ("synthesizer", {}),
        ("sketch", {}),
    ],
)
def test_no_expectation_without_a_known_law(name, parameters):
    data = example_of(name, "contingency").data()
    release = MECHANISMS.make(name, **parameters).release(data, epsilon=0.5, rng=np.random.default_rng(0))
    assert QUERIES["range"].expected(data, release, np.random.default_rng(0)) == {}


def test_categories_of_one_user():
    data = example_of("laplace_categories", "catalogue").data()
    task, mechanism = TASKS.make("category_aggregates"), MECHANISMS.make("laplace_categories")
    found = differences(data, task, mechanism, 500)
    assert set(found) == {"mae", "mse"}
    assert {metric: distance(values) for metric, values in found.items() if distance(values) > LIMIT} == {}
    release = mechanism.release(data, epsilon=0.5, rng=np.random.default_rng(0))
    expected = task.expected(data, release, np.random.default_rng(0))["mae"]
    assert expected == pytest.approx(mechanism.expected_error(data, 0.5), rel=1e-12)
