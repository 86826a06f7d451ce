"""Claims decided by computation, and other keys of a claim: each with a case that must fail."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from dpbench.claims import formulas, formulas_sparse
from dpbench.claims.computed import Computed
from dpbench.claims.decide import by_computation
from dpbench.claims.judge import Judge
from dpbench.claims.ledger import ledger
from dpbench.errors import UserError
from dpbench.model.claim import CONTRADICTED, REPRODUCED

from support.verdicts import claim

COMPUTED = [c for c in ledger() if c.compute]


@pytest.mark.parametrize("found", COMPUTED, ids=lambda c: c.id)
def test_the_papers_lemmas_and_formulas_hold(found) -> None:  # type: ignore[no-untyped-def]
    verdict = Judge(Path("nowhere")).verdict(found)
    assert verdict.verdict == (CONTRADICTED if found.basis == "erratum" else REPRODUCED)
    assert verdict.error == 0
    assert "cases" in verdict.where


def test_every_computation_is_a_claim() -> None:
    assert {c.compute for c in COMPUTED} == set(formulas.COMPUTATIONS)


def test_a_wrong_lemma_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Groups that are one column too small, a rate that is twice as large, noise without its bias: each is noticed."""
    from dpbench.mechanisms.gs import _grouping, _sampling

    lemma = claim(experiment="", compute="gs_lemma_1", expect="<= 1")
    rate = claim(experiment="", compute="gs_formula_18", expect="<= 1")
    error = claim(experiment="", compute="gs_formula_15", expect="< 1e-9")
    right, beta = _grouping.group_ids, _sampling.row_rate
    monkeypatch.setattr(_grouping, "group_ids", lambda d, w: right(d, max(1, w - 1)))
    monkeypatch.setattr(_sampling, "row_rate", lambda epsilon, delta: 2 * beta(epsilon, delta))
    monkeypatch.setattr(formulas, "f", lambda x, c, epsilon: c * x * (1 - x) + 8 / epsilon**2)
    assert [by_computation(one).verdict for one in (lemma, rate, error)] == [CONTRADICTED] * 3


def test_the_tolerance_at_a_border_is_small_beside_the_border(monkeypatch: pytest.MonkeyPatch) -> None:
    """An equality up to 1e-12 is not met by a difference of 5e-10; a bound of 1 is met by 1 and the rounding of doubles."""
    law = claim(experiment="", compute="sparse_shortcut", expect="< 1e-12")
    bound = claim(experiment="", compute="sparse_tau", expect="<= 1")
    monkeypatch.setitem(formulas.COMPUTATIONS, "sparse_shortcut", lambda: Computed(5e-10, 1))
    monkeypatch.setitem(formulas.COMPUTATIONS, "sparse_tau", lambda: Computed(1 + 1e-12, 1))
    assert [by_computation(one).verdict for one in (law, bound)] == [CONTRADICTED, REPRODUCED]


def test_a_computation_stands_alone() -> None:
    with pytest.raises(UserError, match="unknown computation 'gs_lema_1': did you mean 'gs_lemma_1'"):
        claim(experiment="", compute="gs_lema_1", expect="<= 1")
    with pytest.raises(UserError, match="experiment has no effect beside `compute`"):
        claim(compute="gs_lemma_1", expect="<= 1")
    with pytest.raises(UserError, match="needs `expect` beside `compute`"):
        claim(experiment="", compute="gs_lemma_1")


def test_the_closed_forms_of_sparse_agree_with_a_simulation_of_the_text() -> None:
    """Ten million draws of noise, 5 standard errors: a false alarm in a million runs."""
    rng, a, theta, tau, size = np.random.default_rng(3), math.exp(-0.5), 2, 5, 10**7
    noise = rng.geometric(1 - a, size) - rng.geometric(1 - a, size)
    chance = np.minimum(np.abs(noise) / tau, 1) * (np.abs(noise) >= theta)
    p = 2 / (tau * (1 - a**2)) * (theta * a**theta - (theta - 1) * a ** (theta + 1) - a ** (tau + 1))
    assert abs(chance.mean() - p) < 5 * chance.std() / size**0.5
    assert formulas_sparse.sparse_p_theta_tau().value < 1e-8


def test_a_wrong_rate_or_distribution_of_the_shortcut_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    from dpbench.mechanisms.sparse import _zeros

    assert formulas_sparse.sparse_shortcut().value < 1e-12
    with monkeypatch.context() as patch:
        right = _zeros.pass_probability
        patch.setattr(_zeros, "pass_probability", lambda a, theta, both=True: 1.01 * right(a, theta, both))
        assert formulas_sparse.sparse_shortcut().value > 1e-4
        assert formulas_sparse.sparse_p_theta().value > 0.009
    with monkeypatch.context() as patch:
        cdf = _zeros.sample_cdf
        patch.setattr(_zeros, "sample_cdf", lambda a, tau, v: cdf(a, tau + 0.1, v))
        assert formulas_sparse.sparse_shortcut().value > 1e-4


def test_words_are_counted_and_every_cell_would_show(monkeypatch: pytest.MonkeyPatch) -> None:
    """A draw of n numbers takes n words; a law that looks at every cell would draw m of them."""
    from dpbench.mechanisms.sparse import _laws

    few = formulas_sparse._words("filter", 10**6)
    assert 1000 < few < 20_000

    def every_cell(self: object, rng: np.random.Generator) -> None:
        rng.random(10**5)

    monkeypatch.setattr(_laws.PassingZeros, "draw", every_cell)
    assert formulas_sparse._words("filter", 10**6) == 10**5


def test_corollary_1_at_a_known_value() -> None:
    """Randomised response at ln 3 on half of the rows: ln(1 + 0.5 x 2) = ln 2."""
    yes, rate = 0.75, 0.5
    there = rate * yes + (1 - rate) * (1 - yes)
    assert math.log(there / (1 - yes)) == pytest.approx(math.log(2))
    assert formulas.gs_corollary_1().value == pytest.approx(1, abs=1e-9)


def test_the_noise_of_fpa_against_samples() -> None:
    """E|X| for two coefficients at angle 0, X = L₀ + 2 L₁: 10^6 draws, 5 standard errors."""
    rng = np.random.default_rng(5)
    x = np.abs(rng.laplace(size=10**6) + 2 * rng.laplace(size=10**6))
    ratio = math.sqrt(2) * x.mean() / (math.sqrt(2) * 3)
    assert ratio < 1
    assert ratio - 5 * x.std() / 1000 < formulas.gs_theorem_2().value


def test_small_programs_of_epicrec_by_hand() -> None:
    """One item of three categories: plain and calibrated noise are 3. One item, aggregate 4: errors 4.5 and 0 per category."""
    assert formulas.epicrec_against_laplace().value == pytest.approx(1)
    assert formulas.epicrec_nonnegative().value == pytest.approx(3 * (4 - 1) ** 2 / 2)
    assert formulas.epicrec_convex().value >= -1e-12


def test_rows_of_two_sizes_by_hand() -> None:
    """Rows of 1 and 3 ones: the average 2 cuts one of four; 1 and 1000: 499.5 of 1001."""
    assert formulas.sensitivity_unequal_rows().value == pytest.approx(499.5 / 1001)
    assert formulas.sensitivity_average_only().value > 100
