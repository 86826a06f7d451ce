"""How long a run will take: by stored times, which the test writes, by the record, or not known."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpbench.config.compose import compose
from dpbench.engine import estimate
from dpbench.engine.estimate import describe_time, in_words
from dpbench.engine.plan import Plan, make_plan
from dpbench.model.record import Costs, Record
from dpbench.storage.store import Store


def planned(results: Path, experiment: str | None, **settings: object) -> Plan:
    words = {"results": results, "runner.jobs": 2, "tracking": "none", **settings}
    return make_plan(compose(experiment, "smoke", words))  # type: ignore[arg-type]


def missing(plan: Plan) -> dict[str, int]:
    return {setting.id: plan.run.repetitions for setting in plan.run.settings}


def test_by_stored_trials_also_of_another_epsilon(tmp_path: Path) -> None:
    """Two settings of one mechanism and dataset, 50 trials of 1.2 seconds each, on two workers: a minute."""
    plan = planned(tmp_path, None, dataset=["trajectory"], mechanism=["lpa"], epsilon=[0.5, 1], trials=50)
    store, first = Store(tmp_path), plan.run.settings[0]
    rows = [{"trial": trial, "seconds": 1.2, "metric.mae": 1.0} for trial in range(4)]
    store.write(first.id, rows, "a setting")
    told = describe_time(plan, missing(plan), store)
    assert told.startswith("It will take about 60 seconds on 2 workers, by the times of 4 stored trials")
    assert describe_time(plan, dict.fromkeys(missing(plan), 0), store).startswith("Nothing is missing")


@pytest.mark.parametrize(
    ("scale", "told"),
    [("smoke", "It will take about 20 minutes on a machine"), ("paper", "It will take less than about 20 minutes on")],
)
def test_by_the_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scale: str, told: str) -> None:
    """A tenth of the trials of a record that took 200 minutes."""
    plan = planned(tmp_path, "gs/fig9", dataset=["trajectory"], mechanism=["lpa"], epsilon=[1], trials=2)
    record = Record("gs/fig9", "", scale, 20, 0, (0,), 1, "", "", {}, (), costs=Costs(12_000.0, 24_000.0))
    monkeypatch.setattr(estimate, "read", lambda name: record)
    assert describe_time(plan, missing(plan), Store(tmp_path)).startswith(told)


def test_not_known(tmp_path: Path) -> None:
    plan = planned(tmp_path, None, dataset=["trajectory"], mechanism=["lpa"], epsilon=[1])
    assert "is not known: nothing of it is stored" in describe_time(plan, missing(plan), Store(tmp_path))


def test_words() -> None:
    assert [in_words(s) for s in (0.1, 40, 720, 9000)] == ["a second", "40 seconds", "12 minutes", "2.5 hours"]
