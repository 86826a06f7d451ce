"""Claims about privacy: read from YAML, decided by replay, and contradicted as soon as a mechanism is broken."""

from __future__ import annotations

import dataclasses
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpbench.auditing import cache
from dpbench.auditing.recording import RecordingNoise
from dpbench.auditing.steps import step_on_pairs
from dpbench.claims import replays
from dpbench.claims.judge import Judge
from dpbench.claims.ledger import ledger
from dpbench.data import Counts
from dpbench.errors import UserError
from dpbench.mechanisms.base import MECHANISMS
from dpbench.model.claim import CONTRADICTED, OPEN, REPLAY, REPRODUCED, Claim
from dpbench.model.verdict import Verdict
from dpbench.storage import seals

from support.warm import PAIRS

Call = Callable[..., "subprocess.CompletedProcess[str]"]

GOOD = """c:
  place: p
  says: s
  expect: "<= 1"
  audit:
    mechanism: lpa
    parameters: {bound: 3}
    epsilon: 1
    pairs: 20
"""
CLAIMS = {claim.id: claim for claim in ledger() if claim.audit is not None}


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    """Planted faults must neither find earlier audits nor leave theirs."""
    replays._replayed.cache_clear()
    yield
    replays._replayed.cache_clear()


def load(folder: Path, text: str) -> Claim:
    (folder / "mine.yaml").write_text(text)
    return ledger(folder=folder)[0]


def verdict(claim: Claim, pairs: int | None = None) -> Verdict:
    if pairs is not None and claim.audit is not None:
        claim = dataclasses.replace(claim, audit=dataclasses.replace(claim.audit, pairs=pairs))
    return Judge(Path("nowhere"), record=None).verdict(claim)


def test_a_claim_of_ones_own(tmp_path: Path) -> None:
    found = verdict(load(tmp_path, GOOD))
    assert (found.verdict, found.measured, found.where, found.interval) == (REPRODUCED, "1", "replay on 20 pairs", "")
    assert found.claim.decided_by == REPLAY
    several = GOOD.replace("{bound: 3}", "[{bound: 3}, {}]")
    found = verdict(load(tmp_path, several))
    assert (found.verdict, found.measured) == (CONTRADICTED, "∞")
    assert found.where.startswith("mechanism=lpa (1 such of 2); replay on 2")
    assert "the scale of laplace differs" in found.reason


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("pairs: 20", "pair: 20", r"unknown key 'pair': did you mean 'pairs'.*mine.yaml, line 9"),
        ("pairs: 20", "pairs: 0", r"pairs=0 is not valid.*line 9"),
        ("pairs: 20", "pairs: many", r"pairs='many'.*line 9"),
        ("pairs: 20", "pairs: 1000000", r"expected at most 100000.*line 9"),
        ("    pairs: 20\n", "", r"audit: pairs is missing.*line 5"),
        ("mechanism: lpa", "mechanism: lap", r"unknown mechanism 'lap'.*line 6"),
        ("mechanism: lpa", "mechanism: []", r"expected at least one.*line 6"),
        ("mechanism: lpa", "mechanism: os.system", r"expected a class with `release`.*line 6"),
        ("{bound: 3}", "{bond: 3}", r"no parameter 'bond'.*line 7"),
        ("{bound: 3}", "{bound: -1}", r"bound.*line 7"),
        ("{bound: 3}", "{bound: {a: 1}}", r"expected a word or a number.*line 7"),
        ("{bound: 3}", "three", r"parameters='three' is not valid.*line 7"),
        ("epsilon: 1", "epsilon: -1", r"epsilon.*line 8"),
        ("pairs: 20", "pairs: 20\n    quantity: size", r"quantity='size'.*line 10"),
        ("pairs: 20", "pairs: 20\n    quantity: sensitivity", r"expected `step`.*line 10"),
        ("pairs: 20", "pairs: 20\n    step: 3", r"expected the name of a step.*line 10"),
        ("  says: s", "  says: s\n  measure: mae()", r"measure has no effect beside `audit`.*line 4"),
        ("  says: s", "  says: s\n  experiment: gs/fig9", r"experiment has no effect beside `audit`.*line 4"),
        ('  expect: "<= 1"\n', "", r"needs `expect`"),
    ],
)
def test_a_wrong_audit_is_named_with_its_line(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in GOOD
    with pytest.raises(UserError, match=rf"(?s)claim mine/c: .*{message}"):
        load(tmp_path, GOOD.replace(old, new))


def test_a_step_that_is_not_there_is_named(tmp_path: Path) -> None:
    claim = load(tmp_path, GOOD.replace("mechanism: lpa", "mechanism: gs_s") + "    step: sampel\n")
    with pytest.raises(UserError, match="claim mine/c: unknown step 'sampel': did you mean 'sample'"):
        verdict(claim)


def expected(claim: Claim) -> str:
    return CONTRADICTED if claim.basis == "erratum" else REPRODUCED


def test_the_theorems_hold_and_the_errata_do_not() -> None:
    """On a few pairs each. A sensitivity that must be reached is reached by the most revealing shapes of pairs."""
    assert len(CLAIMS) >= 45
    assert {claim.paper for claim in CLAIMS.values()} == {"gs", "sparse", "analytics", "sensitivity", "epicrec"}
    found = {name: verdict(claim, PAIRS) for name, claim in CLAIMS.items()}
    assert {name: v.verdict for name, v in found.items() if v.verdict != expected(v.claim)} == {}
    assert all("on " in v.where and "pair" in v.where for v in found.values())


@pytest.mark.slow
@pytest.mark.timed
def test_all_claims_of_privacy_in_half_a_minute(own_cache: Path) -> None:
    """Of processor time, nothing audited yet."""
    started = time.process_time()
    found = {name: verdict(claim) for name, claim in CLAIMS.items()}
    assert {name: v.verdict for name, v in found.items() if v.verdict != expected(v.claim)} == {}
    assert time.process_time() - started < 30


def test_a_sensitivity_is_that_of_the_data() -> None:
    """Against the definition: rows of at most 3 ones move the counts by 3, one 1 of each by 1."""
    assert step_on_pairs(MECHANISMS.make("lpa", bound=3), 1.0, 40, "laplace", "sensitivity").value == 3
    assert step_on_pairs(MECHANISMS.make("gs_s", bound=3), 1.0, 40, "sample", "sensitivity").value == 1
    whole = step_on_pairs(MECHANISMS.make("gs_s", bound=3, sampling="row"), 1.0, 40, "sample", "sensitivity")
    assert whole.value == 3, "the new row is in the sample"


def _half_the_noise(self: Any, columns: Any, epsilon: float, noise: Any) -> Counts:
    return Counts(counts=noise.laplace(columns.counts, scale=self.sensitivity(columns) / epsilon / 2))


@pytest.mark.usefixtures("own_cache")  # audits of the code as it is are kept there
def test_half_the_noise_contradicts_the_theorem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MECHANISMS.get("lpa"), "publish_columns", _half_the_noise)
    found = verdict(CLAIMS["gs/theorem-1"], 20)
    assert (found.verdict, found.measured) == (CONTRADICTED, "2")
    assert found.reason.endswith(", laplace")
    assert "(pair " in found.reason
    assert verdict(CLAIMS["gs/lpa-sensitivity"], 20).verdict == REPRODUCED, "the noise is wrong, not the counts"


@pytest.mark.usefixtures("own_cache")  # audits of the code as it is are kept there
def test_two_ones_of_each_row_contradict_the_lemma(monkeypatch: pytest.MonkeyPatch) -> None:
    """The step's own claim and its theorem fail, and no other."""
    recorded = RecordingNoise.laplace

    def doubled(self: Any, values: Any, *, step: str = "", **more: Any) -> Any:
        return recorded(self, np.asarray(values) * 2 if step == "sample" else values, step=step, **more)

    monkeypatch.setattr(RecordingNoise, "laplace", doubled)
    assert verdict(CLAIMS["gs/column-sample-sensitivity"], 20).verdict == CONTRADICTED
    broken = verdict(CLAIMS["gs/theorem-5"], 20)
    assert (broken.verdict, broken.measured) == (CONTRADICTED, "1.5")
    assert "laplace sample" in broken.reason
    assert verdict(CLAIMS["gs/theorem-3"], 20).verdict == REPRODUCED


@pytest.mark.usefixtures("own_cache")  # audits of the code as it is are kept there
def test_what_cannot_be_replayed_decides_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def own(self: Any, columns: Any, epsilon: float, noise: Any) -> Counts:
        return Counts(counts=columns.counts + np.random.default_rng().laplace(size=columns.columns))

    monkeypatch.setattr(MECHANISMS.get("lpa"), "publish_columns", own)
    found = verdict(CLAIMS["gs/theorem-1"], 5)
    assert found.verdict == OPEN
    assert "another source of randomness" in found.reason


def test_through_the_front_door(dpbench: Call) -> None:
    done = dpbench("claims", "epicrec", "--verbose")
    assert done.returncode == 0, done.stderr
    assert "epicrec/theorem-2" in done.stdout
    assert "audit by replay" in done.stdout
    assert f"replay on {PAIRS} pairs" in done.stdout


def test_an_answer_of_older_code_is_shown_as_such_and_found_anew_on_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is audited unasked where the record has an answer; only the answer of the present code goes without a remark."""
    monkeypatch.setenv("DPBENCH_CACHE", str(tmp_path / "cache"))
    claim = load(tmp_path, GOOD)
    monkeypatch.setattr(cache, "_answers", {})
    verdict(claim)
    file = cache.record_answers(tmp_path)
    body = seals.unseal(file.read_bytes())
    (kept,) = body["answers"].values()
    assert kept["answer"]["value"] == 1.0
    kept["answer"]["value"], there = 0.25, tmp_path / "older"
    there.mkdir()

    def judged(code: str, *, audit: bool = False) -> Verdict:
        kept["code"] = code
        (there / cache.RECORDED).write_text(seals.seal(body))
        cache._recorded.cache_clear()
        replays._replayed.cache_clear()
        shutil.rmtree(tmp_path / "cache", ignore_errors=True)
        return Judge(tmp_path, record=there, audit=audit).verdict(claim)

    same = kept["code"]
    older = judged("of another time")
    assert older.measured == "0.25"
    assert older.where.startswith("replay on 20 pairs, recorded at ")
    assert older.where.endswith("the code has changed since")
    anew = judged("of another time", audit=True)
    assert (anew.measured, anew.where) == ("1", "replay on 20 pairs")
    monkeypatch.setattr(replays, "_audited", lambda *_: pytest.fail("was audited"))
    monkeypatch.setattr(cache.paths, "RECORD", there)
    present = judged(same)
    assert (present.measured, present.where) == ("0.25", "replay on 20 pairs")
