"""Closed form: thresholds on non-zero counts. The formula against sums over all outcomes, and planted faults, by their step.

Nothing here is statistical.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from scipy import stats

import dpbench
from dpbench.auditing.closed_form import least_epsilon
from dpbench.mechanisms.histograms import _stability as stability

from naive import histograms as naive
from support.planting import altered, found, less, replaced, without

LAWS = {"gaussian": stats.norm, "laplace": stats.laplace}


@pytest.mark.parametrize("kind", LAWS)
@pytest.mark.parametrize(("new", "moved"), [(0, 1), (1, 0), (1, 1), (0, 2), (2, 0)])
def test_the_least_epsilon_is_that_of_all_outcomes(kind: str, new: int, moved: int) -> None:
    """At the ε found, what all outcomes add up to is δ: summed over the shown values in bins, which tell no more."""
    delta, scale, least = 0.02, 1.5, 7.0
    law = LAWS[kind](scale=scale)
    hidden = new * math.log(law.cdf(least - 1))
    epsilon = least_epsilon(kind, np.full(moved, 1 / scale), hidden, delta)
    if -math.expm1(hidden) > delta:
        assert epsilon == math.inf
        return
    edges = np.concatenate([np.arange(least, 80, 0.02 if moved + new == 1 else 0.08), [np.inf]])
    cells = [naive.shown_cell(0, law.cdf, least, edges)] * new + [naive.shown_cell(40, law.cdf, least, edges)] * moved
    others = [naive.shown_cell(1, law.cdf, least, edges)] * new + [naive.shown_cell(41, law.cdf, least, edges)] * moved
    both = joint(cells), joint(others)
    spent = max(naive.excess(*both, epsilon), naive.excess(*both[::-1], epsilon))
    assert spent <= delta * (1 + 1e-6)
    if epsilon > 0 and not (kind == "laplace" and moved > 1):
        assert spent == pytest.approx(delta, rel=0.02)


def joint(cells: list[np.ndarray]) -> np.ndarray:
    product = np.ones(1)
    for cell in cells:
        product = np.outer(product, cell).ravel()
    return product


@pytest.mark.parametrize(("name", "step"), [("gshm", "gaussian"), ("stability_laplace", "laplace")])
@pytest.mark.parametrize("parameters", [{}, {"k": 3}, {"transform": "dyadic"}], ids=str)
def test_planted_faults_are_found(name: str, step: str, parameters: dict) -> None:
    mechanism = dpbench.mechanism(name, **parameters)
    sound = found(mechanism, pairs=60)
    assert (sound.verdict, sound.method) == ("holds", "closed form")
    assert sound.loss == pytest.approx(1, abs=1e-4)
    noisy = found(altered(mechanism, "nonzeros", less(1.05)), pairs=60)
    assert noisy.verdict == "violated"
    assert noisy.step == f"{step} 'nonzeros'"
    assert found(altered(mechanism, "nonzeros", less(1 / 1.05)), pairs=60).verdict != "holds", "shown too often"
    assert found(altered(mechanism, "nonzeros", without), pairs=60).verdict == "violated"


def replaced_above(mechanism, change):
    """The mechanism with another way from noisy counts to what is shown: it gets the table, the noisy counts and τ."""

    def above(original, self, data, noisy, tau, **chosen):
        return change(original, self, data, noisy, tau, chosen)

    return replaced(mechanism, above=above)


def lower(original, self, data, noisy, tau, chosen):
    return original(self, data, noisy, 0.95 * tau, **chosen)


def by_size(original, self, data, noisy, tau, chosen):
    return original(self, data, noisy, tau + (data.counts.size > 3), **chosen)


def exact_counts(original, self, data, noisy, tau, chosen):
    release = original(self, data, noisy, tau, **chosen)
    return dataclasses.replace(release, weights=self.table(data).values[noisy > 1 + tau].astype(float))


def tells_size(original, self, data, noisy, tau, chosen):
    return original(self, data, noisy, tau, size=data.counts.size, **chosen)


def adds_one(original, self, data, noisy, tau, chosen):
    """The smallest hidden one is shown, too."""
    return original(self, data, np.where(noisy == noisy.min(initial=0), 2 + tau, noisy), tau, **chosen)


@pytest.mark.parametrize("change", [lower, by_size, exact_counts, tells_size, adds_one])
@pytest.mark.parametrize("name", ["gshm", "stability_laplace"])
def test_faults_of_what_is_shown_are_found(name: str, change) -> None:
    finding = found(replaced_above(dpbench.mechanism(name, k=2), change), pairs=60)
    assert (finding.verdict, finding.loss) == ("violated", math.inf)


def test_two_cells_of_one_individual_in_one_range_would_be_shown() -> None:
    """Why k = 1 is wanted of trees: the count of their range is 2, and the threshold hides 1."""
    mechanism = dpbench.mechanism("gshm", delta=0.05, transform="dyadic")
    object.__setattr__(mechanism, "k", 2)
    finding = found(mechanism, pairs=60)
    assert (finding.verdict, finding.loss) == ("violated", math.inf)


def test_the_formula_is_that_of_the_mechanism() -> None:
    """gshm's own δ, for one choice of a: both ways of writing it meet."""
    for k in (1, 2, 5):
        sigma, tau = stability.gaussian_noise(1.0, 1e-3, k)
        log_f = float(stats.norm.logcdf(tau / sigma))
        losses = [least_epsilon("gaussian", np.full(k - a, 1 / sigma), a * log_f, 1e-3) for a in range(k + 1)]
        assert max(losses) == pytest.approx(1, abs=1e-7)
        assert stability.gaussian_delta(1.0, sigma, tau, k) == pytest.approx(1e-3, rel=1e-7)
