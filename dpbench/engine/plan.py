"""From a checked run to cells: one dataset, one mechanism, one epsilon, one task; minus what does not fit, with reasons.

Imports config and identity; the runner, the store and the verbs import it.
"""

from __future__ import annotations

import dataclasses
import json
import uuid
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dpbench import fingerprints
from dpbench.config.schema import Dataset, RunConfig, Variant
from dpbench.data import Data
from dpbench.mechanisms.base import MECHANISMS
from dpbench.registry import Registry
from dpbench.sources.cache import describe, open_dataset, peek
from dpbench.tasks.base import TASKS

SCHEMA = 1  # version of the stored rows


@dataclass(frozen=True)
class Cell:
    """One setting of a plan. `key` names the setting and seeds its trials; `id` also names data and code, and is
    where the store keeps it: changed code gets new results from the same noise."""

    dataset: Dataset
    mechanism: Variant
    epsilon: float
    task: Variant
    key: str
    id: str = ""
    chunk: int = 1

    def labels(self) -> dict[str, Any]:
        """The columns that describe this cell in a frame of trials."""
        row: dict[str, Any] = {"dataset": self.dataset.name, "mechanism": self.mechanism.name}
        row |= {"epsilon": self.epsilon, "task": self.task.name}
        for prefix, params in (
            ("dataset", self.dataset.given),
            ("mechanism", self.mechanism.params),
            ("task", self.task.params),
        ):
            row |= {f"{prefix}.{name}": value for name, value in params.items()}
        return row


@dataclass(frozen=True)
class Plan:
    """The cells of a run, and what was left out of the product and why."""

    run: RunConfig
    cells: tuple[Cell, ...]
    left_out: tuple[tuple[str, str], ...]
    """(setting, reason) of each combination that does not fit."""
    unbuilt: tuple[str, ...] = ()
    """Datasets that are not built yet; only in a dry plan."""

    @property
    def trials(self) -> int:
        return len(self.cells) * self.run.trials


def make_plan(run: RunConfig, *, say: Callable[[str], None] = lambda _: None) -> Plan:
    """The plan of a run, its datasets built. A dry run builds nothing and plans what is not built by its kind alone."""
    cells: list[Cell] = []
    left_out: dict[tuple[str, str], None] = {}
    unbuilt = []
    for dataset in run.datasets:
        data, fingerprint = _open(dataset, run.dry, say)
        if data is None:
            unbuilt.append(dataset.name)
        for cell in _product(run, dataset):
            reason = _unfit(cell, data)
            if reason:
                left_out[_setting(cell), reason] = None
            else:
                cells.append(_identify(cell, run.seed, data, fingerprint, run.runner.chunk))
    return Plan(run, tuple(cells), tuple(left_out), tuple(unbuilt))


def _open(dataset: Dataset, dry: bool, say: Callable[[str], None]) -> tuple[Data | None, str]:
    if dry and peek(dataset.spec) is None:
        return None, ""
    opened = open_dataset(dataset.spec, verify=not dry, say=say)
    return opened.data, opened.fingerprint


def _product(run: RunConfig, dataset: Dataset) -> Iterator[Cell]:
    described = describe(dataset.spec)
    for mechanism in run.mechanisms:
        for task in run.tasks:
            for epsilon in run.epsilon:
                parts = [described, _describe(mechanism, MECHANISMS), epsilon, _describe(task, TASKS)]
                yield Cell(dataset, mechanism, epsilon, task, fingerprints.digest(parts))


def _describe(variant: Variant, registry: Registry[Any]) -> dict[str, Any]:
    instance = registry.make(variant.cls, **variant.params)
    cls = type(instance)
    # What is no dataclass does not tell its parameters: then those given count.
    params = fingerprints.parameters(instance) if dataclasses.is_dataclass(instance) else dict(variant.params)
    return {"class": getattr(cls, "name", "") or fingerprints.class_path(cls), "params": params}


def _setting(cell: Cell) -> str:
    params = ", ".join(f"{k}={v}" for k, v in cell.mechanism.params.items())
    return f"{cell.mechanism.name}{f'({params})' if params else ''} on {cell.dataset.name}"


def _unfit(cell: Cell, data: Data | None) -> str:
    for variant, registry in ((cell.mechanism, MECHANISMS), (cell.task, TASKS)):
        instance: Any = registry.make(variant.cls, **variant.params)
        if data is None:
            kinds = getattr(instance, "kinds", (cell.dataset.kind,))
            if cell.dataset.kind not in kinds:
                return f"takes {' or '.join(kinds)} data, not {cell.dataset.kind}"
        elif hasattr(instance, "unfit") and (reason := instance.unfit(data)):
            return str(reason)
    return ""


def _identify(cell: Cell, seed: int, data: Data | None, fingerprint: str, chunk: int | str) -> Cell:
    """The cell with its id (nothing is stored under a dataset that was never built) and its chunk size."""
    versions = [fingerprints.code_version(r.get(v.cls)) for v, r in ((cell.mechanism, MECHANISMS), (cell.task, TASKS))]
    name = fingerprints.digest([cell.key, seed, fingerprint, *versions, SCHEMA]) if data is not None else ""
    return replace(cell, id=name, chunk=_chunk_size(data, chunk))


def _chunk_size(data: Data | None, asked: int | str) -> int:
    """Trials a unit of work: a property of the data alone, never of the machine, so that every run cuts alike."""
    if isinstance(asked, int):
        return asked
    return 20 if data is None else max(2, min(20, 20_000_000 // max(1, data.weight)))


def chunks(cell: Cell, trials: int) -> list[tuple[int, int]]:
    """The units of work of a cell: half-open ranges of trial numbers."""
    return [(start, min(start + cell.chunk, trials)) for start in range(0, trials, cell.chunk)]


def manifest_path(results: Path, experiment: str, scale: str) -> Path:
    return results / "plans" / f"{experiment}@{scale}.json"


def save_manifest(plan: Plan) -> Path:
    """What `figures`, `track` and `report` need to find the trials of a run again: its cells and their labels."""
    run = plan.run
    path = manifest_path(run.results, run.experiment, run.scale)
    body = {
        "experiment": run.experiment,
        "title": run.title,
        "scale": run.scale,
        "trials": run.trials,
        "seed": run.seed,
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
        "changes": list(run.changes),
        "altered": list(run.altered),
        "cells": [{"id": c.id, "key": c.key, "labels": fingerprints.canonical(c.labels())} for c in plan.cells],
        "datasets": {d.name: asdict(d.spec) for d in run.datasets},
        "left_out": [list(pair) for pair in plan.left_out],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}")
    aside.write_text(json.dumps(body, indent=1))
    aside.replace(path)
    return path
