"""Stored audits: findings are safe to open whoever wrote them, and answers are given again only by the same code."""

from __future__ import annotations

import math
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from dpbench import paths
from dpbench.auditing.cache import FILE, Answer, cached, record_answers, store, stored
from dpbench.auditing.summary import by_mechanism
from dpbench.errors import Damaged, Failed
from dpbench.mechanisms.baselines import laplace
from dpbench.model.finding import Finding
from dpbench.ranking.entitled import verdicts
from dpbench.storage import seals


def finding(mechanism: str, verdict: str = "holds", loss: float = 1.0, **more: object) -> Finding:
    given = {"parameters": "", "method": "replay", "guarantee": "ε", "epsilon": 1.0, "delta": 0.0, "pairs": 20}
    return Finding(mechanism=mechanism, verdict=verdict, loss=loss, **(given | more))  # type: ignore[arg-type]


LPA = finding("lpa", parameters="bound=3")
OPEN = finding("lpa", "declared not private", math.inf, pair="the new row", step="laplace")
GS = finding("gs", "violated", 2.5, parameters="bound=3", pair="p", step="s")


def test_what_is_stored_comes_back(tmp_path: Path) -> None:
    assert stored(tmp_path) == []
    assert verdicts(tmp_path) == {}
    store(tmp_path, [LPA, OPEN, GS], 7, anew=True)
    found = stored(tmp_path)
    assert [each.finding for each in found] == [LPA, OPEN, GS]
    assert {each.seed for each in found} == {7}
    assert "Infinity" not in (tmp_path / FILE).read_text(), "other readers of JSON know no such number"


def test_an_audit_of_some_replaces_theirs(tmp_path: Path) -> None:
    store(tmp_path, [LPA, OPEN, GS], 0, anew=True)
    fixed = finding("gs", parameters="bound=3")
    store(tmp_path, [fixed], 0, anew=False)
    assert [each.finding for each in stored(tmp_path)] == [LPA, OPEN, fixed]
    store(tmp_path, [GS], 0, anew=True)
    assert [each.finding for each in stored(tmp_path)] == [GS]


def test_one_verdict_for_each_mechanism(tmp_path: Path) -> None:
    more = finding("lpa", parameters="bound=1", pairs=30)
    store(tmp_path, [OPEN, LPA, more, GS, finding("zero", "inconclusive", 0.0, reason="too slow")], 0, anew=True)
    assert verdicts(tmp_path) == {
        "lpa": "holds with private parameters on 50 pairs",
        "gs": "violated with bound=3: a loss of 2.5 at ε = 1",
        "zero": "inconclusive: too slow",
    }
    assert by_mechanism([LPA, OPEN, finding("lpa", "violated", math.inf)])[0].verdict == "violated"
    assert by_mechanism([OPEN])[0].words == "declared not private, as found"


@pytest.mark.parametrize(
    "change",
    [
        lambda entry: entry["finding"].pop("pairs"),
        lambda entry: entry["finding"].update(verdict="perfect"),
        lambda entry: entry["finding"].update(pairs="many"),
        lambda entry: entry["finding"].update(more=1),
        lambda entry: entry.update(seed=None),
        lambda entry: entry.update(finding=[]),
    ],
)
def test_what_is_not_a_finding_is_set_aside(tmp_path: Path, change: object) -> None:
    path = store(tmp_path, [LPA], 0, anew=True)
    body = seals.unseal(path.read_bytes())
    change(body["entries"][0])  # type: ignore[operator]
    path.write_text(seals.seal(body))
    with pytest.warns(Damaged, match="audit again"):
        assert stored(tmp_path) == []
    assert not path.exists()
    assert list((tmp_path / "damaged").iterdir())


def test_a_flipped_letter_is_seen(tmp_path: Path) -> None:
    path = store(tmp_path, [GS], 0, anew=True)
    path.write_text(path.read_text().replace("violated", "holds"))
    with pytest.warns(Damaged, match="checksum"):
        assert stored(tmp_path) == []


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    elsewhere = store(tmp_path / "theirs", [LPA], 0, anew=True)
    results = tmp_path / "results"
    results.mkdir()
    os.symlink(elsewhere, results / FILE)
    with pytest.raises(Failed, match="link"):
        store(results, [LPA], 0, anew=True)
    with pytest.warns(Damaged, match="link"):
        assert stored(results) == []
    assert elsewhere.exists()


def test_texts_cannot_drive_a_terminal(tmp_path: Path) -> None:
    store(tmp_path, [finding("os.system", "inconclusive", reason="\x1b[2Jgone")], 0, anew=True)
    assert verdicts(tmp_path) == {"os.system": "inconclusive: ?[2Jgone"}


# Answers that the same code gives again


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DPBENCH_CACHE", str(tmp_path))
    return tmp_path


def answer(value: float) -> dict[str, Any]:
    return asdict(Answer(value, 1, "replay"))


@pytest.mark.usefixtures("own_cache")
def test_the_same_question_is_answered_once() -> None:
    assert cached(["lpa", 1.0], (laplace.LPA,), lambda: answer(math.inf)) == (answer(math.inf), "")
    assert cached(["lpa", 1.0], (laplace.LPA,), lambda: pytest.fail("computed again")) == (answer(math.inf), "")


@pytest.mark.usefixtures("own_cache")
def test_other_questions_and_other_code_are_answered_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    cached(["lpa", 1.0], (laplace.LPA,), lambda: answer(1.0))
    assert cached(["lpa", 2.0], (laplace.LPA,), lambda: answer(2.0)) == (answer(2.0), "")
    monkeypatch.setattr(laplace.LPA, "publish_columns", lambda *_: None)  # a fault, as tests plant it
    assert cached(["lpa", 1.0], (laplace.LPA,), lambda: answer(3.0)) == (answer(3.0), "")


def test_damage_costs_one_audit(own_cache: Path) -> None:
    cached(["lpa", 1.0], (laplace.LPA,), lambda: answer(1.0))
    (path,) = (own_cache / "audits").glob("*.json")
    path.write_text(path.read_text().replace("1.0", "2.0"))
    assert cached(["lpa", 1.0], (laplace.LPA,), lambda: answer(1.0)) == (answer(1.0), "")


def test_where_nothing_can_be_written_it_is_computed(own_cache: Path) -> None:
    (own_cache / "audits").write_text("")
    assert cached(["lpa", 1.0], (laplace.LPA,), lambda: answer(1.0)) == (answer(1.0), "")


@pytest.mark.usefixtures("own_cache")
def test_answers_come_with_the_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A new installation has an empty cache: what the record holds is not computed again, unless the code is another."""
    monkeypatch.setattr(paths, "RECORD", tmp_path / "record")
    cached(["lpa", 1.0], (laplace.LPA,), lambda: answer(1.0))
    record_answers(tmp_path / "record")
    monkeypatch.setattr(paths, "RECORD", tmp_path / "copy")
    (tmp_path / "record").rename(tmp_path / "copy")
    monkeypatch.setenv("DPBENCH_CACHE", str(tmp_path / "empty"))
    assert cached(["lpa", 1.0], (laplace.LPA,), lambda: pytest.fail("computed again")) == (answer(1.0), "")
    monkeypatch.setattr(laplace.LPA, "publish_columns", lambda *_: None)
    assert cached(["lpa", 1.0], (laplace.LPA,), lambda: answer(3.0)) == (answer(3.0), "")
