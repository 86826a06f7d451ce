"""Plants faults of utility and runs the experiments that they touch, in this process, to see what `check` says.

The reference is measured here and not read from the baselines, so that a test says something about the check and not about
how fresh the baselines are.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from dpbench.config.compose import compose
from dpbench.engine import worker
from dpbench.engine.plan import Plan, make_plan
from dpbench.gate.baselines import ExperimentNumbers, per_cell
from dpbench.gate.comparison import compare
from dpbench.gate.entries import UtilityComparison, metrics_of_tasks
from dpbench.gate.measure import collect
from dpbench.gate.outcome import failing
from dpbench.ranking.rounds import execute_one

from support.planting import change_at, less

Plant = Callable[[pytest.MonkeyPatch], None]
Where = tuple[tuple[str, tuple[str, ...]], ...]
"""Experiments, and the mechanisms that are run in each."""

BAD = failing(strict=False, allow_better=False)
MOST_CELLS = 60
"""Of an experiment that a fault is run in: enough to be caught, few enough to be quick."""


@dataclass(frozen=True)
class UtilityFault:
    """What a careless change does to the numbers."""

    name: str
    plant: Plant
    where: Where
    quick: bool = False
    """Part of the normal suite; all others are slow ones."""
    tasks: bool = False
    """It is in a task or in the engine: cells of other mechanisms would move, too."""


def at(path: str, change: Callable[..., Any]) -> Plant:
    """Changes "package.module:name" of dpbench; `change` takes the right one first."""

    return lambda patch: change_at(patch, path, change)


def louder(cls: str, factor: float, method: str = "publish") -> Plant:
    """Every noise scale of a mechanism's class times `factor`, as scales go with 1/ε."""
    return at(
        f"mechanisms.{cls}.{method}",
        lambda right, self, data, epsilon, noise: right(self, data, epsilon / factor, noise),
    )


def noisier(cls: str, factor: float, method: str = "publish") -> Plant:
    """The noise that a class draws times `factor`, while what it says of it stays as it was."""

    class Noisier:
        def __init__(self, noise: Any) -> None:
            self.noise = noise

        def __getattr__(self, kind: str) -> Any:
            drawn = getattr(self.noise, kind)
            if kind not in ("laplace", "geometric", "gaussian"):
                return drawn
            change = less(1 / factor)
            return lambda values, **more: change(kind, partial(drawn, values), {"values": values, **more})

    return at(
        f"mechanisms.{cls}.{method}",
        lambda right, self, data, epsilon, noise: right(self, data, epsilon, Noisier(noise)),
    )


@dataclass
class Bench:
    """Runs parts of experiments with and without faults. Sound runs are kept."""

    folder: Path
    sound: dict[tuple[Where, int], dict[str, ExperimentNumbers]] = field(default_factory=dict)

    def reference(self, where: Where, seed: int = 0) -> dict[str, ExperimentNumbers]:
        if (where, seed) not in self.sound:
            self.sound[where, seed] = self.run(where, seed)
        return self.sound[where, seed]

    def run(self, where: Where, seed: int, times: int = 1) -> dict[str, ExperimentNumbers]:
        """The numbers of these experiments as the code is now, with `times` as many trials as the baselines have.

        Nothing that sound code remembered is used.
        """
        worker._opened.cache_clear()
        found = {}
        for experiment, mechanisms in where:
            results = self.folder / "results"
            plan = _planned(experiment, mechanisms, seed, results, times)
            result = execute_one(plan)
            assert not result.failed, next(iter(result.failures.values()))[0].error
            found[experiment] = collect(result)  # without its figure, which needs all mechanisms
            shutil.rmtree(results, ignore_errors=True)
        worker._opened.cache_clear()
        return found


def _planned(experiment: str, mechanisms: tuple[str, ...], seed: int, results: Path, times: int) -> Plan:
    settings = {"mechanism": list(mechanisms), "runner.jobs": 1, "tracking": "none", "seed": seed, "results": results}
    if times > 1:
        settings["trials"] = times * compose(experiment, "smoke", settings).trials
    # Planned again each time: a plan names its code, and a worker refuses to run other code under that name.
    plan = make_plan(compose(experiment, "smoke", settings))
    step = -(-len(plan.run.settings) // MOST_CELLS)
    return replace(plan, run=replace(plan.run, settings=plan.run.settings[::step]))


Suite = Mapping[str, ExperimentNumbers]


def judged(
    old: Suite, new: Suite, *, same_seed: bool, rest: tuple[Suite, Suite] = ({}, {}), fault: UtilityFault | None = None
) -> UtilityComparison:
    """What `check` says. `rest`: the whole suite, sound, before and now: as many tests are made as in a whole check. Cells
    of it that the fault would have moved are left out."""
    if fault is not None:
        touched = {mechanism for _, mechanisms in fault.where for mechanism in mechanisms}
        before, now = (_without(suite, {*old}, touched, fault.tasks) for suite in rest)
        old, new = {**before, **old}, {**now, **new}
    return compare(old, new, metrics_of_tasks(), same_seed=same_seed)


def _without(
    suite: Suite, experiments: Iterable[str], mechanisms: set[str], tasks: bool
) -> dict[str, ExperimentNumbers]:
    found = {}
    for name, numbers in suite.items():
        if name in experiments and tasks:
            continue
        cells = {k: c for k, c in numbers.cells.items() if c.labels.get("mechanism") not in mechanisms}
        found[f"{name} (rest)"] = replace(numbers, cells=cells, figure=None, failures={})
    return found


def part(numbers: ExperimentNumbers, first: int, trials: int) -> ExperimentNumbers:
    """Some trials of a long run, as if they were a run of their own. `first` is even: pairs of trials stay together."""

    def cut(name: str, values: list[Any]) -> list[Any]:
        skipped, size = per_cell(name, first), per_cell(name, trials)
        return values[skipped : skipped + size]

    cells = {
        key: replace(
            cell,
            values={name: cut(name, values) for name, values in cell.values.items()},
            words={name: cut(name, values) for name, values in cell.words.items()},
        )
        for key, cell in numbers.cells.items()
    }
    return replace(numbers, cells=cells, trials=trials, figure=None)
