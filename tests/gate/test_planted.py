"""Faults of utility, planted one at a time: all of them fail the check with the same seed, most of them under other noise.

A few run in the normal suite; the rest, and the rate over all of them, take minutes. `pytest -m slow -rP` shows the list.
"""

from __future__ import annotations

import functools
from pathlib import Path

import pytest

from dpbench.gate import baselines
from dpbench.gate.baselines import ExperimentNumbers
from dpbench.gate.cells import CELLS
from dpbench.gate.comparison import compare
from dpbench.gate.entries import metrics_of_tasks
from dpbench.gate.measure import measure, with_figure
from dpbench.gate.new_seed import TIMES_AS_MANY
from dpbench.mechanisms.base import MECHANISMS
from dpbench.paths import BASELINES

from support.utility_faults import FAULTS
from support.utility_figures import FIGURE_FAULTS, FigureFault
from support.utility_planting import BAD, Bench, UtilityFault, judged, louder

FRESH_SEED = 1
STEP = 6
"""Trials between two of the fifty fresh checks."""
SHARE = 0.8
"""Of the faults, those of figures among them, at least so many are found under other noise."""


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench(tmp_path_factory.mktemp("bench"))


def same_seed(fault: UtilityFault, bench: Bench) -> set[str]:
    reference = bench.reference(fault.where)
    with pytest.MonkeyPatch.context() as patch:
        fault.plant(patch)
        faulty = bench.run(fault.where, 0)
    return judged(reference, faulty, same_seed=True).moved & BAD


@pytest.mark.parametrize("fault", [fault for fault in FAULTS if fault.quick], ids=lambda fault: fault.name)
def test_a_fault_is_seen(fault: UtilityFault, bench: Bench) -> None:
    assert same_seed(fault, bench)


def test_sound_code_passes(bench: Bench) -> None:
    """The same cells without any fault, run anew."""
    where = next(fault.where for fault in FAULTS if fault.quick)
    assert judged(bench.reference(where), bench.run(where, 0), same_seed=True).moved == set()
    fresh = bench.run(where, FRESH_SEED, TIMES_AS_MANY)
    assert judged(bench.reference(where), fresh, same_seed=False).moved == set()


@pytest.mark.parametrize("fault", FIGURE_FAULTS, ids=lambda fault: fault.name)
@pytest.mark.parametrize("same", [True, False], ids=["same seed", "fresh"])
def test_a_fault_of_a_figure_is_seen(fault: FigureFault, same: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The trials are those of the baseline. (Under other noise the script is given them, too.)"""
    stored = baselines.load_one(BASELINES, fault.experiment)
    sound = with_figure(stored)
    fault.plant(monkeypatch)
    found = compare(
        {fault.experiment: sound}, {fault.experiment: with_figure(sound)}, metrics_of_tasks(), same_seed=same
    )
    assert found.moved & BAD


@pytest.fixture(scope="module")
def suites(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[dict[str, ExperimentNumbers], dict[str, ExperimentNumbers]]:
    """The whole suite, sound, with the seed of the baselines and with another one: so many tests does a check make."""
    names = baselines.names(BASELINES)
    folders = [tmp_path_factory.mktemp("suite") for _ in range(2)]
    more = {name: TIMES_AS_MANY * baselines.load_one(BASELINES, name).trials for name in names}
    found = [
        measure(names, folder, jobs=-1, overrides={"seed": seed}, trials=trials)
        for folder, seed, trials in zip(folders, (0, FRESH_SEED), ({}, more), strict=True)
    ]
    return tuple({n.experiment: n for n in suite} for suite in found)  # type: ignore[return-value]


@pytest.mark.slow
def test_all_faults_are_seen_and_most_of_them_under_other_noise(
    bench: Bench, suites: tuple[dict[str, ExperimentNumbers], dict[str, ExperimentNumbers]]
) -> None:
    assert len(FAULTS) >= 40
    assert not compare(*suites, metrics_of_tasks(), same_seed=False).moved & BAD, "sound code passes"
    same, fresh = [], []
    for fault in FAULTS:
        reference = bench.reference(fault.where)
        same += [fault.name] if same_seed(fault, bench) else []
        with pytest.MonkeyPatch.context() as patch:
            fault.plant(patch)
            faulty = bench.run(fault.where, FRESH_SEED, TIMES_AS_MANY)
        found = judged(reference, faulty, same_seed=False, rest=suites, fault=fault)
        fresh += [fault.name] if found.moved & BAD else []
        print(f"{fault.name}: same seed {fault.name in same}, fresh {fault.name in fresh}")
    assert len(same) == len(FAULTS)
    # Those of figures are found whatever the seed: see above.
    found_in_all, planted = len(fresh) + len(FIGURE_FAULTS), len(FAULTS) + len(FIGURE_FAULTS)
    assert found_in_all >= SHARE * planted, sorted({fault.name for fault in FAULTS} - {*fresh})


@functools.cache
def smallest_experiments() -> dict[str, str]:
    """The experiment of the fewest cells in which a mechanism has errors, for every mechanism of the baselines.

    Names of the configuration only, such as fpa_fixed, are left out: they have the class of another one."""
    found: dict[str, tuple[int, str]] = {}
    for name, numbers in baselines.load(BASELINES).items():
        for cell in numbers.cells.values() if name not in CELLS else ():
            mechanism, metrics = (
                cell.labels["mechanism"],
                [metrics_of_tasks()(cell.task, column) for column in cell.values],
            )
            if any(metric is not None and metric.direction and not metric.noiseless for metric in metrics):
                found[mechanism] = min(found.get(mechanism, (10**6, "")), (len(numbers.cells), name))
    return {mechanism: experiment for mechanism, (_, experiment) in found.items() if mechanism in MECHANISMS.names()}


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", sorted({*MECHANISMS.names()} - {"zero"}))
@pytest.mark.parametrize("factor", [2.0, 0.5])
def test_the_budget_of_every_mechanism_is_guarded(mechanism: str, factor: float, bench: Bench) -> None:
    """Twice and half of the noise. `zero` has none."""
    if mechanism not in smallest_experiments():  # reading them takes a second, also where no slow test is run
        pytest.skip("it has no errors in the baselines")
    cls = MECHANISMS.get(mechanism)
    path = cls.__module__.removeprefix("dpbench.mechanisms.")
    where = ((smallest_experiments()[mechanism], (mechanism,)),)
    fault = UtilityFault(mechanism, louder(f"{path}:{cls.__qualname__}", factor), where)
    assert same_seed(fault, bench)


@pytest.mark.slow
def test_fifty_fresh_checks_of_the_suite_raise_no_alarm(tmp_path: Path) -> None:
    """With the real numbers: fifty windows of one long run, each six trials after the one before. The baselines are one fixed
    draw, which all of the checks share: an unlucky one would show here. The stated rate is 1 %; the p values are bounds some
    ten times too large, so that none of fifty is expected, and one is allowed. An hour; with LOKY_MAX_CPU_COUNT=2, half."""
    from support.utility_planting import part

    checks, old = 50, baselines.load(BASELINES)
    trials = TIMES_AS_MANY * min(n.trials for n in old.values() if n.trials > 1)
    overrides = {"seed": 11, "trials": (checks - 1) * STEP + trials}
    new = {n.experiment: n for n in measure([*old], tmp_path, jobs=-1, overrides=overrides)}
    alarms = 0
    for number in range(checks):
        cut = {name: part(numbers, number * STEP, trials) for name, numbers in new.items()}
        found = compare(old, cut, metrics_of_tasks(), same_seed=False)
        assert found.compared > 50_000
        alarms += bool(found.moved & BAD)
    assert alarms <= 1
