"""Claims decided by computation, and other keys of a claim: each with a case that must fail."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpbench.claims import formulas
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
    assert verdict.verdict == REPRODUCED
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


def test_a_computation_stands_alone() -> None:
    with pytest.raises(UserError, match="unknown computation 'gs_lema_1': did you mean 'gs_lemma_1'"):
        claim(experiment="", compute="gs_lema_1", expect="<= 1")
    with pytest.raises(UserError, match="experiment has no effect beside `compute`"):
        claim(compute="gs_lemma_1", expect="<= 1")
    with pytest.raises(UserError, match="needs `expect` beside `compute`"):
        claim(experiment="", compute="gs_lemma_1")
