"""Sensitivity control: the quality function, the private choice of θ and α, the limiting of rows, the noise."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

import dpbench
from dpbench import Incidence, Noise, Records
from dpbench.errors import UserError
from dpbench.mechanisms.sensitivity._limits import (
    capped_total,
    capped_totals,
    normalised_counts,
    normalised_parts,
    sampled_counts,
    scaled_truncation,
)
from dpbench.numerics.exponential import probabilities

from naive import dpsense as naive


def random_rows(rng, n, d, heavy=True):
    sizes = np.minimum(rng.zipf(1.5, n), d) if heavy else rng.integers(0, d + 1, n)
    return [rng.choice(d, size, replace=False) for size in sizes]


ROWS = random_rows(np.random.default_rng(5), 60, 12, heavy=False)
DATA = Incidence.from_rows(ROWS, columns=12)
DENSE = naive.matrix(ROWS, 12)


def test_quality_from_the_histogram_is_the_definition():
    rng = np.random.default_rng(1)
    for heavy in (True, False):
        rows = random_rows(rng, 40, 15, heavy)
        data, dense = Incidence.from_rows(rows, columns=15), naive.matrix(rows, 15)
        mechanism = dpbench.mechanism("dpsense", share=0.3, bound=15)
        ours = mechanism.quality(data, 2.0)
        theirs = [naive.quality(dense, theta, 1.4) for theta in range(1, 16)]
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def test_best_theta_is_the_d_over_eps_th_largest_row():
    rng = np.random.default_rng(2)
    for _ in range(20):
        data = Incidence.from_rows(random_rows(rng, 300, 40), columns=40)
        epsilon = float(rng.uniform(0.5, 4))
        mechanism = dpbench.mechanism("dpsense")
        eps_p = epsilon / 2
        place = math.ceil(40 / eps_p)
        largest_first = np.sort(data.row_sizes)[::-1]
        expected = max(1, largest_first[place - 1]) if place <= 300 else 1
        assert 1 + np.argmax(mechanism.quality(data, epsilon)) == expected


@pytest.mark.parametrize("bound", [5, 20])
def test_quality_of_pairs_is_the_definition_on_either_side_of_the_largest_row(bound):
    assert 5 < DATA.largest_row < 20
    mechanism = dpbench.mechanism("dpsense_s", alphas=3, bound=bound)
    thetas = range(1, bound + 1)
    theirs = [[naive.quality_s(DENSE, theta, alpha, 1.5) for alpha in (1.0, 1.5, 2.0)] for theta in thetas]
    np.testing.assert_allclose(mechanism.quality(DATA, 3.0), theirs, rtol=1e-12)


def test_histogram_survives_empty_data_and_rows_above_the_end():
    assert capped_total(np.array([0, 0]), 3).tolist() == [0, 0, 0]
    assert capped_total(np.array([5, 1, 0]), 3).tolist() == [2, 3, 4]


def test_scaled_truncation_is_the_definition():
    rng = np.random.default_rng(3)
    for n, d in ((30, 10), (8, 25), (1, 4), (0, 3)):
        rows = random_rows(rng, n, d, heavy=False)
        data, dense = Incidence.from_rows(rows, columns=d), naive.matrix(rows, d)
        thetas, alphas = np.array([1, 2, 3, d]), np.array([1.0, 1.25, 1.5, 2.0])
        by_size = np.argsort(data.row_sizes)[::-1]
        ours = scaled_truncation(data.indptr, data.indices, data.counts, by_size, thetas, alphas)
        theirs = [[-naive.quality_s(dense, t, a, np.inf) for a in alphas] for t in thetas]
        np.testing.assert_allclose(ours, theirs, atol=1e-12)


def test_scaled_truncation_keeps_its_digits_on_larger_data():
    """Three thousand heavy-tailed rows, every θ and α at once, against one pass over the data for each of some θ."""
    rng = np.random.default_rng(14)
    data = Incidence.from_rows(random_rows(rng, 3000, 800), columns=800)
    alphas, by_size = np.linspace(1, 2, 11), np.argsort(data.row_sizes)[::-1]
    ours = scaled_truncation(data.indptr, data.indices, data.counts, by_size, np.arange(1, 801), alphas)
    for theta in (1, 2, 7, 60, 500, 799, 800):
        limited = normalised_counts(data.indptr, data.indices, data.counts, theta)
        theirs = np.abs(data.counts - alphas[:, None] * limited).mean(axis=1)
        np.testing.assert_allclose(ours[theta - 1], theirs, rtol=1e-10, atol=1e-10)


def chi_square(draws, chances):
    """p-value of the drawn counts; outcomes expected fewer than 5 times are pooled."""
    expected = np.asarray(chances) * np.sum(draws)
    rare = expected < 5
    observed = np.append(np.asarray(draws)[~rare], np.asarray(draws)[rare].sum())
    expected = np.append(expected[~rare], expected[rare].sum())
    if expected[-1] == 0:
        assert observed[-1] == 0
        observed, expected = observed[:-1], expected[:-1]
    return stats.chisquare(observed, expected).pvalue


@pytest.mark.parametrize("share", [0.25, 0.5])
def test_theta_is_drawn_with_the_probabilities_of_its_quality(share):
    """False-alarm rate 1e-4 a case; 12000 draws see an exponent that is off by a factor 1.1 (or the factor 2)."""
    mechanism, rng, epsilon = dpbench.mechanism("dpsense", share=share), np.random.default_rng(11), 3.0
    chances = naive.softmax([share * epsilon * naive.quality(DENSE, t, (1 - share) * epsilon) for t in range(1, 13)])
    scores = mechanism.scores(DATA, epsilon)
    np.testing.assert_allclose(probabilities(scores), chances, rtol=1e-10)
    published = [mechanism.release(DATA, epsilon, rng).chosen["theta"] for _ in range(12000)]
    assert chi_square(np.bincount(published, minlength=13)[1:], chances) > 1e-4


def test_theta_and_alpha_are_drawn_with_the_probabilities_of_their_quality():
    """False-alarm rate 1e-4."""
    mechanism, rng, epsilon = dpbench.mechanism("dpsense_s", alphas=3), np.random.default_rng(12), 4.0
    pairs = list(itertools.product(range(1, 13), (1.0, 1.5, 2.0)))
    chances = naive.softmax([naive.quality_s(DENSE, t, a, epsilon / 2) for t, a in pairs])  # ε_c / 2 = 1
    draws = np.zeros(len(pairs))
    for _ in range(8000):
        chosen = mechanism.release(DATA, epsilon, rng).chosen
        draws[pairs.index((chosen["theta"], chosen["alpha"]))] += 1
    assert chi_square(draws, chances) > 1e-4


@pytest.mark.parametrize("tight", [False, True])
@pytest.mark.parametrize("name", ["dpsense", "dpsense_s"])
def test_the_choice_is_private_for_every_added_row(name, tight):
    """Exact: no outcome's probability moves by more than a factor exp(ε_c), whatever row joins, those above the bound
    included: only DPSense-S with its tight sensitivity needs rows to keep to it, and refuses others."""
    d, bound = 6, 4
    mechanism = dpbench.mechanism(name, bound=bound, tight=tight, share=0.5)
    needs_it = tight and name == "dpsense_s"
    worst = largest_move(mechanism, d, bound if needs_it else d)
    assert worst <= 1.0 + 1e-9
    if tight and name == "dpsense":
        assert worst > 0.3  # the tight variant comes near its budget; a lost division would pass the line above
    full = Incidence.from_rows([range(d)], columns=d)
    assert bool(mechanism.unfit(full)) == needs_it


def test_rows_above_the_bound_would_break_the_tight_choice():
    """Why it refuses them: a full row moves all 20 columns, up where α = 1 and down where α = 2."""
    mechanism = dpbench.mechanism("dpsense_s", bound=2, tight=True)
    small = [[j] for j in range(20)] * 3
    rows = [*small, range(20)]
    before, after = (
        probabilities(mechanism.scores(Incidence.from_rows(r, columns=20), 4.0).ravel()) for r in (small, rows)
    )
    assert np.abs(np.log(after / before)).max() > 4.0  # the choice may spend 2
    message = "bound=2 is below the largest row 20: the tight sensitivity of the choice would not cover it"
    assert mechanism.unfit(Incidence.from_rows(rows, columns=20)) == message


def largest_move(mechanism, d, largest):
    """The largest change of the logarithm of an outcome's probability when a row of up to `largest` ones joins."""
    rng, worst = np.random.default_rng(4), 0.0
    for _ in range(6):
        rows = [rng.choice(d, rng.integers(0, largest + 1), replace=False) for _ in range(rng.integers(0, 6))]
        before = probabilities(mechanism.scores(Incidence.from_rows(rows, columns=d), 2.0).ravel())
        for size in range(largest + 1):
            for row in itertools.combinations(range(d), size):
                after = probabilities(mechanism.scores(Incidence.from_rows([*rows, row], columns=d), 2.0).ravel())
                worst = max(worst, np.abs(np.log(after / before)).max())
    return worst


def test_limited_counts_are_the_definition():
    for theta in range(1, 13):
        ours = normalised_counts(DATA.indptr, DATA.indices, DATA.counts, theta)
        np.testing.assert_allclose(ours, naive.normalised(DENSE, theta).sum(axis=0), atol=1e-12)


def test_sampling_keeps_theta_of_a_row_each_subset_alike():
    """Chi-square over all 10 subsets; false-alarm rate 1e-4."""
    data, rng = Incidence.from_rows([[0, 1, 2, 3, 4], [5]], columns=6), np.random.default_rng(6)
    subsets = dict.fromkeys(itertools.combinations(range(5), 2), 0)
    for _ in range(5000):
        counts = sampled_counts(data.indptr, data.indices, data.counts, 2, rng)
        assert counts[5] == 1
        subsets[tuple(np.flatnonzero(counts[:5]))] += 1
    assert stats.chisquare(list(subsets.values())).pvalue > 1e-4


@pytest.mark.parametrize("limit", ["normalise", "sample"])
def test_dpsense_agrees_with_the_naive_one_in_distribution(limit):
    """Two-sample Kolmogorov-Smirnov on a count and on the total; false-alarm rate 2e-4 a case."""
    rng, mechanism = np.random.default_rng(7), dpbench.mechanism("dpsense", limit=limit)
    ours = np.array([mechanism.release(DATA, 2.0, rng).counts for _ in range(3000)])
    theirs = np.array([naive.dpsense(DENSE, 2.0, 0.5, limit, rng) for _ in range(600)])
    for statistic in (lambda x: x[:, 0], lambda x: x.sum(axis=1)):
        assert stats.ks_2samp(statistic(ours), statistic(theirs)).pvalue > 1e-4


def test_dpsense_s_agrees_with_the_naive_one_in_distribution():
    """Two-sample Kolmogorov-Smirnov; false-alarm rate 2e-4."""
    rng, mechanism = np.random.default_rng(8), dpbench.mechanism("dpsense_s", alphas=3)
    small = Incidence.from_rows(ROWS[:15], columns=12)
    ours = np.array([mechanism.release(small, 3.0, rng).counts for _ in range(4000)])
    dense = naive.matrix(ROWS[:15], 12)
    theirs = np.array([naive.dpsense_s(dense, 3.0, 0.5, (1.0, 1.5, 2.0), rng) for _ in range(300)])
    for statistic in (lambda x: x[:, 0], lambda x: x.sum(axis=1)):
        assert stats.ks_2samp(statistic(ours), statistic(theirs)).pvalue > 1e-4


EXPECTED = [("dpsense", p) for p in ({}, {"theta": 3}, {"bound": 3})] + [("dpsense_s", p) for p in ({}, {"bound": 3})]


@pytest.mark.parametrize(("name", "parameters"), EXPECTED)
def test_error_is_the_expected_one(name, parameters):
    """A normal interval of 4 standard errors, false-alarm rate 6e-5, about 2 % wide."""
    mechanism, rng = dpbench.mechanism(name, **parameters), np.random.default_rng(9)
    errors = [np.abs(mechanism.release(DATA, 2.0, rng).counts - DATA.counts).mean() for _ in range(6000)]
    spread = np.std(errors) / math.sqrt(len(errors))
    assert abs(np.mean(errors) - mechanism.expected_error(DATA, 2.0)) < 4 * spread
    assert 4 * spread < 0.05 * np.mean(errors)


def test_fixed_theta_spends_the_whole_budget_on_counts():
    """Kolmogorov-Smirnov against Lap(θ/ε), false-alarm rate 1e-4, and its scale within four standard errors, 6e-5."""
    mechanism, rng = dpbench.mechanism("dpsense", theta=2), np.random.default_rng(10)
    limited = normalised_counts(DATA.indptr, DATA.indices, DATA.counts, 2)
    noise = np.concatenate([mechanism.release(DATA, 0.5, rng).counts - limited for _ in range(2000)])
    assert stats.kstest(noise, stats.laplace(scale=4).cdf).pvalue > 1e-4
    assert abs(np.abs(noise).mean() / 4 - 1) < 4 / math.sqrt(noise.size)
    assert mechanism.not_private() == ""


def test_a_million_columns_and_extreme_scores_are_safe():
    data = Incidence.from_rows([range(3000), range(10), [], [7]], columns=2_000_000)
    rng = np.random.default_rng(13)
    for name in ("dpsense", "dpsense_s"):
        for parameters in ({}, {"tight": True}):
            for epsilon in (1e-6, 1.0, 1e6):
                release = dpbench.mechanism(name, **parameters).release(data, epsilon, rng)
                assert np.isfinite(release.counts).all()
                assert 1 <= release.chosen["theta"] <= 3000
    scores = np.array([-1e300, 0.0, -1e300])
    assert Noise(rng).choose(scores, epsilon=1.0, sensitivity=1.0, monotone=True) == 1
    assert probabilities(np.array([-1e300, 1e4, 1e4])).tolist() == [0.0, 0.5, 0.5]


def test_empty_data_is_published():
    data = Incidence.from_rows([[], []], columns=3)
    for name in ("dpsense", "dpsense_s"):
        assert np.isfinite(dpbench.mechanism(name).release(data, 1.0, np.random.default_rng(1)).counts).all()


def test_what_is_not_private_says_so():
    assert "bound" in dpbench.mechanism("dpsense").not_private()
    assert dpbench.mechanism("dpsense_s", bound=20).not_private() == ""


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("dpsense", {"share": 1.0}, "share=1.0"),
        ("dpsense", {"share": 0}, "share=0"),
        ("dpsense", {"limit": "normalize"}, "normalise"),
        ("dpsense", {"theta": 0}, "theta=0"),
        ("dpsense_s", {"alpha_max": 0.5}, "alpha_max=0.5"),
        ("dpsense_s", {"alphas": 2.5}, "alphas=2.5"),
    ],
)
def test_wrong_parameters_are_named(name, parameters, message):
    with pytest.raises(UserError, match=message):
        dpbench.mechanism(name, **parameters)


# Data that are not binary and a θ that is not whole (Section 4.4), against dense matrices and plain loops.


TRIALS, LEVEL, D = 2000, 1e-4, 6  # Kolmogorov-Smirnov at 1e-4 per comparison, below 1e-2 for all together


def records(users: int, largest: int, seed: int) -> tuple[Records, np.ndarray]:
    """Users with repeats, and the matrix of how often each of them has each item."""
    rng = np.random.default_rng(seed)
    rows = [rng.choice(D, size, p=np.arange(1, D + 1) / 21).tolist() for size in rng.integers(0, largest + 1, users)]
    dense = np.array([np.bincount(row, minlength=D) if row else np.zeros(D) for row in rows], dtype=float)
    return Records.from_rows(rows, items=D, contexts=1), dense


WEIGHTED, WEIGHTED_DENSE = records(40, 15, 3)


@pytest.mark.parametrize("theta", [0.3, 1, 2.5, 7, 40])
def test_limited_counts_are_those_of_scaled_rows(theta: float) -> None:
    columns = WEIGHTED.item_columns()
    theirs = naive.normalised(WEIGHTED_DENSE, theta).sum(axis=0)
    np.testing.assert_allclose(
        normalised_counts(columns.indptr, columns.indices, columns.counts, theta), theirs, rtol=1e-12
    )
    parts = normalised_parts(columns.indptr, columns.indices, columns.counts, theta)
    assert (parts <= theirs + 1e-9).all()  # rounded down, so that a row never moves them by more than θ
    np.testing.assert_allclose(parts, theirs, atol=WEIGHTED_DENSE.sum() * 2.0**-24)


def test_totals_of_real_and_whole_thresholds_agree_with_the_definition() -> None:
    sizes = WEIGHTED.user_sizes
    thetas = np.array([0.1, 0.99, 1.0, 1.5, 7.25, 15.0, 30.5])
    expected = [sum(min(size, theta) for size in sizes.tolist()) for theta in thetas]
    np.testing.assert_allclose(capped_totals(sizes, thetas), expected, rtol=1e-12)
    assert (capped_totals(sizes, np.arange(1, 16)) == capped_total(sizes, 15)).all()


@pytest.mark.parametrize("step", [1.0, 0.5])
def test_quality_and_choice_are_the_definition(step: float) -> None:
    mechanism, columns = dpbench.mechanism("dpsense", share=0.3, bound=15, step=step), WEIGHTED.item_columns()
    thetas = step * np.arange(1, int(15 / step) + 1)
    theirs = [naive.quality(WEIGHTED_DENSE, theta, 1.4) for theta in thetas]
    np.testing.assert_allclose(mechanism.quality(columns, 2.0), theirs, rtol=1e-10)
    delta_q = 15 / D  # a user of 15 records moves the average of 6 columns by 2.5, not by 1
    expected = naive.softmax([0.6 * q / delta_q for q in theirs])
    chances = {theta: chance for chance, theta, _ in mechanism.choices(columns, 2.0)}
    np.testing.assert_allclose([chances[theta] for theta in thetas], expected, rtol=1e-9)


@pytest.mark.parametrize("parameters", [{"theta": 2.5}, {"bound": 15, "step": 0.5}, {"bound": 15}])
def test_same_law_as_the_definition(parameters: dict[str, float]) -> None:
    """Every count of 2000 releases; with a planted tenth more noise the smallest p-value is below 1e-4."""
    mechanism, columns, rng = (
        dpbench.mechanism("dpsense", **parameters),
        WEIGHTED.item_columns(),
        np.random.default_rng(1),
    )
    ours = np.array([mechanism.publish_columns(columns, 2.0, Noise(rng)).counts for _ in range(TRIALS)])

    def theirs(seed: int, fault: float = 1.0) -> np.ndarray:
        draws = np.random.default_rng(seed)
        step, eps_p = parameters.get("step", 1.0), 2.0 if "theta" in parameters else 1.0
        thetas = [parameters["theta"]] if "theta" in parameters else (step * np.arange(1, int(15 / step) + 1)).tolist()
        chances = naive.softmax([naive.quality(WEIGHTED_DENSE, theta, eps_p) / (15 / D) for theta in thetas])
        limited = {theta: naive.normalised(WEIGHTED_DENSE, theta).sum(axis=0) for theta in thetas}
        picked = draws.choice(len(thetas), TRIALS, p=np.array(chances) / sum(chances))
        return np.array([limited[thetas[i]] + draws.laplace(0, fault * thetas[i] / eps_p, D) for i in picked])

    def smallest(other: np.ndarray) -> float:
        found = [stats.ks_2samp(ours[:, j], other[:, j]).pvalue for j in range(D)]
        spread = [np.abs(each - np.median(each, axis=0)).mean(axis=1) for each in (ours, other)]
        return min(*found, stats.ttest_ind(*spread, equal_var=False).pvalue)

    assert smallest(theirs(2)) > LEVEL
    if "theta" in parameters:
        assert smallest(theirs(2, fault=1.1)) < LEVEL


def test_the_choice_costs_no_more_than_its_share_where_rows_exceed_the_columns() -> None:
    """By listing every outcome on pairs of neighbours. Lemma 1's sensitivity of 1 would lose 2.5 times as much."""
    mechanism, worst = dpbench.mechanism("dpsense", bound=15, step=0.5), 0.0
    for seed in range(20):
        _, dense = records(10, 15, seed)
        rows = [np.repeat(np.arange(D), row.astype(int)).tolist() for row in dense]
        more = [*rows, [int(seed % D)] * 15]
        one, other = (Records.from_rows(r, items=D, contexts=1).item_columns() for r in (rows, more))
        chances = [{t: p for p, t, _ in mechanism.choices(data, 1.0)} for data in (one, other)]
        worst = max(
            [worst, *(abs(math.log(chances[0][t] / chances[1][t])) for t in chances[0].keys() & chances[1].keys())]
        )
    assert 0.2 < worst <= 0.5 + 1e-9


def test_the_mean_error_is_the_closed_form_for_a_real_theta() -> None:
    mechanism, columns, rng = dpbench.mechanism("dpsense", theta=0.5), WEIGHTED.item_columns(), np.random.default_rng(4)
    errors = [
        np.abs(mechanism.publish_columns(columns, 2.0, Noise(rng)).counts - columns.counts).mean() for _ in range(3000)
    ]
    expected = mechanism.columns_error(columns, 2.0)
    assert abs(np.mean(errors) - expected) < 5 * np.std(errors) / math.sqrt(len(errors))


def test_what_it_takes() -> None:
    binary = Incidence.from_rows([[0, 1], [1]], columns=2)
    assert "above the largest row" in dpbench.mechanism("dpsense", step=3.0).unfit(binary)
    assert "above the bound" in dpbench.mechanism("dpsense", theta=2.5, bound=2).unfit(binary)
    for wrong in (
        {"step": 0.0},
        {"step": 0.5, "theta": 2.0},
        {"theta": 1.5, "limit": "sample"},
        {"step": 0.5, "limit": "sample"},
    ):
        with pytest.raises(UserError, match=r"is not valid|has no effect"):
            dpbench.mechanism("dpsense", **wrong)
    assert dpbench.mechanism("dpsense", theta=1.5).not_private() == ""
