"""Checks everything a user can get wrong in a run, and turns what Hydra composed into typed settings.

Nothing is silently ignored: an unknown key, or an override without effect, is an error. Imported by `compose`; imports the
registries to check names, never a mechanism by name.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dpbench.config import catalogue, readings
from dpbench.config.catalogue import MARKERS
from dpbench.config.dataset_entry import DatasetEntry
from dpbench.config.entries import check_dataset_words, datasets, variants, where_missing, with_source, with_worlds
from dpbench.config.origins import Origins
from dpbench.config.overrides import key_of, names_of
from dpbench.config.schema import SECTIONS, Parts, RunConfig, checked, known_metric, whole
from dpbench.config.selection import FIRST, adhoc_name, check_name, title_of, usual_tasks
from dpbench.errors import UserError, nearest, placed, unknown
from dpbench.mechanisms.base import MECHANISMS
from dpbench.model.reading import ALL, Reading
from dpbench.model.run import Dataset, Variant
from dpbench.model.setting import DECLARED
from dpbench.model.world import DEFAULT
from dpbench.paths import CONF
from dpbench.registry import Registry
from dpbench.tasks.base import TASKS

SLURM_ONLY = ("queue", "walltime", "interface", "directives", "logs")
SECONDS = "seconds"  # not a metric of a task, but a column of every trial


def check(cfg: Mapping[str, Any], origins: Origins) -> RunConfig:
    """The run that the composed configuration `cfg` (plain dicts and lists) describes; raises UserError for what is wrong."""
    _check_keys(cfg, origins)
    for group in ("dataset", "mechanism"):
        _check_group(cfg, group, origins)
    settings = checked(RunConfig, cfg, place=origins.place)
    experiment, left_out = origins.experiment or "", dict[str, str]()
    others = readings.chosen(settings["reading"], cfg, experiment, origins.words, origins.folders)
    if others and not settings["reading"].endswith(ALL):  # one reading, in place of the default
        cfg = readings.applied(cfg, others.pop())
        settings["epsilon"] = checked(RunConfig, cfg)["epsilon"]
    datasets = (*_datasets(cfg, settings, origins, left_out), *origins.objects.datasets)
    _check_world(settings["world"], cfg, datasets, origins)
    cfg = _with_tasks(cfg, datasets, origins)
    _check_group(cfg, "task", origins)
    tasks = (*_variants(cfg, "task", TASKS, origins), *origins.objects.tasks)
    mechanisms = (*_variants(cfg, "mechanism", MECHANISMS, origins), *origins.objects.mechanisms)
    names = [m.name for m in mechanisms], [d.name for d in datasets]
    name = check_name(cfg.get("name"), origins.folders) or experiment or adhoc_name(*names)
    settings |= {
        "title": title_of(settings["title"], origins.given("title"), name, experiment, *names),
        "metrics": _metrics(settings["metrics"], tasks, origins),
        **{key: _limits(key, settings[key], *names, origins) for key in ("most_trials", "case_trials")},
    }
    run = RunConfig(
        experiment=experiment,
        name=name,
        datasets=datasets,
        mechanisms=mechanisms,
        tasks=tasks,
        runner=_section("runner", cfg, origins),
        tracking=_section("tracking", cfg, origins),
        left_out=tuple(left_out.items()),
        readings=tuple(_parts(reading, cfg, settings, origins) for reading in others),
        readings_added=bool(origins.word("reading")),
        **settings,
    )
    _check_results(run, origins)
    _check_kinds(run)
    _check_effects(run, origins)
    return run


def _parts(reading: Reading, cfg: Mapping[str, Any], settings: Mapping[str, Any], origins: Origins) -> Parts:
    """What the run combines in another reading of its paper."""
    cfg = readings.applied(cfg, reading)
    try:
        return Parts(
            (*_datasets(cfg, settings, origins, {}), *origins.objects.datasets),
            (*_variants(cfg, "mechanism", MECHANISMS, origins), *origins.objects.mechanisms),
            (*_variants(cfg, "task", TASKS, origins), *origins.objects.tasks),
            checked(RunConfig, cfg)["epsilon"],
        )
    except UserError as error:
        raise UserError(f"reading {reading.name}: {error}") from error


# Single settings that depend on others.


def _metrics(names: tuple[str, ...], tasks: tuple[Variant, ...], origins: Origins) -> tuple[str, ...]:
    """The columns of the table. Those of the experiment are dropped if the user chose other tasks."""
    classes = [task.get_class(TASKS) for task in tasks]
    known = [name for name in names if name == SECONDS or any(known_metric(cls, name) for cls in classes)]
    asked = origins.given("metrics") or not any(key_of(word) == "task" for word in origins.words)
    for name in names:
        if asked and name not in known:
            valid = [getattr(metric, "name", metric) for cls in classes for metric in getattr(cls, "metrics", ())]
            raise unknown("metric", name, dict.fromkeys([*valid, SECONDS]), origins.place("metrics"))
    return tuple(known)


def _limits(
    key: str, given: Mapping[str, Any], mechanisms: list[str], datasets: list[str], origins: Origins
) -> dict[str, int]:
    """Trials by mechanism or dataset of this run. An experiment may name others, which an override removed."""
    here = [*mechanisms, *datasets]
    options = (name for group in ("mechanism", "dataset") for name in catalogue.options(group, *origins.folders))
    known = dict.fromkeys([*here, *options])
    for name, trials in given.items():
        if name not in known:
            raise unknown(f"mechanism or dataset in {key}:", str(name), known, origins.place(key, str(name)))
        whole()(f"{key}.{name}", trials)
        word = origins.word(key, str(name))  # `case_trials={gs: 4}` is merged with what the experiment states
        stated = key_of(word) == key and any(document.has(key, str(name)) for document in origins.experiments)
        if word and name not in here and not stated:
            raise UserError(f"{key}.{name} has no effect: {name} is not in this run")
    return {str(name): int(trials) for name, trials in given.items() if name in here}


def _section(name: str, cfg: Mapping[str, Any], origins: Origins) -> Any:
    """The settings of the runner or of the tracking."""
    given, cls = cfg.get(name) or {}, SECTIONS[name]
    if not isinstance(given, Mapping):
        expected = f"expected one of: {', '.join(catalogue.options(name))}"
        raise placed(origins.place(name), f"{name}={given!r} is not valid: {expected}")
    valid = [f"{name}.{field.name}" for field in dataclasses.fields(cls)]
    for key in given:
        if f"{name}.{key}" not in valid:
            raise unknown("setting", f"{name}.{key}", valid, origins.place(name, str(key)))
    return cls(**checked(cls, given, f"{name}.", functools.partial(origins.place, name)))


def _check_results(run: RunConfig, origins: Origins) -> None:
    """Hydra would take folders of results for groups of options, and later runs would fail. (If the current folder itself is
    given as a configuration folder, results may be inside it.)"""
    results, here = run.results.resolve(), Path.cwd()
    for folder in map(Path.resolve, (CONF, *origins.folders)):
        if results == folder or (results.is_relative_to(folder) and not here.is_relative_to(folder)):
            expected = "expected a folder outside of the configuration"
            raise UserError(f"results={run.results} is not valid: {folder} holds YAML files: {expected}")
        if folder != CONF and folder.is_relative_to(results):
            reason = "no configuration is ever read from a results folder, which others may have written"
            raise UserError(f"results={run.results} is not valid: {folder} is in it, and {reason}")
    if here.is_relative_to(results) and any(here.glob("experiments/**/*.py")):
        reason = "and no script is ever run that is in a results folder, which others may have written"
        raise UserError(f"results={run.results} is not valid: your scripts are in {here}/experiments, {reason}")


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


def _with_tasks(cfg: Mapping[str, Any], used: tuple[Dataset, ...], origins: Origins) -> Mapping[str, Any]:
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
    for name in names_of(word) if word else (by_experiment or [[]])[-1]:
        entry = entries.get(name)
        if origins.word(group, name):
            continue  # an override replaced it, so the file is not at fault
        if not isinstance(entry, Mapping) and any(document.has(group, name) for document in origins.experiments):
            continue  # the experiment replaced it
        if name not in catalogue.options(group, *origins.folders):
            continue  # a class without a YAML
        if not isinstance(entry, Mapping) or MARKERS[group] not in entry:
            raise catalogue.malformed(group, name, *origins.folders)


def _selected(cfg: Mapping[str, Any], group: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for name, entry in (cfg.get(group) or {}).items():
        if isinstance(entry, Mapping) and MARKERS[group] in entry:
            yield str(name), entry


def _variants(cfg: Mapping[str, Any], group: str, registry: Registry[Any], origins: Origins) -> Iterator[Variant]:
    for name, body in _selected(cfg, group):
        place = functools.partial(origins.place, group, name)
        yield from variants(catalogue.variant(group, name, body, place), registry, place)


def _datasets(
    cfg: Mapping[str, Any], settings: Mapping[str, Any], origins: Origins, left_out: dict[str, str]
) -> Iterator[Dataset]:
    """The datasets of a run; those whose files are missing, if that is allowed, go to `left_out` with the reason."""
    scale, first, draws = settings["scale"], settings["data_seed"], settings["data_seeds"]
    for name, body in _selected(cfg, "dataset"):
        place = functools.partial(origins.place, "dataset", name)
        entry, reason = where_missing(with_source(DatasetEntry.of(name, body, place), origins), origins)
        if reason:
            left_out[name] = reason
            continue
        entry = with_worlds(entry, settings["world"], origins)
        for use in datasets(entry, scale, first, place):
            # Original files do not depend on a seed.
            seeds = range(first, first + (1 if use.original else draws))
            yield from (dataclasses.replace(use, seed=seed) for seed in seeds)
        check_dataset_words(entry, scale, origins)


def _check_world(chosen: str, cfg: Mapping[str, Any], used: tuple[Dataset, ...], origins: Origins) -> None:
    """Raise for a `world` that no dataset of the run has, or that none of them takes. `all` may mean one of each."""
    if chosen in (DEFAULT, ALL):
        return
    entries = [DatasetEntry.of(name, body) for name, body in _selected(cfg, "dataset")]
    known = dict.fromkeys(world for entry in entries for world in entry.worlds)
    if chosen not in known:
        raise unknown("world", chosen, [*known, DEFAULT, ALL], origins.place("world"))
    default = [entry.name for entry in entries if entry.default_world == chosen]
    if not any(use.world == chosen or (not use.original and use.name in default) for use in used):
        names = ", ".join(entry.name for entry in entries if chosen in entry.worlds)
        problem = f"world={chosen} has no effect: {names} is read from files, or has its own `world`"
        raise placed(origins.place("world"), problem)


# Overrides without effect, and combinations that do not fit.


def _check_effects(run: RunConfig, origins: Origins) -> None:
    """Raise for overrides of the whole run that have no effect."""
    for own, verb in (("baseline", "check"), ("standard", "reproduce")):
        if word := origins.word(own):
            raise UserError(
                f"{key_of(word)} has no effect on a run: it belongs in an experiment's YAML and is read by `{verb}`"
            )
    slurm = run.runner.backend == "slurm"
    bounded = any(mechanism.declared for mechanism in run.mechanisms)
    files = all(dataset.original for dataset in run.datasets)
    draws = files and run.data_seeds > 1
    cases = len(run.parts) > 1 or any(dataset.world for dataset in run.datasets)
    for key, effective, instead in (
        *((("runner", name), slurm, "without runner=slurm") for name in SLURM_ONLY),
        (("paper_trials",), run.scale == "paper", f"at scale={run.scale}: give trials=NUMBER"),
        (("runner", "address"), run.runner.backend == "dask" or run.runner.address is None, "without runner=dask"),
        *(
            (("dataset", dataset.name, "bound"), bounded, "without a mechanism that takes it")
            for dataset in run.datasets
        ),
        (("case_trials",), cases, "without other readings or worlds: give reading=all or world=all"),
        (("data_seeds",), not draws, "on original files, which no seed changes: leave it out"),
        (("tracking", "uri"), run.tracking.enabled or run.tracking.uri is None, "with tracking=none"),
    ):
        if not effective and (word := origins.word(*key)):
            raise UserError(f"{key_of(word)} has no effect {instead}{_taking(run) if key[-1] == 'bound' else ''}")


def _taking(run: RunConfig) -> str:
    """How a mechanism of this run is told to take the bound of its dataset."""
    able = [m.name for m in run.mechanisms if "bound" in getattr(m.get_class(MECHANISMS), "__dataclass_fields__", ())]
    return f": give mechanism.{able[0]}.bound={DECLARED} as well" if able else f", by bound={DECLARED}"


def _check_kinds(run: RunConfig) -> None:
    """Every chosen mechanism must accept the kind of some chosen dataset, and every dataset must be accepted by some
    mechanism. Datasets that are left out are not checked."""
    kinds = sorted({d.kind for d in run.datasets})
    takes = {m.name: tuple(getattr(m.get_class(MECHANISMS), "kinds", kinds)) for m in run.mechanisms}
    for name, taken in takes.items():
        if not set(taken) & set(kinds) and not run.left_out:
            where = ", ".join(f"{d} ({k})" for d, k in {d.name: d.kind for d in run.datasets}.items())
            raise UserError(f"mechanism {name!r} takes {' or '.join(taken)} data, but the datasets are: {where}")
    for dataset in run.datasets:
        if not any(dataset.kind in taken for taken in takes.values()):
            raise UserError(f"dataset {dataset.name!r} is {dataset.kind} data, which none of {', '.join(takes)} takes")
