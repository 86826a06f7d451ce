"""The audit in a results folder: stored completely, replaced by name, and safe to open if somebody else wrote it."""

from __future__ import annotations

import math
import os
from pathlib import Path

import pytest

from dpbench import seals
from dpbench.audit.finding import Finding
from dpbench.audit.stored import FILE, store, stored
from dpbench.audit.summary import by_mechanism
from dpbench.compare.audits import verdicts
from dpbench.errors import Damaged, Failed


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
