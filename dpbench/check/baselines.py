"""Utility numbers of one code version: measured from a run of the suite, kept as text files that diff well.

One JSON file an experiment under results/baselines, a line a metric, a number a trial. Times are never among them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from dpbench.config.words import Value
from dpbench.engine.plan import Plan
from dpbench.engine.runner import Result
from dpbench.engine.suite import run_experiments
from dpbench.errors import UserError
from dpbench.fingerprints import canonical
from dpbench.results.frame import METRIC, PAIRS
from dpbench.results.store import Store

SCALE = "smoke"
DIGITS = 12  # significant ones; the exact comparison asks for nine
TIMES = ("seconds", "*_seconds", "*_per_second")


@dataclass(frozen=True)
class CellNumbers:
    """The trials of one cell: its labels, where its directions are declared, and a list of numbers a metric."""

    labels: Mapping[str, Any]
    task: str
    values: Mapping[str, list[float]]


@dataclass(frozen=True)
class Numbers:
    """All cells of one experiment."""

    experiment: str
    cells: Mapping[str, CellNumbers]
    data: Mapping[str, str] = field(default_factory=dict)
    """Fingerprint of each dataset: tells moved data from moved mechanisms."""
    failures: Mapping[str, str] = field(default_factory=dict)
    """Cells with failed trials, and why; never stored."""


def measure(
    experiments: Sequence[str],
    results: Path,
    *,
    jobs: int,
    overrides: Mapping[str, Value] | None = None,
    folders: Sequence[Path] = (),
    say: Callable[[str], None],
) -> Iterator[Numbers]:
    """Run experiments of the suite together, and collect the numbers of each as soon as it is done."""
    for plan, result in run_experiments(
        experiments, results=results, scale=SCALE, jobs=jobs, overrides=overrides, folders=folders, say=say
    ):
        yield collect(plan, result)


def collect(plan: Plan, result: Result) -> Numbers:
    """The metrics of every setting of a plan that was carried out."""
    store, cells, failures = Store(plan.run.results), {}, {}
    for setting in plan.run.settings:
        if found := result.failures.get(setting.id):
            failures[setting.key] = f"{len(found)} trials failed: {found[0].error}"
        table = store.read(setting.id, plan.run.repetitions)
        if table is not None:
            names = [c.removeprefix(METRIC) for c in table.column_names if c.startswith(METRIC)]
            values = {
                name: table[METRIC + name].to_pylist() for name in names if name not in PAIRS and not is_time(name)
            }
            cells[setting.key] = CellNumbers(canonical(setting.labels()), setting.task.cls, values)
    data = {name: dataset.fingerprint for name, dataset in plan.run.datasets.items()}
    return Numbers(plan.run.name, cells, data, failures)


def is_time(metric: str) -> bool:
    """Times depend on the machine: they are never compared."""
    return any(fnmatchcase(metric, pattern) for pattern in TIMES)


def names(folder: Path) -> list[str]:
    """The experiments whose numbers are stored."""
    return [path.relative_to(folder).with_suffix("").as_posix() for path in sorted(folder.glob("**/*.json"))]


def load(folder: Path, experiments: Iterable[str] | None = None) -> dict[str, Numbers]:
    """The stored numbers of these experiments (default: of every one there is)."""
    return {name: load_one(folder, name) for name in (names(folder) if experiments is None else experiments)}


def load_one(folder: Path, experiment: str) -> Numbers:
    path = folder / f"{experiment}.json"
    try:
        body = json.loads(path.read_text())
        cells = {key: CellNumbers(c["labels"], c["task"], c["values"]) for key, c in body["cells"].items()}
        for key, cell in cells.items():
            _check_shape(key, cell)
        return Numbers(experiment, cells, dict(body["data"].items()))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        problem = f"{path} is no baseline ({type(error).__name__}: {error})"
        remedy = f"restore it from git, or make it anew with check --update {experiment}"
        raise UserError(f"{problem}: {remedy}") from None


def _check_shape(key: str, cell: CellNumbers) -> None:
    """A baseline that was edited by hand must not pass for one that holds."""
    if not isinstance(cell.labels, dict) or "task" not in cell.labels or not isinstance(cell.task, str):
        raise ValueError(f"cell {key} lacks its labels")
    if not isinstance(cell.values, dict) or not cell.values:
        raise ValueError(f"cell {key} has no metrics")
    for metric, values in cell.values.items():
        # bool is an int to Python, and no metric.
        if not isinstance(values, list) or not values or any(type(value) not in (int, float) for value in values):
            raise ValueError(f"{metric} of cell {key} is no list of numbers")


def save(folder: Path, numbers: Numbers) -> Path:
    """Written so that a changed metric is a changed line."""
    cells = []
    for key, cell in numbers.cells.items():
        lines = ",\n".join(f"   {json.dumps(name)}: {_numbers(values)}" for name, values in cell.values.items())
        labels = json.dumps(cell.labels, ensure_ascii=False)
        cells.append(f'  "{key}": {{"labels": {labels}, "task": "{cell.task}", "values": {{\n{lines}}}}}')
    text = f'{{"data": {json.dumps(numbers.data)},\n "cells": {{\n' + ",\n".join(cells) + "}}\n"
    path = folder / f"{numbers.experiment}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def _numbers(values: list[float]) -> str:
    # NaN as Python's json reads it back: a variance over a single trial is one.
    shown = [f"{value:.{DIGITS}g}" if value == value else "NaN" for value in values]
    return "[" + ", ".join(shown).replace("inf", "Infinity") + "]"


def forget(folder: Path, known: set[str]) -> list[str]:
    """Remove the files of experiments that are no more."""
    gone = [name for name in names(folder) if name not in known]
    for name in gone:
        (folder / f"{name}.json").unlink()
    return gone
