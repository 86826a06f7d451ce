"""Checks everything a user can get wrong in a run, and turns what Hydra composed into typed settings.

Nothing is silently ignored: an unknown key, or an override without effect, is an error. Imported by `compose`; imports the
registries to check names, never a mechanism by name.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Mapping
from typing import Any

from dpbench.config import catalogue, single
from dpbench.config.catalogue import MARKERS, SCALES, DatasetEntry, VariantEntry
from dpbench.config.dataset_words import check_dataset_words, where_missing, with_source
from dpbench.config.entries import datasets, variants
from dpbench.config.origins import Origins, key_of, named
from dpbench.config.schema import RunConfig
from dpbench.config.selection import FIRST, adhoc_name, check_name, title_of, usual_tasks
from dpbench.errors import UserError, nearest, one_of, placed, unknown
from dpbench.mechanisms.base import MECHANISMS
from dpbench.registry import Registry
from dpbench.results.run import DatasetUse, Variant
from dpbench.results.setting import DECLARED
from dpbench.tasks.base import TASKS

SLURM_ONLY = ("queue", "walltime", "interface", "directives", "logs")


def check(cfg: Mapping[str, Any], origins: Origins) -> RunConfig:
    """The run that the composed configuration `cfg` (plain dicts and lists) describes; raises UserError for what is wrong."""
    _check_keys(cfg, origins)
    single.truth(cfg, "baseline")  # read by `check`, from the experiment's YAML
    for group in ("dataset", "mechanism"):
        _check_group(cfg, group, origins)
    scale = cfg.get("scale")
    one_of("scale", scale, SCALES)
    left_out: dict[str, str] = {}
    datasets = (*_datasets(cfg, str(scale), origins, left_out), *origins.objects.datasets)
    cfg = _with_tasks(cfg, datasets, origins)
    _check_group(cfg, "task", origins)
    tasks = (*_variants(cfg, "task", TASKS, origins), *origins.objects.tasks)
    mechanisms = (*_variants(cfg, "mechanism", MECHANISMS, origins), *origins.objects.mechanisms)
    names = [m.name for m in mechanisms], [d.name for d in datasets]
    experiment = origins.experiment or ""
    name = check_name(cfg.get("name"), origins.folders) or experiment or adhoc_name(*names)
    run = RunConfig(
        experiment=experiment,
        name=name,
        title=title_of(single.text(cfg, "title"), origins.given("title"), name, experiment, *names),
        scale=str(scale),
        epsilon=single.epsilons(cfg.get("epsilon")),
        trials=single.trials(cfg),
        seed=single.whole(cfg, "seed"),
        metrics=single.metrics(cfg, tasks, origins),
        results=single.results(cfg),
        figure=single.truth(cfg, "figure"),
        dry=single.truth(cfg, "dry"),
        runner=single.section("runner", cfg, origins),
        tracking=single.section("tracking", cfg, origins),
        datasets=datasets,
        mechanisms=mechanisms,
        tasks=tasks,
        noise=single.noise(cfg),
        left_out=tuple(left_out.items()),
        most_trials=single.most_trials(cfg, [m.name for m in mechanisms], [d.name for d in datasets], origins),
    )
    _check_kinds(run)
    _check_effects(run, cfg, origins)
    return run


# Keys, and groups of entries.


def _check_keys(cfg: Mapping[str, Any], origins: Origins) -> None:
    valid = [*catalogue.settings(), *(g for g in catalogue.GROUPS if g != "experiment")]
    for key in map(str, cfg):
        if key in valid:
            continue
        if key == "experiment" and origins.experiments:
            path = origins.experiments[-1].path
            raise UserError(f"{path}: expected `# @package _global_` as its first line, as every experiment has")
        raise unknown("setting", key, valid, origins.place(key))
    if isinstance(cfg.get("scale"), Mapping):
        raise UserError("scale: expected `# @package _global_` as the first line of its YAML, and `scale: NAME` in it")


def _check_group(cfg: Mapping[str, Any], group: str, origins: Origins) -> None:
    """Check that every entry of a group is chosen, or left over from an experiment that chooses it. Anything else is an
    error, such as parameters under a misspelt name."""
    entries, marker = cfg.get(group), MARKERS[group]
    if entries is not None and not isinstance(entries, Mapping):
        place = origins.place(group)
        form = f"`- override /{group}: [NAME, ...]` in `defaults`" if place else f"{group}=[NAME,...]"
        raise placed(place, f"{group}={entries!r} chooses nothing: expected {form}")
    chosen = [name for name, entry in (entries or {}).items() if isinstance(entry, Mapping) and marker in entry]
    _check_chosen(entries or {}, group, origins)
    for name, entry in (entries or {}).items():
        if not isinstance(entry, Mapping):
            message = f"{group}.{name}={entry!r} is not valid: expected parameters"
            raise placed(origins.place(group, str(name)), message)
    for word in origins.words:
        parts = key_of(word).split(".")
        if parts[0] == group and len(parts) > 1 and parts[1] not in chosen:
            raise UserError(f"{key_of(word)}: {group} {parts[1]!r} is not in this run: {nearest(parts[1], chosen)}")
    listed = {name for document in origins.experiments for name in document.chosen(group) or ()}
    for name in entries or {}:
        if name in chosen or name in listed:
            continue
        if name not in catalogue.options(group, *origins.folders):
            raise unknown(group, name, dict.fromkeys([*listed, *chosen]), origins.place(group, str(name)))
        if listed:
            message = f"parameters of {group} {name!r} have no effect: the experiment does not choose it"
            raise placed(origins.place(group, str(name)), message)
    if twice := [name for name in origins.objects.names(group) if name in chosen]:
        raise UserError(f"{group} {twice[0]!r} is given by name and as an object: give one of them another name")
    if not chosen and not origins.objects.names(group):
        also = "" if origins.experiment else f", or experiment=NAME, such as experiment={FIRST}"
        raise UserError(f"no {group} is chosen: give {group}=[NAME,...]{also}")


def _with_tasks(cfg: Mapping[str, Any], used: tuple[DatasetUse, ...], origins: Origins) -> Mapping[str, Any]:
    """The configuration with the default tasks for its data, if neither an experiment nor an override chooses any."""
    if origins.experiment or any(key_of(word) == "task" for word in origins.words):
        return cfg
    entries = cfg.get("task") or {}
    if not isinstance(entries, Mapping):
        return cfg
    usual = usual_tasks((use.kind for use in used), entries, origins.folders)
    return {**cfg, "task": {**entries, **usual}}


def _check_chosen(entries: Mapping[str, Any], group: str, origins: Origins) -> None:
    """A YAML chosen by `group=[NAME,...]` or by the experiment must nest its content under its own name; otherwise it would be
    ignored silently. (Hydra does not record the chosen options of a list, so they are read from the override or the file.)"""
    word = next((w for w in reversed(origins.words) if key_of(w) == group and not w.startswith("~")), "")
    by_experiment = [names for document in origins.experiments if (names := document.chosen(group)) is not None]
    for name in named(word) if word else (by_experiment or [[]])[-1]:
        entry = entries.get(name)
        if origins.word(group, name):
            continue  # an override replaced it, so the file is not at fault
        if not isinstance(entry, Mapping) and any(document.has(group, name) for document in origins.experiments):
            continue  # the experiment replaced it
        if not isinstance(entry, Mapping) or MARKERS[group] not in entry:
            raise catalogue.malformed(group, name, *origins.folders)


def _selected(cfg: Mapping[str, Any], group: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for name, entry in (cfg.get(group) or {}).items():
        if isinstance(entry, Mapping) and MARKERS[group] in entry:
            yield str(name), entry


def _variants(cfg: Mapping[str, Any], group: str, registry: Registry[Any], origins: Origins) -> Iterator[Variant]:
    for name, body in _selected(cfg, group):
        place = functools.partial(origins.place, group, name)
        yield from variants(VariantEntry.of(group, name, body, place), registry, place)


def _datasets(cfg: Mapping[str, Any], scale: str, origins: Origins, left_out: dict[str, str]) -> Iterator[DatasetUse]:
    """The datasets of a run; those whose files are missing, if that is allowed, go to `left_out` with the reason."""
    first, draws = single.whole(cfg, "data_seed"), single.draws(cfg)
    for name, body in _selected(cfg, "dataset"):
        place = functools.partial(origins.place, "dataset", name)
        entry, reason = where_missing(with_source(DatasetEntry.of(name, body, place), origins), origins)
        if reason:
            left_out[name] = reason
            continue
        for use in datasets(entry, scale, first, place):
            # Original files do not depend on a seed.
            seeds = range(first, first + (1 if use.original else draws))
            yield from (dataclasses.replace(use, seed=seed) for seed in seeds)
        check_dataset_words(entry, scale, origins)


# Overrides without effect, and combinations that do not fit.


def _check_effects(run: RunConfig, cfg: Mapping[str, Any], origins: Origins) -> None:
    """Raise for overrides of the whole run that have no effect."""
    if word := origins.word("baseline"):
        raise UserError(
            f"{key_of(word)} has no effect on a run: it belongs in an experiment's YAML and is read by `check`"
        )
    slurm = run.runner.backend == "slurm"
    bounded = any(mechanism.declared for mechanism in run.mechanisms)
    files = all(dataset.original for dataset in run.datasets)
    draws = files and single.draws(cfg) > 1
    for key, effective, instead in (
        *((("runner", name), slurm, "without runner=slurm") for name in SLURM_ONLY),
        (("paper_trials",), run.scale == "paper", f"at scale={run.scale}: give trials=NUMBER"),
        (("runner", "address"), run.runner.backend == "dask" or run.runner.address is None, "without runner=dask"),
        *(
            (("dataset", dataset.name, "bound"), bounded, f"without a mechanism that takes it{_taking(run)}")
            for dataset in run.datasets
        ),
        (("data_seeds",), not draws, "on original files, which no seed changes: leave it out"),
        (("tracking", "uri"), run.tracking.enabled or run.tracking.uri is None, "with tracking=none"),
    ):
        if not effective and (word := origins.word(*key)):
            raise UserError(f"{key_of(word)} has no effect {instead}")


def _taking(run: RunConfig) -> str:
    """How a mechanism of this run is told to take the bound of its dataset."""
    able = [m.name for m in run.mechanisms if "bound" in getattr(m.found(MECHANISMS), "__dataclass_fields__", ())]
    return f": give mechanism.{able[0]}.bound={DECLARED} as well" if able else f", by bound={DECLARED}"


def _check_kinds(run: RunConfig) -> None:
    """Every chosen mechanism must accept the kind of some chosen dataset, and every dataset must be accepted by some
    mechanism. Datasets that are left out are not checked."""
    kinds = sorted({d.kind for d in run.datasets})
    takes = {m.name: tuple(getattr(m.found(MECHANISMS), "kinds", kinds)) for m in run.mechanisms}
    for name, taken in takes.items():
        if not set(taken) & set(kinds) and not run.left_out:
            where = ", ".join(f"{d} ({k})" for d, k in {d.name: d.kind for d in run.datasets}.items())
            raise UserError(f"mechanism {name!r} takes {' or '.join(taken)} data, but the datasets are: {where}")
    for dataset in run.datasets:
        if not any(dataset.kind in taken for taken in takes.values()):
            raise UserError(f"dataset {dataset.name!r} is {dataset.kind} data, which none of {', '.join(takes)} takes")
