"""DPSense on data that are not binary and with a θ that is not whole (Section 4.4), against dense matrices and plain loops.

Kolmogorov-Smirnov over 2000 releases each at 1e-4 per comparison, below 1e-2 for all together; fixed seeds.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

import dpbench
from dpbench import Incidence, Noise, Records
from dpbench.errors import UserError
from dpbench.mechanisms.sensitivity._limits import capped_total, capped_totals, normalised_counts, normalised_parts

from naive import dpsense as naive

TRIALS, LEVEL, D = 2000, 1e-4, 6


def records(users: int, largest: int, seed: int) -> tuple[Records, np.ndarray]:
    """Users with repeats, and the matrix of how often each of them has each item."""
    rng = np.random.default_rng(seed)
    rows = [rng.choice(D, size, p=np.arange(1, D + 1) / 21).tolist() for size in rng.integers(0, largest + 1, users)]
    dense = np.array([np.bincount(row, minlength=D) if row else np.zeros(D) for row in rows], dtype=float)
    return Records.from_rows(rows, items=D, contexts=1), dense


DATA, DENSE = records(40, 15, 3)


@pytest.mark.parametrize("theta", [0.3, 1, 2.5, 7, 40])
def test_limited_counts_are_those_of_scaled_rows(theta: float) -> None:
    columns = DATA.item_columns()
    theirs = naive.normalised(DENSE, theta).sum(axis=0)
    np.testing.assert_allclose(
        normalised_counts(columns.indptr, columns.indices, columns.counts, theta), theirs, rtol=1e-12
    )
    parts = normalised_parts(columns.indptr, columns.indices, columns.counts, theta)
    assert (parts <= theirs + 1e-9).all()  # rounded down, so that a row never moves them by more than θ
    np.testing.assert_allclose(parts, theirs, atol=DENSE.sum() * 2.0**-24)


def test_totals_of_real_and_whole_thresholds_agree_with_the_definition() -> None:
    sizes = DATA.user_sizes
    thetas = np.array([0.1, 0.99, 1.0, 1.5, 7.25, 15.0, 30.5])
    expected = [sum(min(size, theta) for size in sizes.tolist()) for theta in thetas]
    np.testing.assert_allclose(capped_totals(sizes, thetas), expected, rtol=1e-12)
    assert (capped_totals(sizes, np.arange(1, 16)) == capped_total(sizes, 15)).all()


@pytest.mark.parametrize("step", [1.0, 0.5])
def test_quality_and_choice_are_the_definition(step: float) -> None:
    mechanism, columns = dpbench.mechanism("dpsense", share=0.3, bound=15, step=step), DATA.item_columns()
    thetas = step * np.arange(1, int(15 / step) + 1)
    theirs = [naive.quality(DENSE, theta, 1.4) for theta in thetas]
    np.testing.assert_allclose(mechanism.quality(columns, 2.0), theirs, rtol=1e-10)
    delta_q = 15 / D  # a user of 15 records moves the average of 6 columns by 2.5, not by 1
    expected = naive.softmax([0.6 * q / delta_q for q in theirs])
    chances = {theta: chance for chance, theta, _ in mechanism.choices(columns, 2.0)}
    np.testing.assert_allclose([chances[theta] for theta in thetas], expected, rtol=1e-9)


@pytest.mark.parametrize("parameters", [{"theta": 2.5}, {"bound": 15, "step": 0.5}, {"bound": 15}])
def test_same_law_as_the_definition(parameters: dict[str, float]) -> None:
    """Every count of 2000 releases; with a planted tenth more noise the smallest p-value is below 1e-4."""
    mechanism, columns, rng = dpbench.mechanism("dpsense", **parameters), DATA.item_columns(), np.random.default_rng(1)
    ours = np.array([mechanism.publish_columns(columns, 2.0, Noise(rng)).counts for _ in range(TRIALS)])

    def theirs(seed: int, fault: float = 1.0) -> np.ndarray:
        draws = np.random.default_rng(seed)
        step, eps_p = parameters.get("step", 1.0), 2.0 if "theta" in parameters else 1.0
        thetas = [parameters["theta"]] if "theta" in parameters else (step * np.arange(1, int(15 / step) + 1)).tolist()
        chances = naive.softmax([naive.quality(DENSE, theta, eps_p) / (15 / D) for theta in thetas])
        limited = {theta: naive.normalised(DENSE, theta).sum(axis=0) for theta in thetas}
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
    mechanism, columns, rng = dpbench.mechanism("dpsense", theta=0.5), DATA.item_columns(), np.random.default_rng(4)
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
