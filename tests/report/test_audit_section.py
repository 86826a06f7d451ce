"""The section of the audit: one row per mechanism, nothing is run for it, and the command if there is no audit."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from dpbench.auditing.cache import StoredFinding
from dpbench.mechanisms.base import MECHANISMS
from dpbench.model.finding import Finding
from dpbench.report.gather import Facts
from dpbench.report.marks import MechanismUse, audit_notes
from dpbench.report.page import page
from dpbench.report.view import PageView


def facts(*findings: Finding, results: str = "results") -> Facts:
    known = {"lpa": MECHANISMS.get("lpa")}
    audit = [StoredFinding(one, 0, "0.1.0", "2026-01-02 03:04 UTC") for one in findings]
    return Facts([], [], [], known, {}, Path(results), "today", audit)


def finding(mechanism: str, verdict: str, loss: float, parameters: str = "", **more: object) -> Finding:
    given = {"method": "replay", "guarantee": "ε", "epsilon": 1.0, "delta": 0.0, "pairs": 20}
    return Finding(mechanism=mechanism, parameters=parameters, verdict=verdict, loss=loss, **(given | more))  # type: ignore[arg-type]


HOLDS = finding("lpa", "holds", 1.0, "bound=3", pair="any row", step="laplace")
READS = finding("lpa", "declared not private", math.inf)
BROKEN = finding("mine.<b>Bad</b>", "violated", math.inf, pair="the new row", step="count <1>", reason="scale differs")


def test_without_an_audit_the_page_says_how_to_make_one() -> None:
    text = page(facts(results="else where"))
    section = text[text.index('<section id="audit">') :].partition("</section>")[0]
    assert "python -m dpbench audit --results &#39;else where&#39;" in section
    assert "audit-table" not in section


def test_one_row_for_each_mechanism() -> None:
    view = PageView(facts(HOLDS, READS, BROKEN))
    lpa, bad = view.audit
    assert (lpa.verdict, lpa.decider, lpa.pairs, lpa.declared) == ("holds", HOLDS, 20, (READS,))
    assert (bad.verdict, bad.decider) == ("violated", BROKEN)
    assert view.audit_counts == {"violated": 1, "holds": 1}
    assert len(view.every_audit.rows) == 3
    assert "dpbench 0.1.0, ε = 1" in view.audit_made


def test_the_page_shows_it_and_obeys_no_markup_in_it() -> None:
    text = page(facts(HOLDS, READS, BROKEN))
    section = text[text.index('<section id="audit">') :].partition("</section>")[0]
    assert '<span class="chip violated">violated</span>' in section
    assert '<span class="chip holds">holds</span>' in section
    assert 'href="#mechanism-lpa"' in section
    assert "not private as declared: the defaults" in section
    assert ">on 20 pairs<" in section
    assert "<div>∞</div>" in section
    assert "the new row" in section
    assert "<b>Bad" not in section
    assert "count &lt;1&gt;" in section
    assert '<a href="#audit">Audit</a>' in text


def test_nothing_is_audited_for_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    import dpbench.auditing.replay as replay

    monkeypatch.setattr(replay, "audit_by_replay", None)
    assert "audit-table" in page(facts(HOLDS))


def test_the_leaderboard_says_what_was_found() -> None:
    uses = [MechanismUse(name, {}, "ε", "") for name in ("lpa", "gs", "alpa", "linf", "lpa")]
    assert audit_notes(uses, {}) == []
    found = {"lpa": "holds on 20 pairs", "linf": "holds on 7 pairs", "gs": "violated: a loss of 2"}
    bad, good = audit_notes(uses, found)
    assert (bad.warn, bad.groups) == (True, ((("gs",), "violated: a loss of 2"),))
    assert (good.warn, good.groups) == (False, ((("lpa", "linf"), "holds"), (("alpa",), "not audited")))
