"""The typed schema of a run, made from what Hydra composed, and the check of everything a user can get wrong.

Imported by the verbs; imports the registries to check names, never a mechanism by name.
"""

from __future__ import annotations

import dataclasses
import itertools
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpbench.errors import UserError, nearest, one_of, positive
from dpbench.mechanisms.base import MECHANISMS, parse_epsilon
from dpbench.registry import Registry
from dpbench.results.run import DatasetUse, Variant
from dpbench.sources.base import SOURCES
from dpbench.sources.cards import fetched
from dpbench.tasks.base import TASKS

SCALES = ("smoke", "laptop", "paper")
ADDRESS = re.compile(r"(tcp|tls)://([\w.-]+|\[[0-9a-fA-F:.%]+\]):(\d{1,5})", re.ASCII)
# Keys of a dataset's YAML that choose the source; all others are parameters of it.
DATASET_KEYS = ("kind", "source", "generator", "files", "path", "sizes")


@dataclass(frozen=True)
class RunnerConfig:
    backend: str = "loky"
    jobs: int = -1
    chunk: int | str = "auto"
    address: str | None = None

    def __post_init__(self) -> None:
        one_of("runner.backend", self.backend, ("loky", "dask"))
        if not isinstance(self.jobs, int) or isinstance(self.jobs, bool) or self.jobs == 0 or self.jobs < -1:
            raise UserError(
                f"runner.jobs={self.jobs!r} is not valid: expected a positive whole number, or -1 for all cores"
            )
        if self.chunk != "auto":
            positive("runner.chunk", self.chunk, whole=True)
        found = ADDRESS.fullmatch(self.address) if isinstance(self.address, str) else None
        if self.address is not None and (found is None or not 0 < int(found[3]) < 65536):
            raise UserError(
                f"runner.address={self.address!r} is not valid: expected a Dask scheduler, such as tcp://host:8786"
            )


@dataclass(frozen=True)
class TrackingConfig:
    enabled: bool = True
    uri: str | None = None


@dataclass(frozen=True)
class RunConfig:
    """Everything one run needs, checked."""

    experiment: str
    title: str
    scale: str
    epsilon: tuple[float, ...]
    trials: int
    seed: int
    metrics: tuple[str, ...]
    results: Path
    figure: bool
    dry: bool
    runner: RunnerConfig
    tracking: TrackingConfig
    datasets: tuple[DatasetUse, ...]
    mechanisms: tuple[Variant, ...]
    tasks: tuple[Variant, ...]
    changes: tuple[str, ...] = ()
    """How the user's overrides make it differ from the experiment's own definition."""
    altered: tuple[str, ...] = ()
    """Those of them that make its numbers mean something else."""


def check(cfg: Mapping[str, Any], experiment: str, overrides: list[str]) -> RunConfig:
    """The run that the composed configuration `cfg` (plain dicts and lists) describes; UserError names what is wrong."""
    for group in ("dataset", "mechanism", "task"):
        _check_targets(group, cfg.get(group) or {}, overrides)
    scale = str(cfg.get("scale"))
    one_of("scale", scale, SCALES)
    positive("trials", cfg["trials"], whole=True)
    for key in ("seed", "data_seed"):
        if not isinstance(cfg[key], int) or isinstance(cfg[key], bool) or cfg[key] < 0:
            raise UserError(f"{key}={cfg[key]!r} is not valid: expected a whole number, 0 or more")
    for key in ("figure", "dry"):
        if not isinstance(cfg[key], bool):
            raise UserError(f"{key}={cfg[key]!r} is not valid: expected true or false")
    if not cfg.get("results"):
        raise UserError(f"results={cfg.get('results')!r} is not valid: expected a folder")
    metrics = cfg.get("metrics") or []
    run = RunConfig(
        experiment=experiment,
        title=str(cfg.get("title") or ""),
        scale=scale,
        epsilon=_epsilons(cfg.get("epsilon")),
        trials=int(cfg["trials"]),
        seed=cfg["seed"],
        metrics=tuple(metrics if isinstance(metrics, list) else [metrics]),
        results=Path(str(cfg["results"])).expanduser(),
        figure=bool(cfg["figure"]),
        dry=bool(cfg["dry"]),
        runner=_section("runner", RunnerConfig, cfg),
        tracking=_section("tracking", TrackingConfig, cfg),
        datasets=tuple(_datasets(_selected(cfg, "dataset", "source"), scale, cfg["data_seed"])),
        mechanisms=tuple(_variants(_selected(cfg, "mechanism", "class"), MECHANISMS)),
        tasks=tuple(_variants(_selected(cfg, "task", "class"), TASKS)),
    )
    _check_kinds(run)
    return run


def _section(name: str, cls: type, cfg: Mapping[str, Any]) -> Any:
    given = cfg.get(name) or {}
    valid = [f.name for f in dataclasses.fields(cls)]
    for key in given:
        if key not in valid:
            raise UserError(f"unknown setting {name}.{key}: {nearest(key, valid)}")
    return cls(**given)


def _epsilons(value: Any) -> tuple[float, ...]:
    values = value if isinstance(value, list) else [value]
    if not values:
        raise UserError("epsilon=[] is not valid: expected at least one positive number, ln2 or ln3")
    return tuple(dict.fromkeys(parse_epsilon(v) for v in values))


def _selected(cfg: Mapping[str, Any], group: str, marker: str) -> dict[str, Mapping[str, Any]]:
    """The chosen entries of a group. An experiment's parameters for one that was not chosen leave a stump without the
    marker key, which is passed over."""
    entries = {k: v for k, v in (cfg.get(group) or {}).items() if isinstance(v, Mapping) and marker in v}
    if not entries:
        raise UserError(f"no {group} is chosen: give {group}=[NAME,...] or experiment=NAME")
    return entries


def check_shapes(cfg: Mapping[str, Any], overrides: list[str]) -> None:
    """A YAML chosen by `group=[NAME,...]` must nest its content under its own name; one that does not would be passed
    over unnoticed. (Hydra does not note the chosen options of a list, so they are read off the override.)"""
    chosen = dict(override.split("=", 1) for override in overrides if "=" in override)  # the last one counts
    for group, marker in (("dataset", "source"), ("mechanism", "class"), ("task", "class")):
        for name in filter(None, (n.strip(" '\"") for n in chosen.get(group, "").strip("[]").split(","))):
            entry = (cfg.get(group) or {}).get(name)
            if not isinstance(entry, Mapping) or marker not in entry:
                form = f"`{name}: {{{marker}: ...}}`"
                raise UserError(f"{group}/{name}.yaml does not hold {form}, as every {group} must")


def _check_targets(group: str, entries: Mapping[str, Any], overrides: list[str]) -> None:
    """An override of an entry that is not there (`mechanism.gss.sampling=row`) must not pass unnoticed."""
    marker = "source" if group == "dataset" else "class"
    chosen = [name for name, entry in entries.items() if isinstance(entry, Mapping) and marker in entry]
    for override in overrides:
        key = override.lstrip("+~").partition("=")[0]
        parts = key.split(".")
        if parts[0] == group and len(parts) > 1 and parts[1] not in chosen:
            raise UserError(f"{key}: {group} {parts[1]!r} is not in this run: {nearest(parts[1], chosen)}")


def axes(params: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """A parameter given as a list is an axis: every combination of the listed values."""
    lists = {k: v if isinstance(v, list) else [v] for k, v in params.items()}
    for key, listed in lists.items():
        if not listed:
            raise UserError(f"{key}=[] is not valid: expected at least one value")
    for values in itertools.product(*lists.values()):
        yield dict(zip(lists, values, strict=True))


def _variants(entries: Mapping[str, Mapping[str, Any]], registry: Registry[Any]) -> Iterator[Variant]:
    for name, entry in entries.items():
        cls = str(entry["class"])
        for params in axes({k: v for k, v in entry.items() if k != "class"}):
            registry.make(cls, **params)  # a wrong name or value ends here
            yield Variant(name, cls, params)


def dataset_of(name: str, entry: Mapping[str, Any], scale: str, seed: int = 0) -> DatasetUse:
    """One dataset as a run would have it, from its YAML's content."""
    return next(_datasets({name: entry}, scale, seed))


def _datasets(entries: Mapping[str, Mapping[str, Any]], scale: str, seed: int) -> Iterator[DatasetUse]:
    for name, entry in entries.items():
        options = [key for key in ("generator", "files") if entry.get(key)]
        one_of(f"dataset.{name}.source", entry["source"], options)
        cls = str(entry[entry["source"]])
        source = SOURCES.get(cls)
        fields = {f.name for f in dataclasses.fields(source)}
        sizes = dict((entry.get("sizes") or {}).get(scale) or {}) if entry["source"] == "generator" else {}
        given = {k: v for k, v in entry.items() if k not in DATASET_KEYS}
        _check_dataset_keys(name, entry, given)
        if "path" in fields:
            path = entry.get("path") or fetched(name)
            if not path:
                raise UserError(
                    f"dataset.{name}.source=files needs dataset.{name}.path=FILE or FOLDER, or: dpbench data get {name}"
                )
            if isinstance(path, list | Mapping):
                raise UserError(f"dataset.{name}.path={path!r} is not valid: expected one file or folder")
            given["path"] = os.path.realpath(os.path.expanduser(str(path)))  # pathlib's raise on loops of links
        if "kind" in fields and entry.get("kind"):
            given["kind"] = entry["kind"]
        for params in axes({k: v for k, v in (sizes | given).items() if k in fields}):
            built = SOURCES.make(cls, **params)
            kind = str(entry.get("kind") or built.kinds[0])
            told = tuple(k for k in params if k in given and k not in ("path", "kind"))
            yield DatasetUse(name, kind, cls, params, seed, given=told, original=entry["source"] == "files")


def _check_dataset_keys(name: str, entry: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    """A parameter must belong to the generator or to the reader of this dataset."""
    valid = set(DATASET_KEYS)
    for key in ("generator", "files"):
        if entry.get(key) and (key == entry["source"] or entry[key] in SOURCES.names()):
            valid |= {f.name for f in dataclasses.fields(SOURCES.get(str(entry[key])))}
    for key in given:
        if key not in valid:
            raise UserError(f"dataset {name!r} has no parameter {key!r}: {nearest(key, valid)}")


def _check_kinds(run: RunConfig) -> None:
    """Every chosen mechanism must take the kind of some chosen dataset, and every dataset be taken by some mechanism."""
    kinds = sorted({d.kind for d in run.datasets})
    takes = {m.name: tuple(getattr(MECHANISMS.get(m.cls), "kinds", kinds)) for m in run.mechanisms}
    for name, taken in takes.items():
        if not set(taken) & set(kinds):
            where = ", ".join(f"{d} ({k})" for d, k in {d.name: d.kind for d in run.datasets}.items())
            raise UserError(f"mechanism {name!r} takes {' or '.join(taken)} data, but the datasets are: {where}")
    for dataset in run.datasets:
        if not any(dataset.kind in taken for taken in takes.values()):
            raise UserError(f"dataset {dataset.name!r} is {dataset.kind} data, which none of {', '.join(takes)} takes")
