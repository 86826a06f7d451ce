"""What trials say about a mean: exact intervals for few values, equal values, and several draws of the data."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from dpbench.claims import laws
from dpbench.claims.cells import CellTrials
from dpbench.claims.laws import ConfidenceDistribution
from dpbench.claims.scope import Scope
from dpbench.errors import UserError

from support.verdicts import evaluate


def ends(law: ConfidenceDistribution, error: float = 0.05) -> list[float]:
    return [float(end) for end in law.quantile(np.array([error / 2, 1 - error / 2]))]


@pytest.mark.parametrize(("hits", "trials"), [(0, 20), (1, 20), (7, 10), (10, 10), (199, 200)])
def test_hits_and_misses_have_clopper_and_pearsons_interval(hits: int, trials: int) -> None:
    """Up to the error of 9999 draws: at most 1.5 % of the range."""
    values = np.repeat([0.0, 1.0], [trials - hits, hits])
    low = stats.beta.ppf(0.025, hits, trials - hits + 1) if hits else 0.0
    high = stats.beta.ppf(0.975, hits + 1, trials - hits) if hits < trials else 1.0
    assert ends(laws.of_steps(values, 1.0)) == pytest.approx([low, high], abs=0.015)


def test_equal_values_leave_the_rule_of_three() -> None:
    """In 20 trials a value that has a share of 16.8 % is missed with 2.5 %: so much of the probability may lie elsewhere."""
    left = 1 - 0.025 ** (1 / 20)
    assert ends(laws.of_steps(np.full(20, 0.9), 1.0)) == pytest.approx([0.9 - 0.9 * left, 0.9 + 0.1 * left], abs=0.01)
    assert ends(laws.of_steps(np.full(20, 9.0), 10.0)) == pytest.approx([9 - 9 * left, 9 + left], abs=0.1)


def cell(values: dict[str, list[float]], **labels: object) -> CellTrials:
    return CellTrials("x", {"task": "record_analytics", **labels}, {k: np.array(v) for k, v in values.items()})


def test_what_equal_values_prove_depends_on_the_metric() -> None:
    """A precision may have been another one within its range, an error any other one, unless the claim knows better."""
    same = cell({"precision_at_10": [0.9] * 10, "mse": [0.25] * 10, "chosen.theta": [4.0] * 10})
    assert not same.law("precision_at_10").certain
    assert ends(same.law("precision_at_10"))[0] < 0.7
    assert ends(same.law("mse")) == [-np.inf, np.inf]
    assert same.law("mse", certain=True).certain
    assert ends(same.law("chosen.theta")) == [-np.inf, np.inf]
    assert same.law("chosen.theta", certain=True).certain
    listed = cell({"right": [3.0] * 10, "listed": [10.0] * 10}, task="top_items")
    assert listed.law("listed").certain, "it is declared to hold no noise"
    assert ends(listed.law("right"))[1] == pytest.approx(3 + 7 * (1 - 0.025**0.1), abs=0.1), "at most k = 10"


def test_fine_steps_have_students_interval_within_the_range() -> None:
    values = np.random.default_rng(1).binomial(1000, 0.5, 20) / 1000
    low, high = ends(cell({"precision_at_1000": list(values)}).law("precision_at_1000"))
    assert high - low < 0.03
    assert ends(cell({"precision_at_10": [0.3, 0.5, 0.7, 0.9]}).law("precision_at_10"))[1] <= 1


def seeded(offsets: list[float], trials: int, name: str = "a", factor: float = 1.0) -> CellTrials:
    rng = np.random.default_rng(len(name))
    values = np.concatenate([factor * (1 + offset) + rng.normal(0, 0.001, trials) for offset in offsets])
    seeds = np.repeat(np.arange(len(offsets)), trials)
    return CellTrials(
        name, {"dataset": "d", "mechanism": name}, {"mae": values}, seeds, {f"{name}{i}": trials for i in seeds}
    )


def test_intervals_over_several_draws_include_their_spread() -> None:
    """And what all mechanisms share on a draw cancels in their ratio."""
    offsets = [-0.2, -0.1, 0.0, 0.1, 0.2]
    one, other = seeded(offsets, 20), seeded(offsets, 20, "b", 2.0)
    alone = evaluate("mae(mechanism=a)", Scope([one, other]))
    assert alone.high - alone.low > 2 * 2.776 * np.std(offsets, ddof=1) / np.sqrt(5)
    ratio = evaluate("mae(mechanism=a) / mae(mechanism=b)", Scope([one, other]))
    assert ratio.high - ratio.low < 0.01
    assert one.trials == 20
    assert one.data_seeds == 5


def test_a_printed_run_is_judged_by_the_probability_of_one_as_extreme() -> None:
    """Twice the smaller tail of a binomial, with its interval."""
    rng = np.random.default_rng(4)
    drawn = CellTrials("x", {"mechanism": "hpa"}, {"right": rng.binomial(10, 0.5, 2000).astype(float)})
    for printed, exact in ((8, 2 * stats.binom.sf(7, 10, 0.5)), (2, 2 * stats.binom.cdf(2, 10, 0.5)), (5, 1.0)):
        found = evaluate(f"tail(right(mechanism=hpa), {printed})", Scope([drawn]))
        assert found.low <= exact <= found.high, printed
        assert found.high - found.low < 0.1
    never = evaluate("tail(right(), 11)", Scope([drawn]))
    assert never.value == never.low == 0
    assert 0 < never.high < 0.01, "the rule of three"
    with pytest.raises(UserError, match="expected tail"):
        evaluate("tail(right(), right())", Scope([drawn]))


def test_trials_that_may_not_show_a_rare_disaster() -> None:
    """0.95^59 is the first power of 0.95 below 0.05; a twentieth of trials thirty times worse raises a mean by 2.45."""
    assert [laws.enough(error) for error in (0.05, 0.05 / 12, 0.05 / 40)] == [59, 107, 131]
    values = np.random.default_rng(4).uniform(0.9, 1.1, 30)
    for labels, metric, rise in (
        ({}, "mae", 2.45),
        ({"task": "column_counts"}, "mae", 2.45),
        ({"task": "record_analytics"}, "precision_at_10", 1),  # it has a largest value
        ({}, "seconds", 1),
        ({}, "chosen.theta", 1),
    ):
        cell = CellTrials("a", labels, {metric: values})
        plain, wide = (cell.law(metric, enough=n).quantile(np.array([0.025, 0.975])) for n in (30, 31))
        assert wide == pytest.approx(plain * [1, rise]), (labels, metric)
    expected = CellTrials("a", {}, {"mae": values}, expected=frozenset({"mae"}))
    assert not expected.law("mae", enough=59).widened
