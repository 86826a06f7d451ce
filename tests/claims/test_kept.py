"""Stored audits: read again for the same request and the same code, computed again otherwise."""

from __future__ import annotations

import math

import pytest

from dpbench.claims.kept import kept
from dpbench.mechanisms.baselines.laplace import LPA


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("DPBENCH_CACHE", str(tmp_path))
    return tmp_path


def test_the_same_question_is_answered_once():
    assert kept(["lpa", 1.0], (LPA,), lambda: {"value": math.inf}) == {"value": math.inf}
    assert kept(["lpa", 1.0], (LPA,), lambda: pytest.fail("computed again")) == {"value": math.inf}


def test_other_questions_and_other_code_are_answered_anew(monkeypatch):
    kept(["lpa", 1.0], (LPA,), lambda: {"value": 1.0})
    assert kept(["lpa", 2.0], (LPA,), lambda: {"value": 2.0}) == {"value": 2.0}
    monkeypatch.setattr(LPA, "publish_columns", lambda *_: None)  # a fault, as tests plant it
    assert kept(["lpa", 1.0], (LPA,), lambda: {"value": 3.0}) == {"value": 3.0}


def test_damage_costs_one_audit(own_cache):
    kept(["lpa", 1.0], (LPA,), lambda: {"value": 1.0})
    (path,) = (own_cache / "audits").glob("*.json")
    path.write_text(path.read_text().replace("1.0", "2.0"))
    assert kept(["lpa", 1.0], (LPA,), lambda: {"value": 1.0}) == {"value": 1.0}


def test_where_nothing_can_be_written_it_is_computed(own_cache):
    (own_cache / "audits").write_text("")
    assert kept(["lpa", 1.0], (LPA,), lambda: {"value": 1.0}) == {"value": 1.0}
