"""The time left of a reproduction is estimated from what the trials cost on record."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import dpbench
from dpbench.engine import progress
from dpbench.figures.draw import draw
from dpbench.model.run import Run
from dpbench.reproduce.make_record import take
from dpbench.storage import record


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return dpbench.run("epicrec/example", scale="smoke", results=tmp_path_factory.mktemp("results"), jobs=1)


def recorded(run: Run, computing: float, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the run on a record of its own, with this cost."""
    drawing = draw(run)
    kept = take(run, drawing.numbers, seconds=1.0, memory=None)
    record.write(replace(kept, costs=replace(kept.costs, computing=computing)), drawing.numbers, folder)
    monkeypatch.setattr(progress, "read", lambda name: record.read(name, folder))


def test_without_a_record_all_trials_count_the_same(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "read", lambda name: record.read(name, tmp_path))
    assert progress.trial_costs([run]) == {}


def test_a_trial_costs_what_it_cost_on_record(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An experiment that is not on record counts like the average of the others."""
    recorded(run, 12.0, tmp_path, monkeypatch)
    other = replace(run, name="mine/other")
    assert progress.trial_costs([run, other]) == {run.label: 12.0 / run.planned, other.label: 12.0 / run.planned}


def test_the_cost_at_another_scale_says_nothing(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded(run, 12.0, tmp_path, monkeypatch)
    assert progress.trial_costs([replace(run, scale="paper")]) == {}
