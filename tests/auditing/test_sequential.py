"""The sequential test: how often it errs, what it finds, and when it stops.

False alarms: at alpha = 0.05 over 200 seeds, at most the 99.9 % quantile of Bin(200, 0.05); a test that keeps its promise
fails these with a chance of 0.1 % each. Seeds are fixed.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import dpbench
from dpbench.auditing import sequential
from dpbench.auditing.e_process import STAKES, Wealth, grid
from dpbench.auditing.neighbours import Neighbours
from dpbench.auditing.replay import fitting_pairs
from dpbench.auditing.sequential import Candidate, Test, sequential_test
from dpbench.errors import UserError

from support.leaks import ONE, Laplace, Response, Shown

SEEDS = 200
ALPHA = 0.05
MOST_ALARMS = int(binom.ppf(0.999, SEEDS, ALPHA))


class Cheating(Test):
    """Learns from the same draws it then bets on, which would invalidate the test."""

    def _play(self, one: Candidate) -> None:
        before, after = self._draw(one, 100)
        if before:
            one.keep(before, after)
            self._learn(one)
            assert one.learned is not None
            self.wealth.bet(self._terms(one.learned, before, after))


def alarms(test: type[Test], mechanism: Any, *, boosting: bool, draws: int, seeds: int = SEEDS, **options: Any) -> int:
    runs = (
        test(mechanism, [ONE], epsilon=1.0, alpha=ALPHA, draws=draws, seed=seed, boosting=boosting, **options).run()
        for seed in range(seeds)
    )
    return sum(run.rejected for run in runs)


@pytest.mark.parametrize(
    "mechanism", [Response(), pytest.param(Laplace(), marks=pytest.mark.slow)], ids=["response", "laplace"]
)
def test_false_alarms(mechanism: Any) -> None:
    """Both mechanisms use up ε exactly: the first in every bet, the hardest case."""
    assert alarms(Test, mechanism, boosting=False, draws=300) <= MOST_ALARMS


def test_false_alarms_are_seen_when_scores_are_learned_on_the_same_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test above can fail. A cheat bets on everything that looks good."""
    monkeypatch.setattr(sequential, "WORTH", -math.inf)
    assert alarms(Cheating, Laplace(), boosting=False, draws=2000, seeds=15) > 2 * int(binom.ppf(0.999, 15, ALPHA))


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", [Response(), Laplace()], ids=["response", "laplace"])
def test_false_alarms_with_boosting(mechanism: Any) -> None:
    assert alarms(Test, mechanism, boosting=True, draws=1500) <= MOST_ALARMS


@pytest.mark.slow
def test_false_alarms_over_several_pairs_of_a_mechanism_of_ours() -> None:
    mechanism = dpbench.mechanism("geometric")
    found = 0
    for seed in range(SEEDS):
        pairs = list(fitting_pairs(mechanism, 4, seed))
        found += sequential_test(mechanism, pairs, epsilon=1.0, alpha=ALPHA, draws=1000, seed=seed).rejected
    assert found <= MOST_ALARMS


@pytest.mark.slow
def test_false_alarms_of_a_delta_that_is_used_up() -> None:
    assert alarms(Test, Shown(0.05), boosting=True, draws=1500, delta=0.05) <= MOST_ALARMS


def test_wealth_is_a_fair_game_at_its_largest_stake() -> None:
    """Whatever happens, no bet loses everything; on average none wins: E of one factor is 1 where ε is used up."""
    levels = grid(1.0)
    assert min(STAKES) > 0
    assert max(STAKES) < 1
    assert np.all(np.diff(levels) > 0)
    stated = int(np.flatnonzero(levels == 1.0)[0])
    worst, p, q = math.e, math.e / (1 + math.e), 1 / (1 + math.e)
    expected = 0.0
    for first, chance in ((1.0, p), (0.0, 1 - p)):
        for second, other in ((1.0, q), (0.0, 1 - q)):
            wealth = Wealth(levels[stated:], 0.0, 1)
            wealth.bet(np.full((levels.size - stated, 1, 1), first - worst * second))
            assert np.isfinite(wealth.logs).all()
            expected += chance * other * float(np.exp(wealth.logs[0]).mean())
    assert expected == pytest.approx(1.0)


def test_bound_is_the_last_of_an_unbroken_row_of_rejections() -> None:
    wealth = Wealth(np.array([0.5, 1.0, 1.5, 2.0]), 0.0, 1)
    wealth.most = np.log([200.0, 101.0, 5.0, 300.0])
    assert wealth.bound(0.01) == 1.0
    assert wealth.bound(0.001) == 0.0


def test_a_scale_wrong_by_a_tenth_is_found() -> None:
    """Laplace noise too small by 1.1 at ε = 1, alpha = 0.01; here without boosting, which it does not need."""
    found = sequential_test(Laplace(1.1), [ONE], epsilon=1.0, draws=30000, boosting=False, seed=1)
    assert found.rejected
    assert found.reason == f"sure after {found.draws} draws"
    assert 1.0 <= found.loss <= 1.1
    assert found.pair == "0 and 1"
    assert found.event


@pytest.mark.slow
def test_how_many_draws_a_scale_wrong_by_a_tenth_takes() -> None:
    """20 runs: all reject within 40,000 draws, half of them within 12,000 (methods: a median of 5,750 for the best score
    known beforehand), each within a minute."""
    runs = [sequential_test(Laplace(1.1), [ONE], epsilon=1.0, draws=40000, seed=seed) for seed in range(20)]
    assert all(run.rejected for run in runs)
    draws = sorted(run.draws for run in runs)
    print("draws until sure:", draws)
    assert draws[9] <= 12000
    assert max(run.seconds for run in runs) < 60


def test_the_bound_comes_near_the_true_loss_and_stays_below() -> None:
    found = sequential_test(Laplace(2.0), [ONE], epsilon=1.0, draws=6000, boosting=False, until_sure=False)
    assert found.rejected
    assert 1.5 <= found.loss <= 2.0


def test_delta_is_part_of_the_guarantee() -> None:
    """The same draws break ε, and keep (ε, δ)."""
    assert sequential_test(Shown(0.1), [ONE], epsilon=1.0, draws=3000, boosting=False).rejected
    kept = sequential_test(Shown(0.1), [ONE], epsilon=1.0, delta=0.1, draws=3000, boosting=False)
    assert not kept.rejected
    assert sequential_test(Shown(0.1), [ONE], epsilon=1.0, delta=0.02, draws=5000, boosting=False).rejected


def test_the_worst_of_many_pairs_gets_the_draws() -> None:
    same = [Neighbours(f"the same {i}", 0.0, 0.0) for i in range(10)]  # type: ignore[arg-type]
    test = Test(Laplace(1.5), [*same, ONE], epsilon=1.0, draws=8000, boosting=False)
    found = test.run()
    assert found.rejected
    assert found.pair == ONE.name
    assert found.pairs == 11
    drawn = {one.pair.name: one.drawn for one in test.candidates}
    assert drawn[ONE.name] == max(drawn.values())


def test_it_stops_and_says_why() -> None:
    by_draws = sequential_test(Response(), [ONE], epsilon=1.0, draws=300)
    assert (by_draws.rejected, by_draws.draws) == (False, 300)
    assert by_draws.reason == "nothing found in 300 draws, would have found 1.54 times ε"
    by_time = sequential_test(Response(), [ONE], epsilon=1.0, seconds=0.3)
    assert by_time.seconds < 120
    assert "draws, ended by the limit of 0.3 s" in by_time.reason
    with pytest.raises(UserError, match="seconds or draws"):
        sequential_test(Response(), [ONE], epsilon=1.0)


def test_the_same_seed_gives_the_same_draws() -> None:
    one, other = (sequential_test(Laplace(1.5), [ONE], epsilon=1.0, draws=5000, seed=4) for _ in range(2))
    assert (one.draws, one.loss, one.event) == (other.draws, other.loss, other.event)


class TrueOrder(Laplace):
    """Enough noise on both numbers, with the larger one first, by the truth."""

    def release(self, data: float, epsilon: float, rng: np.random.Generator) -> dict[str, float]:
        noisy = {"a": 0.5 + rng.laplace(0.0, 9 / epsilon), "b": data + rng.laplace(0.0, 9 / epsilon)}
        return {name: noisy[name] for name in ("ab" if data < 0.5 else "ba")}


def test_the_order_of_keys_is_part_of_a_release() -> None:
    found = sequential_test(TrueOrder(), [ONE], epsilon=1.0, draws=1000, boosting=False)
    assert found.rejected
    assert "in order" in found.event


class Refuses:
    """Takes no 0."""

    def release(self, data: float, epsilon: float, rng: np.random.Generator) -> float:
        if data == 0:
            raise ValueError("no data")
        return data


class Stumbles(Laplace):
    """Raises more often with the row than without."""

    def release(self, data: float, epsilon: float, rng: np.random.Generator) -> float:
        if data == 1 and rng.random() < 0.3:
            raise ValueError("unlucky")
        return super().release(data, epsilon, rng)


def test_errors() -> None:
    """A pair of which both sides are always refused is left out; an error on one side only, or now and then, is an output."""
    refused = sequential_test(Refuses(), [ONE], epsilon=1.0, draws=300)
    assert refused.rejected
    assert sequential_test(Stumbles(), [ONE], epsilon=1.0, draws=3000, boosting=False).rejected
    nothing = sequential_test(Laplace(), [], epsilon=1.0, draws=300)
    assert (nothing.pairs, nothing.reason) == (0, "there is no pair to test")
