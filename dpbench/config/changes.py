"""How a run differs from its experiment's definition, in words.

A run with overrides replaces the experiment's last run in `figures`, `report` and `claims`, so it must be marked as
different. The differences are determined when the run is composed and stored with it, for its readers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from dpbench.config.schema import RunConfig, StatedBudget
from dpbench.model.run import Dataset, Variant
from dpbench.model.setting import listed_seeds
from dpbench.model.world import DEFAULT


def changes(run: RunConfig, whole: RunConfig) -> tuple[str, ...]:
    """What differs in `run` from `whole`, the same experiment at the same scale without the user's overrides."""
    differences: list[str] = []
    # Files that the definition does without where they are not here belong to it where they are given.
    optional = {name for name, _ in whole.left_out}
    for what, mine, own in (
        ("datasets", run.datasets, whole.datasets),
        ("mechanisms", run.mechanisms, whole.mechanisms),
        ("tasks", run.tasks, whole.tasks),
    ):
        differences += _members(what, [v.name for v in mine if v.name not in optional], [v.name for v in own])
        differences += _parameters(mine, own)
    for name in dict.fromkeys(dataset.name for dataset in whole.datasets):
        worlds = [_worlds(listed, name) for listed in (run.datasets, whole.datasets)]
        if worlds[0] and not worlds[0] >= worlds[1]:  # a further world changes nothing of the others
            chosen, defined = (_list(sorted(world or DEFAULT for world in listed)) for listed in worlds)
            differences.append(f"{name}: worlds {chosen} instead of {defined}")
    differences += _members("epsilons", map(_budget, run.epsilon), map(_budget, whole.epsilon))
    seeds = _seeds(run)
    own_seeds = _seeds(whole) if whole.datasets else seeds
    for what, now, before in (
        ("trials per setting", run.trials, whole.trials),
        ("fewer trials", _fewer(run.most_trials, run), _fewer(whole.most_trials, run)),
        ("fewer trials in other readings and worlds", _fewer(run.case_trials, run), _fewer(whole.case_trials, run)),
        ("first look at the board after trial", run.look, whole.look),
        ("seed of the noise", run.seed, whole.seed),
        (f"seed{'s' * (' ' in seeds)} of the data", seeds, own_seeds),
        ("noise", run.noise, whole.noise),
    ):
        if now != before:
            differences.append(f"{what}: {now} instead of {before}")
    return tuple(differences)


def _fewer(limits: Mapping[str, int], shown: RunConfig) -> str:
    """The mechanisms and datasets of `shown` that have fewer trials."""
    names = {part.name for part in shown.mechanisms} | {part.name for part in shown.datasets}
    return _list([f"{name} {trials}" for name, trials in limits.items() if name in names]) or "none"


def _seeds(run: RunConfig) -> str:
    """The seeds of the generated data; for original files, which do not depend on a seed, the given one."""
    generated = {d.seed for d in run.datasets if not d.original}
    return listed_seeds(generated or {d.seed for d in run.datasets})


def altered(run: RunConfig, whole: RunConfig) -> tuple[str, ...]:
    """The changes after which a number no longer means what it does in the experiment: parameters with other values. Fewer
    settings, more trials, another seed or the original files do not alter its meaning."""
    own = {dataset.name: dataset.source for dataset in whole.datasets}
    made_alike = [dataset for dataset in run.datasets if own.get(dataset.name) == dataset.source]
    pairs = ((made_alike, whole.datasets), (run.mechanisms, whole.mechanisms), (run.tasks, whole.tasks))
    return tuple(change for mine, theirs in pairs for change in _parameters(mine, theirs))


def _members(what: str, mine: Iterable[str], own: Iterable[str]) -> Iterator[str]:
    """Which names were left out and which were added."""
    mine, own = list(dict.fromkeys(mine)), list(dict.fromkeys(own))
    if gone := [name for name in own if name not in mine]:
        yield f"{what} left out: {_list(gone)}"
    if came := [name for name in mine if name not in own]:
        yield f"{what} added: {_list(came)}"


def _parameters(mine: Sequence[Dataset | Variant], own: Sequence[Dataset | Variant]) -> Iterator[str]:
    """Parameters with other values, for names that are in both."""
    for name in dict.fromkeys(v.name for v in own):
        # Another world has other parameters: only what is the same world is compared.
        worlds = _worlds(mine, name) & _worlds(own, name)
        same = ([v for v in listed if v.name == name and getattr(v, "world", "") in worlds] for listed in (mine, own))
        ours, theirs = map(_values, same)
        if not ours:
            continue
        if ours.get("source") != theirs.get("source"):  # then every other parameter differs as well
            yield f"{name}: {_list(ours['source'])} instead of {_list(theirs['source'])}"
            continue
        for key in dict.fromkeys((*ours, *theirs)):
            now, before = ours.get(key, ["default"]), theirs.get(key, ["default"])
            if now != before:
                yield f"{name}: {key} = {_list(now)} instead of {_list(before)}"


def _worlds(uses: Iterable[Dataset | Variant], name: str) -> set[str]:
    return {getattr(use, "world", "") for use in uses if use.name == name}


def _values(variants: Iterable[Dataset | Variant]) -> dict[str, list[Any]]:
    """The values of each parameter over the variants of one name, in order."""
    values_of: dict[str, list[Any]] = {}
    for variant in variants:
        if isinstance(variant, Dataset):
            given = {"source": variant.source, **variant.params}
        else:
            given = {"class": variant.cls, **variant.params}
        for key, value in given.items():
            values = values_of.setdefault(key, [])
            if value not in values:
                values.append(value)
    return values_of


def _budget(budget: StatedBudget) -> str:
    return f"{budget:.4g}" if isinstance(budget, float) else str(budget)


def _list(values: Iterable[Any]) -> str:
    return ", ".join(map(str, values))
