"""From a checked configuration to a run: its settings, minus what does not fit together, with reasons.

Builds the datasets and makes each mechanism and task once. Imports config, identity and the cache; the runner and the verbs
import it.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from dpbench import fingerprints
from dpbench.config.schema import RunConfig
from dpbench.data import Data
from dpbench.engine import identity
from dpbench.mechanisms.base import MECHANISMS
from dpbench.registry import Registry
from dpbench.results.environment import Environment
from dpbench.results.run import FLOAT, UNSTATED, DatasetUse, Run, Setting, Variant
from dpbench.sources.base import SOURCES
from dpbench.sources.cache import describe, open_dataset, peek
from dpbench.tasks.base import TASKS


@dataclass(frozen=True)
class Part:
    """A mechanism or a task of the plan, made once: the instance, and how it enters keys."""

    variant: Variant
    instance: Any
    described: dict[str, Any]

    @classmethod
    def make(cls, variant: Variant, registry: Registry[Any]) -> Part:
        instance = registry.make(variant.cls, **variant.params)
        kind = getattr(instance, "preset_of", None) or type(instance)
        # What is no dataclass does not tell its parameters: then those given count.
        known = dataclasses.is_dataclass(instance)
        params = fingerprints.parameters(instance, kind) if known else dict(variant.params)
        name = getattr(kind, "name", "") or fingerprints.class_path(kind)
        return cls(variant, instance, {"class": name, "params": params})


@dataclass(frozen=True)
class Plan:
    """A run before it is carried out."""

    config: RunConfig
    run: Run
    chunks: dict[str, int]
    """Trials in a unit of work, by dataset fingerprint."""
    unbuilt: tuple[str, ...] = ()
    """Datasets that are not built yet; only in a dry plan."""

    def chunk(self, setting: Setting) -> int:
        return self.chunks[setting.dataset.fingerprint]


def make_plan(config: RunConfig, *, say: Callable[[str], None] = lambda _: None) -> Plan:
    """The plan of a run, its datasets built. A dry run builds nothing and plans what is not built by its kind alone."""
    mechanisms = [Part.make(variant, MECHANISMS) for variant in config.mechanisms]
    tasks = [Part.make(variant, TASKS) for variant in config.tasks]
    settings: list[Setting] = []
    left_out: dict[tuple[str, str], None] = {}
    unbuilt, chunks = [], {"": 20}
    for dataset in config.datasets:
        data, use = _open(dataset, config.dry, say)
        if data is None:
            unbuilt.append(dataset.name)
        else:
            chunks[use.fingerprint] = _chunk_size(data, config.runner.chunk)
        described = describe(dataset.spec)
        for mechanism in mechanisms:
            for task in tasks:
                reason = _inexact(mechanism, config.noise) or _unfit(use, mechanism, data) or _unfit(use, task, data)
                if reason:
                    left_out[_combination(mechanism.variant, use), reason] = None
                    continue
                settings += _settings(config, use, described, mechanism, task)
    run = Run(
        name=config.name,
        experiment=config.experiment,
        scale=config.scale,
        repetitions=config.trials,
        seed=config.seed,
        settings=tuple(settings),
        title=config.title,
        metrics=config.metrics,
        left_out=tuple(left_out),
        changes=config.changes,
        altered=config.altered,
        environment=Environment.here(),
        written=datetime.now(UTC).isoformat(timespec="microseconds"),
        results=config.results,
    )
    return Plan(config, run, chunks, tuple(unbuilt))


def _open(dataset: DatasetUse, dry: bool, say: Callable[[str], None]) -> tuple[Data | None, DatasetUse]:
    if dry and peek(dataset.spec) is None:
        return None, dataset
    opened = open_dataset(dataset.spec, verify=not dry, say=say)
    return opened.data, replace(dataset, fingerprint=opened.fingerprint, statistics=opened.statistics)


def _settings(
    config: RunConfig, dataset: DatasetUse, described: dict[str, Any], mechanism: Part, task: Part
) -> Iterator[Setting]:
    """The settings of one combination, one per epsilon."""
    code = identity.setting_code(SOURCES.get(dataset.source), mechanism.instance, task.instance)
    files = identity.declared_files(mechanism.instance, task.instance)
    declares = getattr(mechanism.instance, "not_private", None)
    guarantee = str(getattr(mechanism.instance, "privacy", "") or UNSTATED)
    not_private = str(declares()) if callable(declares) else ""
    for epsilon in config.epsilon:
        # What a run may choose and rarely does enters the key only where it is chosen.
        chosen = [] if config.noise == FLOAT else [{"noise": config.noise}]
        key = fingerprints.digest([described, mechanism.described, epsilon, task.described, *chosen])
        built = bool(dataset.fingerprint)
        name = identity.setting_id(key, config.seed, dataset.fingerprint, code, files) if built else ""
        yield Setting(
            dataset, mechanism.variant, epsilon, task.variant, key, name, guarantee, not_private, config.noise
        )


def _combination(mechanism: Variant, dataset: DatasetUse) -> str:
    params = ", ".join(f"{k}={v}" for k, v in mechanism.params.items())
    return f"{mechanism.name}{f'({params})' if params else ''} on {dataset.name}"


def _unfit(dataset: DatasetUse, part: Part, data: Data | None) -> str:
    """Why a mechanism or task does not take the dataset; by its kind alone while the dataset is not built."""
    if data is None:
        kinds = getattr(part.instance, "kinds", (dataset.kind,))
        return "" if dataset.kind in kinds else f"takes {' or '.join(kinds)} data, not {dataset.kind}"
    return str(part.instance.unfit(data)) if hasattr(part.instance, "unfit") else ""


def _inexact(mechanism: Part, noise: str) -> str:
    """Why a mechanism has no noise of the form that the run asks for: known before hours of other work."""
    if noise == FLOAT:
        return ""
    if callable(declares := getattr(mechanism.instance, "inexact", None)):
        reason = str(declares())
    else:
        takes = "noise" in inspect.signature(mechanism.instance.release).parameters
        reason = "" if takes else "its `release` takes no `noise`"
    return f"no {noise} noise: {reason}" if reason else ""


def _chunk_size(data: Data, asked: int | str) -> int:
    """Trials in a unit of work: a property of the data alone, never of the machine. Even, as trials are paired."""
    size = asked if isinstance(asked, int) else max(2, min(20, 20_000_000 // max(1, data.weight)))
    return size + size % 2
