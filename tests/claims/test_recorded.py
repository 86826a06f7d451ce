"""Recorded verdicts: shown if an experiment was not run, beside the new verdict if it was."""

from __future__ import annotations

import dataclasses

import pandas as pd
import pytest

import dpbench
from dpbench.claims import recorded
from dpbench.claims.judge import Judge
from dpbench.claims.ledger import ledger
from dpbench.model.claim import CONTRADICTED, REPRODUCED, UNTESTABLE
from dpbench.model.record import Record, RecordedVerdict
from dpbench.storage.record import write

EXPERIMENT = "epicrec/example"


@pytest.fixture
def claim():
    """One whose number the generator was not given."""
    found = next(claim for claim in ledger(["epicrec"]) if claim.experiment == EXPERIMENT and not claim.untestable)
    return dataclasses.replace(found, made=False)


@pytest.fixture
def record(tmp_path, claim):
    recorded._record.cache_clear()
    verdict = RecordedVerdict(claim.id, REPRODUCED, claim.expect, 2.0, 1.5, 2.5, where="one of two", trials=7)
    kept = Record(EXPERIMENT, "", "paper", 7, 0, (0, 1, 2), 1, "id", "code", {}, (), verdicts=(verdict,))
    write(kept, pd.DataFrame({"mae": [1.0]}), tmp_path / "record")
    return tmp_path / "record"


def test_without_a_run_the_record_is_shown_and_says_so(tmp_path, claim, record):
    found = Judge(tmp_path / "results", record=record).verdict(claim)
    assert found.verdict == REPRODUCED
    assert found.source.startswith("recorded at ")
    assert "the code has changed since" in found.source
    assert "3 draws" in found.source
    assert (found.decider.value, found.decider.low, found.decider.high, found.trials) == (2.0, 1.5, 2.5, 7)


def test_without_a_record_it_is_not_testable(tmp_path, claim):
    assert Judge(tmp_path, record=None).verdict(claim).verdict == UNTESTABLE
    assert Judge(tmp_path, record=tmp_path).verdict(claim).verdict == UNTESTABLE


def test_a_run_of_ones_own_is_shown_as_itself(tmp_path, claim, record):
    dpbench.run(EXPERIMENT, scale="smoke", results=tmp_path / "results", jobs=1)
    found = Judge(tmp_path / "results", record=record).verdict(claim)
    assert not found.recorded
    assert [other.recorded != "" for other in found.others] == [True]


def test_a_claim_that_is_read_otherwise_now_is_not_on_record(tmp_path, claim, record):
    other = dataclasses.replace(claim, expect="> 12345")
    assert recorded.recorded(other, record) is None


def test_what_is_kept_is_what_is_read(tmp_path, claim, record):
    found = recorded.recorded(claim, record)
    assert recorded.of(found) == RecordedVerdict(
        claim.id,
        REPRODUCED,
        claim.expect,
        2.0,
        1.5,
        2.5,
        where="one of two",
        trials=7,
        evidence=str(found.evidence),
        untried=found.untried,
    )


def test_the_verdicts_of_other_evidence_are_kept_beside_the_strongest(tmp_path, claim):
    recorded._record.cache_clear()
    strongest = RecordedVerdict(claim.id, REPRODUCED, claim.expect, 2.0, 1.5, 2.5, files=("movielens",), trials=7)
    beside = RecordedVerdict(claim.id, CONTRADICTED, claim.expect, 9.0, 8.5, 9.5, trials=7)
    kept = Record(EXPERIMENT, "", "paper", 7, 0, (0,), 1, "id", "code", {}, (), verdicts=(strongest, beside))
    write(kept, pd.DataFrame({"mae": [1.0]}), tmp_path / "record")
    found = Judge(tmp_path / "results", record=tmp_path / "record").verdict(claim)
    assert (found.verdict, found.files) == (REPRODUCED, ("movielens",))
    assert [(other.verdict, other.files) for other in found.others] == [(CONTRADICTED, ())]
    strongest, beside = (
        dataclasses.replace(v, evidence=e, untried=found.untried)
        for v, e in ((strongest, "original files"), (beside, "every world"))
    )
    assert recorded.all_of(found) == (strongest, beside)
