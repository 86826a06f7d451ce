"""sra, hpa, and lpa, fpa, gs on records, against versions written from the pseudocode and against closed forms.

Each comparison with the pseudocode asks whether thousands of our releases and of the naive ones have the same law: by
Kolmogorov-Smirnov for every item and edge, by their means, and by their mean distance from the mean, which tells noise
scales apart best. All of them together raise a false alarm with probability below 1e-3 (`LEVEL`);
`test_planted_fault` shows that a factor 1.1 in any one noise scale is found. Tests against closed forms allow five
standard errors, a false alarm of 6e-7 each. All seeds are fixed.
"""

from __future__ import annotations

import functools

import numpy as np
import pytest
from scipy import stats

import dpbench
from dpbench import Incidence, Noise, Records
from dpbench.errors import UserError

from naive import analytics as naive

TRIALS = 3000
LEVEL = 1e-3 / 400  # there are fewer than 400 single tests

M, H, L, D, EPSILON = 10, 3, 3, 2, 5.0
USED = 6  # the last items occur nowhere: what is published of them is noise alone


def _users() -> list[list[tuple[int, int]]]:
    """Empty users, small ones that are kept whole, and large ones with many repeats."""
    rng = np.random.default_rng(7)
    popularity = np.array([9, 1, 4, 2, 6, 3]) / 25
    sizes = [0, 1, 2, 3, 3, *rng.integers(2, 14, 18)]
    return [[(int(i), int(rng.integers(H))) for i in rng.choice(USED, size, p=popularity)] for size in sizes]


USERS = _users()
DATA = Records.from_rows(USERS, items=M, contexts=H)

NAIVE = {
    "sra": lambda rng, lap: naive.sra(USERS, M, H, L, EPSILON, rng, lap),
    "hpa": lambda rng, lap: naive.hpa(USERS, M, H, L, D, EPSILON, rng, lap),
    "hpa_popularity": lambda rng, lap: (naive.popularity(USERS, M, D, EPSILON, rng, lap), []),
    "sra, whole budget each": lambda rng, lap: naive.sra(USERS, M, H, L, EPSILON, rng, lap, 1.0),
    "hpa, another reading": lambda rng, lap: naive.hpa(USERS, M, H, L, D, EPSILON, rng, lap, 0.9, 20.0),
}
PARAMETERS = {
    "sra": {"l": L},
    "hpa": {"l": L, "d": D},
    "hpa_popularity": {"d": D},
    "sra, whole budget each": {"l": L, "per_query": True},
    "hpa, another reading": {"l": L, "d": D, "per_query": True, "popularity_noise": 20.0},
}


def flat(counts, edges) -> np.ndarray:
    return np.concatenate([np.ravel(counts), np.ravel(np.zeros(0) if edges is None else edges)])


@functools.cache
def ours(name: str) -> np.ndarray:
    rng = np.random.default_rng(31)
    mechanism = dpbench.mechanism(name.partition(",")[0], **PARAMETERS[name])
    releases = (mechanism.release(DATA, EPSILON, rng) for _ in range(TRIALS))
    return np.array([flat(r.counts, r.edges) for r in releases])


def theirs(name: str, seed: int = 32, **faults: float) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.array([flat(*NAIVE[name](rng, naive.noise(rng, **faults))) for _ in range(TRIALS)])


def parts(releases: np.ndarray) -> dict[str, np.ndarray]:
    """The numbers by kind, and apart from them those that are noise alone: HPA's pick varies more than its noise."""
    edges = releases[:, M:].reshape(len(releases), -1, H)
    named = {"items": releases[:, :M], "unused items": releases[:, USED:M]}
    if edges.size:
        named |= {"edges": releases[:, M:], "unused edges": edges[:, USED:].reshape(len(releases), -1)}
    return named


def differences(a: np.ndarray, b: np.ndarray) -> dict[str, float]:
    """The p-value of every single test that two sets of releases have the same law."""
    found = {f"law of number {j}": stats.ks_2samp(a[:, j], b[:, j]).pvalue for j in range(a.shape[1])}
    for j in range(a.shape[1]):
        found[f"mean of number {j}"] = stats.ttest_ind(a[:, j], b[:, j], equal_var=False).pvalue
    for name, one in parts(a).items():
        two = parts(b)[name]
        # Trials are independent, the numbers of one trial need not be: they are averaged first.
        spread = [np.abs(part - part.mean(axis=0)).mean(axis=1) for part in (one, two)]
        found[f"spread of {name}"] = stats.ttest_ind(*spread, equal_var=False).pvalue
    return found


@pytest.mark.parametrize("name", NAIVE)
def test_same_law_as_the_pseudocode(name: str) -> None:
    assert {what: p for what, p in differences(ours(name), theirs(name)).items() if p < LEVEL} == {}


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("sra", "items"),
        ("sra", "edges"),
        ("hpa", "items"),
        ("hpa", "edges"),
        ("hpa_popularity", "popularity"),
        ("sra, whole budget each", "items"),
        ("hpa, another reading", "edges"),
    ],
)
def test_planted_fault(name: str, place: str) -> None:
    """A tenth more noise in one place of the pseudocode is seen."""
    assert min(differences(ours(name), theirs(name, **{place: 1.1})).values()) < LEVEL


def test_readings_say_what_they_cost() -> None:
    for parameters in ({"per_query": True}, {"popularity_noise": 3.0}):
        assert dpbench.mechanism("hpa", d=1, **parameters).not_private()
    assert "twice" in dpbench.mechanism("sra", per_query=True).not_private()
    assert dpbench.mechanism("sra").not_private() == dpbench.mechanism("hpa", d=1).not_private() == ""
    with pytest.raises(UserError, match="popularity_noise=0 is not valid"):
        dpbench.mechanism("hpa", popularity_noise=0)


def test_without_edges_a_query_has_the_whole_budget_once() -> None:
    data = Incidence.from_rows([[0, 1], [1, 2]], columns=3)
    scales = [
        dpbench.mechanism("sra", l=2, per_query=each).release(data, 1.0, np.random.default_rng(1)).chosen
        for each in (False, True)
    ]
    assert scales[0] == scales[1] == {"scale": 2.0}


def whole_users(users: int, most: int) -> Records:
    """Users with at most `most` records, so that samples are whole and errors are noise alone."""
    rng = np.random.default_rng(8)
    sizes = [most, *rng.integers(1, most + 1, users - 1)]
    return Records.from_rows(
        [[(int(rng.integers(2000)), int(rng.integers(2))) for _ in range(n)] for n in sizes], items=2000
    )


@pytest.mark.parametrize(
    ("name", "most", "expected"), [("sra", 10, 800.0), ("sra", 30, 7200.0), ("hpa", 10, 987.7), ("hpa", 30, 8888.9)]
)
def test_noise_alone(name: str, most: int, expected: float) -> None:
    """2 (l/ε1)² at ε = 1: the numbers that facts give for l = 10 and l = 30, items and edges alike.

    (Lap²) has a standard deviation of √5 times its mean; five standard errors.
    """
    data = whole_users(50, most)
    rng = np.random.default_rng(9)
    mechanism = dpbench.mechanism(name, l=most)
    releases = [mechanism.release(data, 1.0, rng) for _ in range(20)]
    for errors in ([r.counts - data.counts for r in releases], [r.edges - data.edges for r in releases]):
        squares = np.square(errors)
        assert squares.mean() == pytest.approx(expected, rel=5 * np.sqrt(5 / squares.size) + 1e-4)


def test_lpa_has_8_m_squared() -> None:
    """LPA's mean squared error at ε = 1 is 2 (M / 0.5)² = 8 M², for items and edges; five standard errors."""
    data = whole_users(40, 25)
    rng = np.random.default_rng(10)
    releases = [dpbench.mechanism("lpa").release(data, 1.0, rng) for _ in range(20)]
    for errors in ([r.counts - data.counts for r in releases], [r.edges - data.edges for r in releases]):
        squares = np.square(errors)
        assert squares.mean() == pytest.approx(8 * 25**2, rel=5 * np.sqrt(5 / squares.size))
    assert dpbench.mechanism("lpa").expected_error(data, 1.0) == 2 * 25


def test_sra_expected_mse_is_what_is_measured() -> None:
    """The closed form knows repeats and users of all sizes; five standard errors of the mean over trials."""
    mechanism = dpbench.mechanism("sra", **PARAMETERS["sra"])
    items = np.square(ours("sra")[:, :M] - DATA.counts).mean(axis=1)
    edges = np.square(ours("sra")[:, M:] - DATA.edges.ravel()).mean(axis=1)
    for squares, expected in (
        (items, mechanism.expected_mse(DATA, EPSILON)),
        (edges, mechanism.expected_edge_mse(DATA, EPSILON)),
    ):
        assert abs(squares.mean() - expected) < 5 * squares.std() / np.sqrt(TRIALS)


@pytest.mark.parametrize("name", ["lpa", "fpa", "gs"])
def test_column_mechanisms_publish_records_in_two_halves(name: str) -> None:
    """A release of records is a release of the item columns and one of the edge columns, with half the budget each."""
    mechanism = dpbench.mechanism(name)
    both = mechanism.release(DATA, EPSILON, np.random.default_rng(3))
    noise = Noise(np.random.default_rng(3))
    items = mechanism.publish(DATA.item_columns(), EPSILON / 2, noise)
    edges = mechanism.publish_columns(DATA.edge_columns(), EPSILON / 2, noise)
    assert both.counts.tolist() == items.counts.tolist()
    assert both.edges.ravel().tolist() == edges.counts.tolist()
    assert both.edges.shape == (M, H)
    assert both.chosen["edge_scale"] == edges.chosen["scale"]


def test_sensitivity_with_and_without_repeats() -> None:
    """FPA's L2 sensitivity is M where a user may hold an item many times, √M where he may not; LPA's L1 is M in both."""
    users = [[0, 1, 2, 3], [1]]
    repeats = Records.from_rows(users, items=9)
    once = Records.from_rows(users, items=9, repeats=False)
    fpa = dpbench.mechanism("fpa", rho=2)
    rng = np.random.default_rng(0)
    assert fpa.release(repeats, 1.0, rng).chosen["scale"] == pytest.approx(np.sqrt(2 * 9) * 4 / 0.5)
    assert fpa.release(once, 1.0, rng).chosen["scale"] == pytest.approx(np.sqrt(2 * 9) * 2 / 0.5)
    assert fpa.release(repeats, 1.0, rng).chosen["edge_scale"] == fpa.release(repeats, 1.0, rng).chosen["scale"]
    assert dpbench.mechanism("lpa").release(once, 1.0, rng).chosen["scale"] == 8
    more_records_than_items = Records.from_rows([[0] * 30], items=4)
    assert dpbench.mechanism("gs", w=1).release(more_records_than_items, 1.0, rng).chosen["scale"] == 30 / (0.5 * 0.5)


def test_a_declared_bound_counts_for_records() -> None:
    assert dpbench.mechanism("lpa", bound=50).release(DATA, 1.0, np.random.default_rng(0)).chosen["scale"] == 100
    with pytest.raises(UserError, match="bound=2 is below the largest row 13"):
        dpbench.mechanism("lpa", bound=2).release(DATA, 1.0, np.random.default_rng(0))


def test_budgets_and_d() -> None:
    rng = np.random.default_rng(0)
    release = dpbench.mechanism("hpa", l=4).release(DATA, 1.0, rng)
    assert release.diagnostics["d"] == 1  # the smallest user is empty: exact, so not among what is published
    assert "d" not in release.chosen
    declared = dpbench.mechanism("hpa", l=4, d=2).release(DATA, 1.0, rng)
    assert declared.chosen["d"] == 2
    assert "d" not in declared.diagnostics
    sample = release.sample
    assert (sample.epsilon_1, sample.epsilon_2) == pytest.approx((0.45, 0.45))
    assert release.diagnostics["sample"] == sample.records == sum(min(len(u), 4) for u in USERS)
    assert sample.contexts.sum() == sample.records
    uneven = dpbench.mechanism("sra", item_share=0.8).release(DATA, 1.0, rng)
    assert (uneven.sample.epsilon_1, uneven.sample.epsilon_2) == pytest.approx((0.8, 0.2))
    assert dpbench.mechanism("hpa").not_private()
    assert not dpbench.mechanism("hpa", d=1).not_private()
    assert not dpbench.mechanism("sra").not_private()


def test_binary_data_gets_the_edges_budget_too() -> None:
    """On column counts there are no edges: 1 and 0.9 of the budget are the items'."""
    data = Incidence.from_rows([[0, 1, 2], [2]], columns=2000)
    rng = np.random.default_rng(0)
    for name, scale in (("sra", 10.0), ("hpa", 10 / 0.9)):
        release = dpbench.mechanism(name).release(data, 1.0, rng)
        assert release.edges is None
        assert release.chosen["scale"] == pytest.approx(scale)
        noise = np.abs(release.counts - data.counts).mean()
        assert noise == pytest.approx(scale, rel=5 / np.sqrt(2000))


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("sra", {"l": 0}, "l=0"),
        ("sra", {"l": 2.5}, "whole"),
        ("sra", {"item_share": 1.0}, "item_share=1.0"),
        ("hpa", {"d": -1}, "d=-1"),
        ("hpa", {"item_share": 0.9}, "between 0 and 0.9"),
        ("hpa", {"popularity_share": 0}, "popularity_share=0"),
        ("hpa", {"ll": 3}, "did you mean 'l'"),
    ],
)
def test_bad_parameters(name: str, parameters: dict, message: str) -> None:
    with pytest.raises(UserError, match=message):
        dpbench.mechanism(name, **parameters)
