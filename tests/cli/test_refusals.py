"""What `run` does with budgets and sizes that are not possible: exit status 2 and the reason, or numbers that are finite."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import dpbench
from dpbench.cli import main
from dpbench.mechanisms.base import MECHANISMS

from support.examples import VARIANTS

QUICK = ("scale=smoke", "tracking=none", "trials=2", "runner.jobs=1", "name=extreme")
SMALL = {
    "incidence": "trajectory",
    "records": "foursquare",
    "contingency": "gaussian",
    "catalogue": "running_example",
}
"""The smallest dataset of each kind."""


@pytest.fixture
def door(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable:
    """The front door in this process, which is quicker: the status and all that was printed."""
    monkeypatch.chdir(tmp_path)

    def call(*words: str) -> tuple[int, str]:
        status = main(["run", *QUICK, *words])
        return status, " ".join("".join(capsys.readouterr()).split())

    return call


@pytest.mark.parametrize(("epsilon", "extreme"), [("1e-300", "small"), ("1e300", "large"), ("ln(1e400)", "not valid")])
def test_a_budget_out_of_range_is_wrong_use(door: Callable, epsilon: str, extreme: str) -> None:
    status, said = door("dataset=gaussian", "mechanism=filter", f"epsilon='{epsilon}'")
    assert status == 2
    assert extreme in said
    assert "Traceback" not in said


def test_a_filter_that_lets_all_pass_is_refused_with_the_limit_and_a_way_out(door: Callable) -> None:
    huge = ("dataset.gaussian.cells=1000000000000", "dataset.gaussian.density=1e-9")
    status, said = door("dataset=gaussian", *huge, "mechanism=filter", "mechanism.filter.theta=0.3", "epsilon=0.1")
    assert status == 2
    assert "it would publish about 9.5e+11 entries, and at most 6.71e+07 fit" in said
    assert "expected a larger one, or t instead" in said


def test_what_one_budget_is_refused_for_others_are_run_with(door: Callable) -> None:
    status, said = door("dataset=gaussian", "mechanism=filter", "epsilon=[1e-12,1]")
    assert status == 0
    assert "filter on gaussian, ε=1e-12" in said
    assert "too small for noise in whole numbers: expected 1e-09 or more" in said
    assert dpbench.load("results", "extreme").trials()["epsilon"].unique().tolist() == [1.0]


@pytest.mark.slow
@pytest.mark.parametrize("kind", SMALL)
def test_every_mechanism_has_finite_errors_or_a_reason(door: Callable, kind: str) -> None:
    """At the ends of the range of epsilon. No trial fails, and no metric is infinite or not a number."""
    names = [name for name, cls in MECHANISMS.items() if kind in cls.kinds]
    given = [
        f"mechanism.{name}.{key}={value}" for name in names for key, value in (VARIANTS.get(name) or [{}])[0].items()
    ]
    few = {"contingency": ["dataset.gaussian.cells=400"], "incidence": ["task=leaderboard"]}.get(kind, [])
    status, said = door(
        f"dataset={SMALL[kind]}", f"mechanism=[{','.join(names)}]", "epsilon=[1e-50,1e50]", *given, *few
    )
    assert status == 0, said
    assert "0 failed" in said
    trials = dpbench.load("results", "extreme").trials()
    numbers = trials.filter(regex=r"^(metric|chosen)\.").drop(
        columns=["metric.pair_variance", "metric.pair_bias2"], errors="ignore"
    )
    wrong = ~np.isfinite(numbers.to_numpy(dtype=float)) & numbers.notna().to_numpy()
    assert not wrong.any(), trials[wrong.any(axis=1)][["mechanism", "epsilon"]]
    for name, rows in numbers.notna().groupby(trials["mechanism"]):
        assert rows.nunique().le(1).all(), f"{name} has numbers at one budget that it has not at the other"
    for name in set(names) - set(trials["mechanism"]):
        assert f"{name} on {SMALL[kind]}" in said or f"{name}(" in said
