"""Every mechanism with a fault planted in it: `check` must see it at smoke scale.

The reference is measured here and not read from the baselines, so that the test says something about the check and not
about how fresh the baselines are.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from dpbench.check import baselines as utility
from dpbench.check.comparison import BETTER, CHANGED, WORSE, Comparison, compare
from dpbench.cli.check import bad, natures
from dpbench.config.compose import compose
from dpbench.engine.plan import Plan, make_plan
from dpbench.engine.runner import execute
from dpbench.mechanisms.base import MECHANISMS
from dpbench.paths import BASELINES
from dpbench.results.store import Store

from support.mutants import GROUPING, Plant, noise

# Cells of the suite a mutant runs in: enough to be caught, few enough to be quick.
MOST_CELLS = 12

# The cheapest experiment of the suite that says how good a mechanism is.
WHERE = {
    "lpa": "gs/fig9",
    "fpa": "analytics/fig7",  # by squared error it keeps enough coefficients that their noise shows
    "gs_r": "gs/fig9",
    "gs_s": "gs/fig9",
    "gs": "gs/fig9",
    "gs_mean": "gs/fig9",
    "alpa": "sensitivity/error",
    "linf": "cross/leaderboard",
    "gaussian": "cross/leaderboard",
    "pf_peeling": "cross/leaderboard",
    "joint_topk": "cross/leaderboard",
    "dpsense": "sensitivity/error",
    "dpsense_s": "sensitivity/error",
    "sra": "analytics/fig6",
    "hpa": "analytics/fig6",
    "hpa_popularity": "analytics/fig5",
    "s_dpdp": "epicrec/runtime",
    "s_pbq": "epicrec/budget",
    "laplace_categories": "epicrec/runtime",
    "geometric": "sparse/map_subset",
    "filter": "sparse/filtering",
    "threshold": "sparse/sampling",
    "priority": "sparse/sampling",
    "filter_priority": "sparse/filter_priority",
    "sketch": "sparse/sketch",
    "synthesizer": "sparse/map_subset",
}


def plan_of(mechanism: str) -> Plan:
    settings = {"mechanism": [mechanism], "runner.jobs": 1, "tracking": "none"}
    plan = make_plan(compose(WHERE[mechanism], "smoke", settings))
    step = max(1, len(plan.run.settings) // MOST_CELLS)
    return dataclasses.replace(plan, run=dataclasses.replace(plan.run, settings=plan.run.settings[::step][:MOST_CELLS]))


def measure(plan: Plan, folder: Path) -> dict[str, utility.Numbers]:
    plan = dataclasses.replace(plan, run=dataclasses.replace(plan.run, results=folder))
    result = execute(plan, Store(folder))
    assert not result.failed, next(iter(result.failures.values()))[0].error
    return {plan.run.name: utility.collect(plan, result)}


@pytest.fixture(scope="module")
def references(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Plan, dict[str, utility.Numbers]]]:
    return {}


def mutated(mechanism: str, plant: Plant, references: dict, patch: pytest.MonkeyPatch, folder: Path) -> Comparison:
    if mechanism not in references:
        plan = plan_of(mechanism)
        references[mechanism] = plan, measure(plan, folder / "sound")
    plan, sound = references[mechanism]
    plant(patch, MECHANISMS.get(plan.run.settings[0].mechanism.cls))
    return compare(sound, measure(plan, folder / "faulty"), natures(), same_seed=True)


def test_every_mechanism_of_the_suite_is_mutated() -> None:
    used = {c.labels["mechanism"] for numbers in utility.load(BASELINES).values() for c in numbers.cells.values()}
    assert used <= set(WHERE)


@pytest.mark.parametrize("mechanism", WHERE)
def test_twice_the_noise_is_worse(
    mechanism: str, references: dict, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    found = mutated(mechanism, noise(2), references, monkeypatch, tmp_path)
    assert WORSE in found.moved


@pytest.mark.parametrize("mechanism", WHERE)
def test_half_the_noise_is_seen(
    mechanism: str, references: dict, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    found = mutated(mechanism, noise(0.5), references, monkeypatch, tmp_path)
    assert found.moved & {BETTER, CHANGED}
    assert found.moved & bad(strict=True)


@pytest.mark.parametrize(
    ("mechanism", "fault", "plant"),
    [(name, fault, plant) for name, faults in GROUPING.items() for fault, plant in faults],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_faults_in_grouping_are_seen(
    mechanism: str, fault: str, plant: Plant, references: dict, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    found = mutated(mechanism, plant, references, monkeypatch, tmp_path)
    assert found.moved & bad(strict=True)
    if fault in ("a group dropped", "the sample ignored"):
        assert WORSE in found.moved
