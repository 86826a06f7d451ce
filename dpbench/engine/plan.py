"""From a checked configuration to a plan: its settings, and the combinations left out, with reasons.

Builds the datasets and makes each mechanism and task once. Imports config, identity and the cache; imported by the runner
and the verbs.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from dpbench import fingerprints
from dpbench.config.schema import RunConfig
from dpbench.data import Data
from dpbench.engine import identity
from dpbench.errors import UserError
from dpbench.mechanisms.base import MECHANISMS
from dpbench.registry import Registry
from dpbench.results.environment import Environment
from dpbench.results.run import FLOAT, UNSTATED, DatasetUse, Run, Setting, Variant
from dpbench.results.setting import DECLARED
from dpbench.sources.base import SOURCES
from dpbench.sources.cache import describe, open_dataset, peek
from dpbench.tasks.base import TASKS


@dataclass(frozen=True)
class Part:
    """A mechanism or a task of the plan, made once: the instance, and its part of the keys."""

    variant: Variant
    instance: Any
    described: dict[str, Any]

    @classmethod
    def make(cls, variant: Variant, registry: Registry[Any]) -> Part:
        instance = registry.shared(variant.cls, **variant.params) if variant.instance is None else variant.instance
        kind = getattr(instance, "preset_of", None) or type(instance)
        # A class that is not a dataclass does not list its parameters: then those given count.
        known = dataclasses.is_dataclass(instance) and variant.instance is None
        params = fingerprints.parameters(instance, kind) if known else dict(variant.params)
        name = getattr(kind, "name", "") or fingerprints.class_path(kind)
        return cls(variant, instance, {"class": name, "params": params})


class Bounds:
    """The mechanisms of a run for each dataset, with the dataset's bound filled in for `bound: declared`."""

    def __init__(self, variants: Sequence[Variant]) -> None:
        self.variants = variants
        self._made: dict[tuple[int, int | None], Part] = {}

    def of(self, dataset: DatasetUse) -> Iterator[Part]:
        for place, variant in enumerate(self.variants):
            if variant.declared and dataset.bound is None:
                continue
            at = place, dataset.bound if variant.declared else None
            if at not in self._made:
                values = dict.fromkeys(variant.declared, dataset.bound)
                self._made[at] = Part.make(replace(variant, params={**variant.params, **values}), MECHANISMS)
            yield self._made[at]

    def unbounded(self, dataset: DatasetUse) -> list[Variant]:
        """The mechanisms that need a bound which the dataset does not declare."""
        return [variant for variant in self.variants if variant.declared and dataset.bound is None]


def _undeclared(dataset: DatasetUse) -> str:
    return f"no bound is declared: give dataset.{dataset.name}.bound=NUMBER, the most columns of one row"


@dataclass(frozen=True)
class Plan:
    """A run before it is executed."""

    config: RunConfig
    run: Run
    chunks: dict[str, int]
    """Trials per chunk, by dataset fingerprint."""
    unbuilt: tuple[str, ...] = ()
    """Datasets that are not built yet; only in a dry plan."""

    def chunk(self, setting: Setting) -> int:
        return self.chunks[setting.dataset.fingerprint]


def make_plan(config: RunConfig, *, say: Callable[[str], None] = lambda _: None) -> Plan:
    """The plan of a run, its datasets built. A dry run builds nothing and plans unbuilt datasets by their kind only."""
    mechanisms = Bounds(config.mechanisms)
    tasks = [Part.make(variant, TASKS) for variant in config.tasks]
    settings: list[Setting] = []
    left_out: dict[tuple[str, str], None] = dict.fromkeys(config.left_out)
    unbuilt, chunks = [], {"": 20}
    uses: list[DatasetUse] = []
    for dataset in config.datasets:
        fits = _fits(dataset, mechanisms, tasks, config.noise)
        data, use = _open(dataset, config.dry, say) if fits else (None, dataset)
        uses.append(use)
        if data is None:
            unbuilt += [dataset.name] if fits else []
        else:
            chunks[use.fingerprint] = _chunk_size(data, config.runner.chunk)
        described = describe(dataset.spec)
        for variant in mechanisms.unbounded(use):
            left_out[_combination(variant, use), _undeclared(use)] = None
        for mechanism in mechanisms.of(use):
            for task in tasks:
                reason = _why_not(use, mechanism, task, data, config.noise)
                if reason:
                    left_out[_combination(mechanism.variant, use), reason] = None
                    continue
                for setting in _settings(config, use, described, mechanism, task):
                    if reason := _refusal(mechanism, data, setting.epsilon):
                        named = f"{_combination(mechanism.variant, use)}, ε={setting.epsilon:g}"
                        left_out[named, reason] = None
                    else:
                        settings.append(setting)
    _check_draws(uses)
    run = Run(
        name=config.name,
        experiment=config.experiment,
        scale=config.scale,
        repetitions=config.trials,
        seed=config.seed,
        settings=tuple(settings),
        most_trials=config.most_trials,
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


def require_settings(plan: Plan) -> None:
    """UserError if nothing is left to run."""
    if not plan.run.settings:
        reasons = "; ".join(f"{setting}: {reason}" for setting, reason in plan.run.left_out)
        raise UserError(f"nothing fits together in this run: {reasons}")


def _open(dataset: DatasetUse, dry: bool, say: Callable[[str], None]) -> tuple[Data | None, DatasetUse]:
    if dry and peek(dataset.spec) is None:
        return None, dataset
    opened = open_dataset(dataset.spec, verify=not dry, say=say)
    # Only a user's own source: ours are either generators or readers of original files.
    files = opened.files if "." in dataset.source and not dataset.original else ()
    return opened.data, replace(dataset, fingerprint=opened.fingerprint, statistics=opened.statistics, files=files)


def _check_draws(uses: list[DatasetUse]) -> None:
    """UserError if several draws of the data were requested but no dataset depends on its seed."""
    found: dict[str, set[str]] = {}
    for use in uses:
        if not use.original:
            found.setdefault(repr((use.name, use.params)), set()).add(use.fingerprint or str(use.seed))
    several = len({use.seed for use in uses if not use.original}) > 1
    if several and all(len(prints) == 1 for prints in found.values()):
        names = ", ".join(dict.fromkeys(use.name for use in uses if not use.original))
        raise UserError(f"data_seeds has no effect: the seed does not change the data of {names}")


def _settings(
    config: RunConfig, dataset: DatasetUse, described: dict[str, Any], mechanism: Part, task: Part
) -> Iterator[Setting]:
    """The settings of one combination, one per epsilon."""
    code = identity.setting_code(SOURCES.get(dataset.source), mechanism.instance, task.instance)
    files = identity.declared_files(mechanism.instance, task.instance)
    declares = getattr(mechanism.instance, "not_private", None)
    guarantee = str(getattr(mechanism.instance, "privacy", "") or UNSTATED)
    neighbours = str(getattr(mechanism.instance, "neighbours", "") or "")
    not_private = str(declares()) if callable(declares) else ""
    for epsilon in config.epsilon:
        # Options that are rarely used enter the key only if they are used.
        chosen = [] if config.noise == FLOAT else [{"noise": config.noise}]
        key = fingerprints.digest([described, mechanism.described, epsilon, task.described, *chosen])
        built = bool(dataset.fingerprint)
        name = identity.setting_id(key, config.seed, dataset.fingerprint, code, files) if built else ""
        yield Setting(
            dataset,
            mechanism.variant,
            epsilon,
            task.variant,
            key,
            name,
            guarantee,
            not_private,
            neighbours,
            config.noise,
        )


def _combination(mechanism: Variant, dataset: DatasetUse) -> str:
    shown = {**mechanism.params, **dict.fromkeys(mechanism.declared, DECLARED)}
    params = ", ".join(f"{k}={v}" for k, v in shown.items())
    return f"{mechanism.name}{f'({params})' if params else ''} on {dataset.name}"


def _why_not(dataset: DatasetUse, mechanism: Part, task: Part, data: Data | None, noise: str) -> str:
    """Why a mechanism and a task do not fit a dataset; empty if they do."""
    if reason := _inexact(mechanism, noise) or _unfit(dataset, mechanism, data):
        return reason
    reason = _unfit(dataset, task, data)
    return f"the task {task.variant.name} {reason}" if reason else ""


def _fits(dataset: DatasetUse, mechanisms: Bounds, tasks: Sequence[Part], noise: str) -> bool:
    """Whether anything can be run on a dataset, judged by its kind: if not, it need not be built."""
    return any(
        not _why_not(dataset, mechanism, task, None, noise) for mechanism in mechanisms.of(dataset) for task in tasks
    )


def _unfit(dataset: DatasetUse, part: Part, data: Data | None) -> str:
    """Why a mechanism or task does not fit the dataset; judged by its kind while the dataset is not built."""
    if data is None:
        kinds = getattr(part.instance, "kinds", (dataset.kind,))
        takes = "needs" if hasattr(part.instance, "score") else "takes"
        return "" if dataset.kind in kinds else f"{takes} {' or '.join(kinds)} data, not {dataset.kind}"
    return str(part.instance.unfit(data)) if hasattr(part.instance, "unfit") else ""


def _refusal(mechanism: Part, data: Data | None, epsilon: float) -> str:
    """Why a mechanism cannot use this budget on the dataset; unknown while the dataset is not built."""
    declares = getattr(mechanism.instance, "refusal", None)
    return str(declares(data, epsilon)) if data is not None and callable(declares) else ""


def _inexact(mechanism: Part, noise: str) -> str:
    """Why a mechanism does not have the requested form of noise. Checked here, before hours of other work."""
    if noise == FLOAT:
        return ""
    if callable(declares := getattr(mechanism.instance, "inexact", None)):
        reason = str(declares())
    else:
        takes = "noise" in inspect.signature(mechanism.instance.release).parameters
        reason = "" if takes else "its `release` takes no `noise`"
    return f"no {noise} noise: {reason}" if reason else ""


def _chunk_size(data: Data, asked: int | str) -> int:
    """Trials per chunk: depends only on the data, never on the machine. Even, because trials are paired."""
    size = asked if isinstance(asked, int) else max(2, min(20, 20_000_000 // max(1, data.weight)))
    return size + size % 2
