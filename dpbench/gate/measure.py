"""Measures utility numbers: runs experiments at smoke scale and collects what `check` compares.

Imported by the verb `check` and by the tests of planted faults; calls the engine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path

import pyarrow as pa

from dpbench.config.overrides import OverrideValue
from dpbench.engine.execute import Result, execute
from dpbench.engine.plan import Plan, plan_experiment
from dpbench.engine.progress import Progress
from dpbench.gate.baselines import FIGURE, CellNumbers, ExperimentNumbers
from dpbench.gate.cells import CELLS
from dpbench.gate.figure import CannotMake, figure_numbers
from dpbench.identity import canonical, digest
from dpbench.storage.frame import CHOSEN, DATA_SEED, DIAGNOSTIC, EXPECTED, METRIC, PAIRS, SECONDS
from dpbench.storage.store import Store

SCALE = "smoke"
TIMES = ("seconds", "*_seconds", "*_per_second", "memory")


def measure(
    experiments: Sequence[str],
    results: Path,
    *,
    jobs: int,
    overrides: Mapping[str, OverrideValue] | None = None,
    trials: Mapping[str, int] | None = None,
    folders: Sequence[Path] = (),
    progress: Progress | None = None,
) -> Iterator[ExperimentNumbers]:
    """Run experiments of the suite together, and collect the numbers of each as soon as it is done.

    trials: number of trials by experiment; experiments that are not listed have that of smoke scale, or of `overrides`.
    """
    progress = progress or Progress()
    plans = []
    for name in experiments:
        own: dict[str, OverrideValue] = {"trials": trials[name]} if trials and name in trials else {}
        words = {**(overrides or {}), **own}
        plans.append(
            CELLS[name].plan(results, jobs, words, progress.prepare)
            if name in CELLS
            else plan_experiment(
                name, scale=SCALE, results=results, jobs=jobs, overrides=words, folders=folders, say=progress.prepare
            )
        )
    for result in execute(plans, progress):
        result.require_done()
        yield with_figure(collect(result))


def collect(result: Result) -> ExperimentNumbers:
    """The numbers of every setting of an executed plan, still without its figure."""
    plan = result.plan
    store = Store(plan.run.results)
    cells: dict[str, CellNumbers] = {}
    failures: dict[str, str] = {}
    for setting in plan.run.settings:
        if failed := result.failures.get(setting.id):
            failures[setting.key] = f"{len(failed)} trials failed: {failed[0].error}"
        table = store.read(setting.id, plan.run.repetitions_of(setting))
        if table is not None:
            values, words = _columns(table)
            seconds = sum(table[SECONDS].to_pylist())
            labels = setting.labels() | ({DATA_SEED: setting.dataset.seed} if len(plan.run.data_seeds) > 1 else {})
            cells[setting.key] = CellNumbers(canonical(labels), setting.task.cls, values, words, seconds)
    data = {name: _fingerprint(plan, name) for name in plan.run.datasets}
    return ExperimentNumbers(plan.run.name, cells, data, trials=plan.run.repetitions, failures=failures, run=plan.run)


def _fingerprint(plan: Plan, name: str) -> str:
    """The fingerprint of a dataset; a joint one if it is built in several ways."""
    uses = (setting.dataset for setting in plan.run.settings)
    fingerprints = sorted({use.fingerprint for use in uses if use.name == name})
    return fingerprints[0] if len(fingerprints) == 1 else digest(fingerprints)


def with_figure(numbers: ExperimentNumbers) -> ExperimentNumbers:
    """The same with the figure's numbers, unless cells failed. A script that cannot compute the numbers is a failure."""
    if numbers.failures:
        return numbers
    try:
        return replace(numbers, figure=figure_numbers(numbers))
    except CannotMake as problem:
        return replace(numbers, failures={**numbers.failures, FIGURE: str(problem)})


def _columns(table: pa.Table) -> tuple[dict[str, list[float]], dict[str, list[str]]]:
    """The numbers and the texts of a table of trials, without times."""
    values: dict[str, list[float]] = {}
    words: dict[str, list[str]] = {}
    for column in table.column_names:
        if not column.startswith((METRIC, EXPECTED, CHOSEN, DIAGNOSTIC)) or is_time(column):
            continue
        name, cells = column.removeprefix(METRIC), table[column].to_pylist()
        if name in PAIRS:
            values[name] = [value for value in cells if value is not None]
        elif any(isinstance(value, str) for value in cells):
            words[name] = ["" if value is None else str(value) for value in cells]
        else:  # a parameter that only some of the trials have
            values[name] = [float("nan") if value is None else value for value in cells]
    return values, words


def is_time(column: str) -> bool:
    """Whether a column is a time, or another cost. Costs depend on the machine and are never compared."""
    return any(fnmatchcase(column.rpartition(".")[2], pattern) for pattern in TIMES)
