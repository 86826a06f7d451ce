"""From a checked configuration to a plan: its settings, and the combinations left out, with reasons.

Builds the datasets and makes each mechanism and task once. Imports config, identity and the cache; imported by `execute` and by
everything that runs trials.
"""

from __future__ import annotations

import dataclasses
import inspect
import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dpbench import identity
from dpbench.config.compose import compose
from dpbench.config.overrides import OverrideValue
from dpbench.config.schema import Parts, Rho, RunConfig
from dpbench.data import Data
from dpbench.engine.budgets import spend
from dpbench.engine.worker import declared_files
from dpbench.errors import UserError
from dpbench.mechanisms.base import MECHANISMS
from dpbench.model.environment import Environment
from dpbench.model.run import FLOAT, UNSTATED, Dataset, Run, Setting, Variant
from dpbench.model.setting import DECLARED, individuals_in
from dpbench.registry import Registry
from dpbench.sources.base import SOURCES
from dpbench.sources.cache import describe, open_dataset, peek
from dpbench.sources.cards import load
from dpbench.tasks.base import TASKS

QUIET: Mapping[str, OverrideValue] = {"tracking": "none", "figure": False}
"""The settings of runs that another verb or a program makes."""


@dataclass(frozen=True)
class Plan:
    """A run before it is executed."""

    config: RunConfig
    run: Run
    chunks: dict[str, int]
    """Trials per chunk, by dataset fingerprint."""
    unbuilt: tuple[str, ...] = ()
    """Datasets that are not built yet; only in a dry plan."""
    seconds: float = 0.0
    """The time that planning and building took."""
    rho: Mapping[str, float] = field(default_factory=dict)
    """The budget of zCDP behind an ε, by key; empty for settings whose ε was given."""

    def chunk(self, setting: Setting) -> int:
        return self.chunks[setting.dataset.fingerprint]


def make_plan(config: RunConfig, *, say: Callable[[str], None] = lambda _: None) -> Plan:
    """The plan of a run, its datasets built. A dry run builds nothing and plans unbuilt datasets by their kind only."""
    began = time.perf_counter()
    identity.begin_plan()
    settings: dict[tuple[str, str, str], Setting] = {}  # readings share most of their settings
    left_out: dict[tuple[str, str], None] = dict.fromkeys(config.left_out)
    unbuilt, chunks, own = [], {"": 20}, 0
    rho: dict[str, float] = {}
    opened: dict[str, tuple[Data | None, Dataset]] = {}
    for parts in config.parts:
        tasks = [(variant, _made(variant, TASKS)) for variant in parts.tasks]
        for dataset in parts.datasets:
            mechanisms = _mechanisms(parts, dataset, left_out)
            # Judged by its kind: a dataset on which nothing can be run need not be built.
            fits = any(not _why_not(dataset, m, t, None, config.noise) for _, m in mechanisms for t in tasks)
            if (key := repr(dataset)) not in opened:
                opened[key] = _open(dataset, config.dry, say) if fits else (None, dataset)
            data, use = opened[key]
            if data is None:
                unbuilt += [dataset.name] if fits else []
            else:
                chunks[use.fingerprint] = _chunk_size(data, config.runner.chunk)
            for (variant, mechanism), task in itertools.product(mechanisms, tasks):
                if reason := _why_not(use, mechanism, task, data, config.noise):
                    left_out[_combination(variant, use), reason] = None
                    continue
                groups, refused = spend(parts.epsilon, (variant, mechanism), data)
                for chosen, budgets in groups:
                    for setting in _settings(config, budgets, use, chosen, task):
                        budget = budgets[setting.epsilon]
                        if reason := _refusal(chosen[1], data, setting.epsilon):
                            refused[budget] = reason
                            continue
                        settings.setdefault((setting.key, use.fingerprint, repr(setting.labels())), setting)
                        if isinstance(budget, Rho):
                            rho[setting.key] = budget.rho
                for budget, reason in refused.items():
                    stated = f"ε={budget:g}" if isinstance(budget, float) else str(budget)
                    left_out[f"{_combination(variant, use)}, {stated}", reason] = None
        own = own or len(settings)
    _check_draws([use for _, use in opened.values()])
    run = Run(
        name=config.name,
        experiment=config.experiment,
        scale=config.scale,
        repetitions=config.trials,
        seed=config.seed,
        settings=tuple(settings.values()),
        added=len(settings) - own if config.readings_added else 0,
        most_trials=config.most_trials,
        case_trials=config.case_trials,
        look=config.look,
        title=config.title,
        metrics=config.metrics,
        left_out=tuple(left_out),
        changes=config.changes,
        altered=config.altered,
        environment=Environment.here(),
        written=datetime.now(UTC).isoformat(timespec="microseconds"),
        results=config.results,
    )
    return Plan(config, run, chunks, tuple(unbuilt), time.perf_counter() - began, rho)


def plan_experiment(
    experiment: str,
    *,
    scale: str,
    results: Path,
    jobs: int = -1,
    overrides: Mapping[str, OverrideValue] | None = None,
    folders: Sequence[Path] = (),
    say: Callable[[str], None] = lambda _: None,
) -> Plan:
    """The plan of an experiment for other verbs than `run`: without tracking and figure."""
    words = {"results": results, "runner.jobs": jobs, **QUIET, **(overrides or {})}
    return make_plan(compose(experiment, scale, words, folders), say=say)


def require_settings(plan: Plan) -> None:
    """UserError if nothing is left to run."""
    if not plan.run.settings:
        reasons = "; ".join(f"{combination}: {reason}" for combination, reason in plan.run.left_out)
        raise UserError(f"nothing fits together in this run: {reasons}")


def _mechanisms(parts: Parts, dataset: Dataset, left_out: dict[tuple[str, str], None]) -> list[tuple[Variant, Any]]:
    """The mechanisms for a dataset, with its declared bound. Those that need one which it does not declare are left out."""
    mechanisms = []
    for variant in parts.mechanisms:
        if variant.declared and dataset.bound is None:
            undeclared = f"no bound is declared: give dataset.{dataset.name}.bound=NUMBER, the most columns of one row"
            left_out[_combination(variant, dataset), undeclared] = None
        else:
            bounded = variant.with_bound(dataset.bound)
            mechanisms.append((bounded, _made(bounded, MECHANISMS)))
    return mechanisms


def _open(dataset: Dataset, dry: bool, say: Callable[[str], None]) -> tuple[Data | None, Dataset]:
    if dry and peek(dataset) is None:
        return None, dataset
    opened = open_dataset(dataset, verify=not dry, say=say)
    # Only a user's own source: ours are either generators or readers of original files.
    files = opened.files if "." in dataset.source and not dataset.original else ()
    here, whole = (
        individuals_in(facts) for facts in (opened.statistics, load(dataset.name).original if dataset.original else {})
    )
    individuals = (here, whole) if 0 < here < whole else (0, 0)
    used = replace(dataset, fingerprint=opened.fingerprint, statistics=opened.statistics, files=files)
    return opened.data, replace(used, individuals=individuals)


def _check_draws(uses: list[Dataset]) -> None:
    """UserError if several draws of the data were requested but no dataset depends on its seed."""
    fingerprints: dict[str, set[str]] = {}
    for use in uses:
        if not use.original:
            fingerprints.setdefault(repr((use.name, use.params)), set()).add(use.fingerprint or str(use.seed))
    several = len({use.seed for use in uses if not use.original}) > 1
    if several and all(len(prints) == 1 for prints in fingerprints.values()):
        names = ", ".join(dict.fromkeys(use.name for use in uses if not use.original))
        raise UserError(f"data_seeds has no effect: the seed does not change the data of {names}")


def _settings(
    config: RunConfig,
    epsilons: Iterable[float],
    dataset: Dataset,
    mechanism: tuple[Variant, Any],
    task: tuple[Variant, Any],
) -> Iterator[Setting]:
    """The settings of one combination, one per epsilon."""
    instances = mechanism[1], task[1]
    code = identity.setting_code(SOURCES.get(dataset.source), *instances)
    files = declared_files(*instances)
    source, *parts = describe(dataset), describe_variant(*mechanism), describe_variant(*task)
    declares = getattr(mechanism[1], "not_private", None)
    facts = {
        "guarantee": str(getattr(mechanism[1], "privacy", "") or UNSTATED),
        "not_private": str(declares()) if callable(declares) else "",
        "neighbours": str(getattr(mechanism[1], "neighbours", "") or ""),
    }
    for epsilon in epsilons:
        # Options that are rarely used enter the key only if they are used.
        chosen = [] if config.noise == FLOAT else [{"noise": config.noise}]
        key = identity.digest([source, parts[0], epsilon, parts[1], *chosen])
        built = bool(dataset.fingerprint)
        id = identity.setting_id(key, config.seed, dataset.fingerprint, code, files) if built else ""
        yield Setting(dataset, mechanism[0], epsilon, task[0], key, id, noise=config.noise, **facts)


def _made(variant: Variant, registry: Registry[Any]) -> Any:
    return registry.shared(variant.cls, **variant.params) if variant.instance is None else variant.instance


def describe_variant(variant: Variant, instance: Any) -> dict[str, Any]:
    """What a key has of a mechanism or a task: its class, and its parameters that differ from the defaults."""
    kind = getattr(instance, "preset_of", None) or type(instance)
    # A class that is not a dataclass does not list its parameters: then those given count.
    known = dataclasses.is_dataclass(instance) and variant.instance is None
    params = identity.parameters(instance, kind) if known else dict(variant.params)
    return {"class": getattr(kind, "name", "") or identity.class_path(kind), "params": params}


def _combination(mechanism: Variant, dataset: Dataset) -> str:
    shown = {**mechanism.params, **dict.fromkeys(mechanism.declared, DECLARED)}
    params = ", ".join(f"{k}={v}" for k, v in shown.items())
    return f"{mechanism.name}{f'({params})' if params else ''} on {dataset.name}"


def _why_not(dataset: Dataset, mechanism: Any, task: tuple[Variant, Any], data: Data | None, noise: str) -> str:
    """Why a mechanism and a task do not fit a dataset; empty if they do."""
    if reason := _inexact(mechanism, noise) or _unfit(dataset, mechanism, data):
        return reason
    reason = _unfit(dataset, task[1], data)
    return f"the task {task[0].name} {reason}" if reason else ""


def _unfit(dataset: Dataset, instance: Any, data: Data | None) -> str:
    """Why a mechanism or task does not fit the dataset; judged by its kind while the dataset is not built."""
    if data is None:
        kinds = getattr(instance, "kinds", (dataset.kind,))
        takes = "needs" if hasattr(instance, "score") else "takes"
        return "" if dataset.kind in kinds else f"{takes} {' or '.join(kinds)} data, not {dataset.kind}"
    return str(instance.unfit(data)) if hasattr(instance, "unfit") else ""


def _refusal(mechanism: Any, data: Data | None, epsilon: float) -> str:
    """Why a mechanism cannot use this budget on the dataset; unknown while the dataset is not built."""
    declares = getattr(mechanism, "refusal", None)
    return str(declares(data, epsilon)) if data is not None and callable(declares) else ""


def _inexact(mechanism: Any, noise: str) -> str:
    """Why a mechanism does not have the requested form of noise. Checked here, before hours of other work."""
    if noise == FLOAT:
        return ""
    if callable(declares := getattr(mechanism, "inexact", None)):
        reason = str(declares())
    else:
        takes = "noise" in inspect.signature(mechanism.release).parameters
        reason = "" if takes else "its `release` takes no `noise`"
    return f"no {noise} noise: {reason}" if reason else ""


def _chunk_size(data: Data, asked: int | str) -> int:
    """Trials per chunk: depends only on the data, never on the machine. Even, because trials are paired."""
    size = asked if isinstance(asked, int) else max(2, min(20, 20_000_000 // max(1, data.weight)))
    return size + size % 2
