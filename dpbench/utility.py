"""Utility numbers of one code version: measured from a run of the suite, kept as text files that diff well.

One JSON file an experiment under results/baselines, a line a metric, a number a trial. Times are never among them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from dpbench.engine.plan import Plan
from dpbench.engine.runner import Result
from dpbench.engine.store import Store
from dpbench.errors import UserError
from dpbench.identity import canonical
from dpbench.suite import run_experiment

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
            columns = [c for c in table.column_names if c not in APART and not c.startswith("info.") and not is_time(c)]
            values = {c: table[c].to_pylist() for c in columns if str(table.schema.field(c).type) == "double"}
            cells[cell.key] = CellNumbers(canonical(cell.labels()), cell.task.cls, values)
    data = {d.name: peek(d.spec) or "" for d in plan.run.datasets}
    return Numbers(plan.run.experiment, cells, data, failures)


def is_time(metric: str) -> bool:
    """Times depend on the machine: they are never compared."""
    return any(fnmatchcase(metric, pattern) for pattern in TIMES)


def load(folder: Path) -> dict[str, Numbers]:
    """The stored numbers of every experiment."""
    found = {}
    for path in sorted(folder.glob("**/*.json")):
        experiment = path.relative_to(folder).with_suffix("").as_posix()
        try:
            body = json.loads(path.read_text())
            cells = {key: CellNumbers(c["labels"], c["task"], c["values"]) for key, c in body["cells"].items()}
            found[experiment] = Numbers(experiment, cells, body["data"])
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            problem = f"{path} is no baseline ({type(error).__name__}: {error})"
            raise UserError(
                f"{problem}: restore it from git, or make it anew with check --update {experiment}"
            ) from None
    return found


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
    gone = [name for name in load(folder) if name not in known]
    for name in gone:
        (folder / f"{name}.json").unlink()
    return gone
