"""Utility numbers of one code version: measured from a run of the suite, kept as text files that diff well.

One JSON file an experiment under results/baselines, a line a metric, a number a trial. Times are never among them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from dpbench.engine.plan import Plan
from dpbench.engine.runner import Result
from dpbench.engine.suite import run_experiment
from dpbench.errors import UserError
from dpbench.fingerprints import canonical
from dpbench.results.store import Store

SCALE = "smoke"
DIGITS = 12  # significant ones; the exact comparison asks for nine
APART = ("trial", "variance")  # the latter is one number for all trials of a chunk, no trial's own
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
    experiment: str, results: Path, *, jobs: int, overrides: tuple[str, ...] = (), say: Callable[[str], None]
) -> Numbers:
    """Run one experiment of the suite and collect its numbers."""
    plan, result = run_experiment(experiment, results=results, scale=SCALE, jobs=jobs, overrides=overrides, say=say)
    return collect(plan, result, results)


def collect(plan: Plan, result: Result, results: Path) -> Numbers:
    from dpbench.sources.cache import peek

    store, cells, failures = Store(results), {}, {}
    for cell in plan.cells:
        if found := result.failures.get(cell.id):
            failures[cell.key] = f"{len(found)} trials failed: {found[0].error}"
        table = store.read(cell.id, plan.run.trials)
        if table is not None:
            apart = (*APART, *(c for c in table.column_names if c.startswith(("chosen.", "diagnostic."))))
            columns = [c for c in table.column_names if c not in apart and not is_time(c)]
            values = {c: table[c].to_pylist() for c in columns if str(table.schema.field(c).type) == "double"}
            cells[cell.key] = CellNumbers(canonical(cell.labels()), cell.task.cls, values)
    data = {d.name: peek(d.spec) or "" for d in plan.run.datasets}
    return Numbers(plan.run.experiment, cells, data, failures)


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
