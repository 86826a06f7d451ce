"""Audit of the modern mechanisms: planted faults are found, and named with their step. (Thresholds: test_closed_form.py.)

Replay computes; only the comparison of draws with their laws is statistical (false alarm 1e-9 per step).
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import dpbench
from dpbench import Incidence
from dpbench.auditing.neighbours import Neighbours
from dpbench.auditing.replay import audit_by_replay
from dpbench.mechanisms.baselines import selection
from dpbench.mechanisms.baselines._gumbel import GumbelRanking
from dpbench.mechanisms.histograms import _partition as partition
from dpbench.mechanisms.histograms import alp

from support.planting import altered, found, less, replaced, without

FAULTS = [
    ("knorm_counts", {}, "ball", "ball"),
    ("gaussian_correlated", {}, "gaussian", "gaussian"),
    ("gaussian_correlated", {"bound": 3}, "gaussian", "gaussian"),
    ("clipped_laplace", {"m": 2}, "laplace", "laplace"),
    ("clipped_gaussian", {"m": 2}, "gaussian", "gaussian"),
    ("gaussian_sketch", {"rows": 3, "buckets": 16}, "buckets", "gaussian 'buckets'"),
    ("hb", {}, "level 0", "laplace 'level 0'"),
    ("p_identity", {}, "strategy", "laplace 'strategy'"),
    ("sqrt_matrix", {}, "strategy", "gaussian 'strategy'"),
    ("privelet", {}, "coefficients", "laplace 'coefficients'"),
    ("noise_first", {}, "cells", "laplace 'cells'"),
    ("mst", {}, "cells", "gaussian 'cells'"),
]
planted = pytest.mark.parametrize(("name", "parameters", "step", "named"), FAULTS, ids=lambda v: str(v) if v else "")


@planted
def test_a_twentieth_less_noise_is_found(name: str, parameters: dict, step: str, named: str) -> None:
    finding = found(altered(dpbench.mechanism(name, **parameters), step, less(1.05)), pairs=80)
    assert (finding.verdict, finding.step) == ("violated", named)
    assert 1 < finding.loss < 1.2
    assert found(altered(dpbench.mechanism(name, **parameters), step, less(1 / 1.05)), pairs=20).verdict == "holds"


@planted
def test_missing_noise_is_found(name: str, parameters: dict, step: str, named: str) -> None:
    finding = found(altered(dpbench.mechanism(name, **parameters), step, without))
    assert (finding.verdict, finding.loss) == ("violated", np.inf)


@pytest.mark.parametrize("name", ["clipped_laplace", "clipped_gaussian"])
def test_a_choice_that_spends_a_half_more_is_found(name: str) -> None:
    mechanism = dpbench.mechanism(name, bound=60, share=0.5)
    assert found(altered(mechanism, "choose", less(2.1)), pairs=17).verdict == "violated"


@pytest.mark.parametrize("name", ["clipped_laplace", "clipped_gaussian"])
def test_a_choice_without_noise_is_found_where_one_row_changes_it(name: str) -> None:
    """One more of many full rows makes the larger m the better one: somewhere along these."""
    rows = [Incidence.from_rows([[0, 1]] * n, columns=2) for n in range(40)]
    own = tuple(Neighbours(f"{n + 1} full rows", *both) for n, both in enumerate(itertools.pairwise(rows)))
    sound = dpbench.mechanism(name)
    finding = audit_by_replay(sound, 1.0, 0, own=own)
    assert finding is not None
    assert finding.verdict == "holds"
    finding = audit_by_replay(altered(sound, "choose", without), 1.0, 0, own=own)
    assert finding is not None
    assert (finding.verdict, finding.loss) == ("violated", np.inf)


def test_a_cap_is_needed_by_correlated_noise() -> None:
    """Without it, noise made for rows of all columns does not cover shorter ones."""
    mechanism = dpbench.mechanism("gaussian_correlated")

    def deviations(original, self, columns, epsilon):
        d, sigma = columns.columns, self.unit_sigma(columns, epsilon)
        k = 0.95 * d  # above (d + √d)/2
        v1, v2 = k / np.sqrt(d), np.sqrt(k * (d - k) / d)
        length = v1 + v2 * np.sqrt(d - 1)
        along, across = sigma**2 * length * v1, sigma**2 * length * v2 / np.sqrt(max(1, d - 1))
        return float(np.sqrt(across)), float(np.sqrt(max(0.0, along - across) / d))

    assert found(replaced(mechanism, deviations=deviations)).verdict == "violated"


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("gumbel_topk", {"k": 2}),
        ("gumbel_topk_delta", {"k": 1}),
        ("gumbel_topk_unknown", {"k": 1, "reach": 2}),
        ("canonical_topk", {"k": 2}),
        ("alp", {"largest": 8, "buckets": 3}),
        ("alp", {"largest": 100, "buckets": 40, "k": 3}),
        ("dawa", {"share": 0.01}),
    ],
    ids=str,
)
def test_a_budget_that_is_spent_twenty_percent_over_is_found(name: str, parameters: dict) -> None:
    over = replaced(
        dpbench.mechanism(name, **parameters),
        publish=lambda publish, self, data, epsilon, noise: publish(self, data, 1.2 * epsilon, noise),
    )
    finding = found(over, pairs=50)
    assert (finding.verdict, finding.method) == ("violated", "enumeration")
    assert 1.05 < finding.loss <= 1.2 + 1e-9


def test_a_stop_mark_that_is_too_low_is_found() -> None:
    """A column that only the new row holds is then named with more than δ."""

    class Lower(GumbelRanking):
        def __init__(self, columns, counts, k, scale, stop) -> None:
            super().__init__(columns, counts, k, scale, stop - scale)

    def publish(original, self, data, epsilon, noise):
        class Through:
            def draw(self, law, **given):
                return noise.draw(Lower(law.columns, law.counts, law.k, law.scale, law.stop), **given)

        return original(self, data, epsilon, Through())

    sound = dpbench.mechanism("gumbel_topk_unknown", k=1, reach=1)
    assert found(sound).verdict == "holds"
    assert found(replaced(sound, publish=publish)).verdict == "violated"


def test_a_domain_whose_threshold_is_too_low_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its two parts of δ are seldom used up together, so the threshold may fall by 0.8 before more than δ is lost."""
    sound = dpbench.mechanism("discovery_topk", k=1, bound=3, delta=0.01)
    assert found(sound).verdict == "holds"
    right = selection.discovery_noise
    monkeypatch.setattr(selection, "discovery_noise", lambda *given: (right(*given)[0], right(*given)[1] - 1.0))
    assert found(sound).verdict == "violated"


# Draws that do not follow the law that is stated.


def test_rankings_with_less_noise_than_stated_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(GumbelRanking, "draw", lambda self, rng: np.argsort(-self.counts, kind="stable")[: self.k])
    finding = found(dpbench.mechanism("gumbel_topk", k=2))
    assert finding.verdict == "violated"
    assert "do not follow" in finding.reason


def test_partitions_with_less_noise_are_found_by_law_and_by_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of up to three cells exactly; of more, the bound says no more than that it is not known to hold."""
    right = partition.scale_for
    monkeypatch.setattr(partition, "scale_for", lambda length, n, epsilon: right(length, n, epsilon) / 3)
    finding = found(dpbench.mechanism("dawa", share=0.5))
    assert (finding.verdict, finding.at_most) == ("violated", False)
    monkeypatch.setattr(partition, "scale_for", lambda length, n, epsilon: right(length, n, epsilon) / 1.05)
    finding = found(dpbench.mechanism("dawa", share=0.5))
    assert (finding.verdict, finding.at_most) == ("inconclusive", True)
    assert "at most 1.02" in finding.reason


def test_tables_whose_bits_flip_too_seldom_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    right = alp.flip_probability
    monkeypatch.setattr(alp, "flip_probability", lambda alpha, epsilon: 0.8 * right(alpha, epsilon))
    for parameters in ({"largest": 8, "buckets": 3}, {"largest": 100, "buckets": 40}, {}):
        assert found(dpbench.mechanism("alp", **parameters), pairs=50).verdict == "violated"


def test_a_noisy_maximum_of_a_tree_moves_by_k() -> None:
    """Were it one, as of cells, a fiftieth of ε would be spent twice."""
    mechanism = dpbench.mechanism("alp", k=2, transform="dyadic", buckets=6)
    assert found(mechanism, pairs=40).verdict == "holds"
    assert found(altered(mechanism, "largest", less(4)), pairs=40).verdict == "violated"


# AIM: many small choices beside Gaussian noise.


def unpaid(original: Any, self: Any, rho: float) -> tuple[float, float]:
    """The measurement gets the whole budget of a round, and the choice comes on top."""
    return 1 / np.sqrt(2 * rho), original(self, rho)[1]


def forgotten(original: Any, self: Any, data: Any, epsilon: float) -> float:
    """Every round may spend the budget of two."""
    return 2 * original(self, data, epsilon)


LONG = [pytest.param(parameters, marks=pytest.mark.slow) for parameters in ({}, {"delta": 0.01})]
"""With as many rounds as AIM chooses, which takes three times as long."""


@pytest.mark.parametrize("parameters", [{"rounds": 4, "share": 0.5}, {"rounds": 4, "share": 0.5, "delta": 0.01}, *LONG])
def test_faults_in_the_budget_of_aim_are_found(parameters: dict[str, Any]) -> None:
    mechanism = dpbench.mechanism("aim", **parameters)
    assert found(mechanism, pairs=34).verdict == "holds"
    assert found(replaced(mechanism, split=unpaid), pairs=34).verdict == "violated"
    assert found(replaced(mechanism, zcdp=forgotten), pairs=34).verdict == "violated"
    less_noise = mechanism
    for step in ("rows", "columns", "cells"):
        less_noise = altered(less_noise, step, less(1.2))
    finding = found(less_noise, pairs=34)
    assert finding.verdict == "violated"
    assert 1.0 < finding.loss < 1.25
    assert found(altered(mechanism, "choice", less(4)), pairs=34).verdict == "violated"
    for step in ("rows", "columns", "cells", "choice"):
        finding = found(altered(mechanism, step, without), pairs=34)
        assert (finding.verdict, finding.loss) == ("violated", np.inf), step
