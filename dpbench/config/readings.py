"""The readings of the papers: conf/readings/<paper>.yaml, checked, and what they change in a run.

Imported by `checks`, the claims, the verbs and the plotting scripts of the experiments `<paper>/readings`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from dpbench.config import catalogue
from dpbench.config.catalogue import ENTRIES
from dpbench.config.overrides import key_of
from dpbench.documents import Document, kind_of
from dpbench.errors import UserError, nearest, placed, unknown
from dpbench.model.reading import (
    ALL,
    DEFAULT,
    EPSILON,
    AdmissibleValue,
    PaperReadings,
    PrintedNumber,
    Reading,
    Unknown,
)

__all__ = ["PaperReadings", "chosen", "of_experiment", "papers", "readings"]

GROUP = "readings"
OWN_KEYS = ("joint", "grid", "worlds", "printed", "sentences")
"""Top-level keys that are not unknowns."""
NUMBERS = ("value", "within", "low", "high", "least", "most")


# The files.


def papers(*folders: Path) -> list[str]:
    """The papers that have a file of readings."""
    return catalogue.options(GROUP, *folders)


def readings(paper: str, *folders: Path) -> PaperReadings:
    """The unknowns and readings of a paper; none if it has no file."""
    document = catalogue.option(GROUP, paper, *folders)
    return PaperReadings(paper) if document is None else parsed(paper, document)


def parsed(paper: str, document: Document) -> PaperReadings:
    """The content of a file of readings; UserError with file and line for what is wrong in it."""
    body = document.mapping
    unknowns = tuple(_unknown(document, name) for name in body if name not in OWN_KEYS)
    listed = {point.name: point for point in unknowns}
    joint: dict[str, Mapping[str, str]] = {}
    for name, choices in _mapping(document, "joint").items():
        if name in (DEFAULT, ALL) or "." in name or "+" in name:
            raise placed(
                document.place("joint", name), f"{name!r} is not valid: expected a name without dots and signs"
            )
        for key, value in _mapping(document, "joint", name).items():
            _known("unknown", key, listed, document.place("joint", name, key))
            _known(f"value of {key}", value, [v.name for v in listed[key].values], document.place("joint", name, key))
        joint[name] = {str(key): str(value) for key, value in choices.items()}
    grids = []
    for grid in _list(document, "grid"):
        for name in grid if isinstance(grid, list) else [grid]:
            _known("unknown", name, listed, document.place("grid"))
        grids.append(tuple(grid if isinstance(grid, list) else [grid]))
    worlds = {name: _text(document, "worlds", name) for name in _mapping(document, "worlds")}
    for name in worlds:
        _known("dataset", name, catalogue.options("dataset"), document.place("worlds", name))
    printed = tuple(_printed(document, paper, str(name)) for name in _mapping(document, "printed"))
    sentences = tuple(f"{paper}/{name}" for name in _list(document, "sentences"))
    return PaperReadings(paper, unknowns, joint, tuple(grids), worlds, printed, sentences)


def _printed(document: Document, paper: str, name: str) -> PrintedNumber:
    """`{value: 0.7, within: 0.05}`, a printed range `{low: 1, high: 3.4}`, or a bound `{least: 5}` or `{most: 5}`.

    `claim` is the claim with its measure, if the entry is not named after it; `where` and `measure` stand in for those
    of the claim; `run: true` is the result of one run.
    """
    body = _mapping(document, "printed", name)
    _keys(document, body, (*NUMBERS, "run", "claim", "where", "measure"), "printed", name)
    given = {key: body[key] for key in NUMBERS if key in body}
    if any(isinstance(n, bool) or not isinstance(n, int | float) or n < 0 for n in given.values()):
        raise placed(document.place("printed", name), f"{name}: expected numbers of 0 or more")
    match given:
        case {"value": value, **rest} if not set(rest) - {"within"}:
            low, high = value - rest.get("within", 0), value + rest.get("within", 0)
        case {"low": low, "high": high, **rest} if not rest:
            value = (low * high) ** 0.5
        case {"least": value, **rest} if not rest:
            low, high = value, math.inf
        case {"most": value, **rest} if not rest:
            low, high = 0.0, value
        case _:
            forms = "`value` and `within`, `low` and `high`, `least`, or `most`"
            raise placed(document.place("printed", name), f"{name}: expected {forms}")
    claim = body.get("claim", name)
    where = _mapping(document, "printed", name, "where")
    ends, measure = (float(value), float(low), float(high)), str(body.get("measure", ""))
    return PrintedNumber(name, f"{paper}/{claim}", *ends, bool(body.get("run", False)), where, measure)


def _unknown(document: Document, name: str) -> Unknown:
    body = _mapping(document, name)
    _keys(document, body, ("says", "default", "values", "experiments"), name)
    values = tuple(_value(document, name, value) for value in _mapping(document, name, "values"))
    names = [value.name for value in values]
    if len(values) < 2:
        raise placed(document.place(name), f"{name}: expected at least two admissible values in `values`")
    _known(f"default of {name}", body.get("default"), names, document.place(name, "default"))
    for value in values:
        if value.name == body["default"] and (value.sets or value.metrics):
            message = f"{name}.{value.name} is the default, which sets nothing: the parameters' own defaults are it"
            raise placed(document.place(name, "values", value.name, "set"), message)
        if value.name != body["default"] and not (value.sets or value.metrics):
            message = f"{name}.{value.name} sets nothing: expected `set: {{mechanism.NAME.PARAMETER: VALUE}}`"
            raise placed(document.place(name, "values", value.name), message)
    experiments = body.get("experiments") or []
    if not isinstance(experiments, list):
        raise placed(document.place(name, "experiments"), f"{name}.experiments: expected a list of experiments")
    for experiment in experiments:
        _known("experiment", experiment, catalogue.options("experiment"), document.place(name, "experiments"))
    return Unknown(name, _text(document, name, "says"), str(body["default"]), values, tuple(experiments))


def _value(document: Document, name: str, value: str) -> AdmissibleValue:
    keys = (name, "values", value)
    _keys(document, _mapping(document, *keys), ("because", "set", "metrics", "datasets"), *keys)
    sets = _mapping(document, *keys, "set")
    for path, given in sets.items():
        place = document.place(*keys, "set", path)
        parts = path.split(".")
        if path != EPSILON and (len(parts) != 3 or parts[0] not in ENTRIES):
            first = nearest(parts[0], ENTRIES) if parts[0] not in ENTRIES else "expected three parts"
            message = f"{path} is not valid: {first}; such as mechanism.gs.scale_up, dataset.NAME.PARAMETER"
            raise placed(place, message)
        if isinstance(given, list | Mapping):
            raise placed(place, f"{path}={given!r} is not valid: expected one value")
    metrics = {old: str(new) for old, new in _mapping(document, *keys, "metrics").items()}
    datasets = _at(document, *keys, "datasets") or []
    for dataset in datasets if isinstance(datasets, list) else [datasets]:
        _known("dataset", dataset, catalogue.options("dataset"), document.place(*keys, "datasets"))
    return AdmissibleValue(value, _text(document, *keys, "because"), sets, metrics, tuple(datasets))


def _at(document: Document, *keys: str) -> Any:
    body: Any = document.mapping
    for key in keys:
        body = {str(k): v for k, v in body.items()}.get(key) if isinstance(body, Mapping) else None
    return body


def _mapping(document: Document, *keys: str) -> dict[str, Any]:
    body = _at(document, *keys)
    if body is None:
        return {}
    if not isinstance(body, Mapping):
        raise placed(document.place(*keys), f"{'.'.join(keys)}: expected keys and values, found a {kind_of(body)}")
    return {str(key): value for key, value in body.items()}


def _list(document: Document, key: str) -> list[Any]:
    body = _at(document, key)
    if body is not None and not isinstance(body, list):
        raise placed(document.place(key), f"{key}: expected a list, found a {kind_of(body)}")
    return body or []


def _text(document: Document, *keys: str) -> str:
    text = _at(document, *keys)
    if not isinstance(text, str) or not text.strip():
        raise placed(document.place(*keys), f"{'.'.join(keys)}={text!r} is not valid: expected a text")
    return " ".join(text.split())


def _keys(document: Document, body: Mapping[str, Any], valid: tuple[str, ...], *above: str) -> None:
    for key in body:
        _known(f"key of {above[-1]}", key, valid, document.place(*above, key))


def _known(what: str, name: object, valid: Iterable[str], place: str) -> None:
    names = [*valid]
    if name not in names:
        raise unknown(what, name, names, place)


# Readings of a run.


def of_experiment(experiment: str, *folders: Path, paper: PaperReadings | None = None) -> PaperReadings:
    """The readings of the experiment's paper, without those that change nothing of this experiment as it is defined. Its axes are
    not changed by a reading. `paper`: the readings of the paper, if they are already read."""
    paper = paper or readings(experiment.partition("/")[0], *folders)
    axes, documents = catalogue.axes(experiment, *folders), catalogue.chain(experiment, *folders)
    names = dict(zip(ENTRIES, (axes.datasets, axes.mechanisms, axes.tasks), strict=True))

    def can_set(path: str) -> bool:
        if path == EPSILON:
            return len(axes.epsilons) == 1
        group, name, parameter = path.split(".")
        entry = catalogue.option(group, name, *folders)
        own = [entry.mapping.get(name)] if entry else []
        bodies = [*own, *(document.mapping.get(group, {}).get(name) for document in documents if document.has(group))]
        return name in names[group] and not any(isinstance((body or {}).get(parameter), list) for body in bodies)

    return paper.within([path for path in paper.paths if can_set(path)], experiment)


def chosen(
    name: str, cfg: Mapping[str, Any], experiment: str, words: Iterable[str], folders: Iterable[Path]
) -> list[Reading]:
    """The readings that `reading=NAME` means for a composed run, without the default; UserError if it has no effect.

    A parameter that the run gives as an axis, or the user by an override, is not changed by a reading.
    """
    paper, slash, inside = name.partition("/")
    paper, inside = (paper, inside) if slash else (experiment.partition("/")[0], name)
    if inside == DEFAULT:
        return []
    if not paper:
        if inside == ALL:
            raise UserError("reading=all needs an experiment, or the paper: give reading=PAPER/all")
        raise UserError(
            f"reading={name}: this run has no experiment: give the paper as well, such as reading=gs/{name}"
        )
    known = readings(paper, *folders)
    if slash and not known.unknowns:
        raise unknown("paper of a reading", paper, papers(*folders))
    given = {key_of(word) for word in words}
    mine = known.within([path for path in known.paths if path not in given and _changes(path, cfg)], experiment)
    if inside == ALL:
        every = [_plannable(reading) for reading in mine.all()[1:]]
        return [reading for reading in every if reading.sets]
    wanted = known.named(inside)  # UserError if there is none
    if not any(path in mine.paths for path in wanted.sets):
        what = ", ".join(wanted.sets) or ", ".join(f"the metric {metric}" for metric in wanted.metrics)
        raise UserError(f"reading={name} has no effect: nothing of this run has {what} to be set")
    only, given_datasets = wanted.datasets, _datasets(cfg)
    if only and set(given_datasets) - set(only):
        expected = f"dataset=[{','.join(only)}], or reading=all"
        raise UserError(f"reading={name} is not admissible on all datasets of this run: expected {expected}")
    return [_restricted(wanted, mine.paths)]


def _plannable(reading: Reading) -> Reading:
    """A joint reading without the parameters that it sets on some datasets only: these are run by a reading of their own."""
    if reading.datasets:
        return reading
    return replace(reading, sets={path: value for path, value in reading.sets.items() if path not in reading.only})


def _restricted(reading: Reading, paths: list[str]) -> Reading:
    sets = {path: value for path, value in reading.sets.items() if path in paths}
    return replace(reading, sets=sets)


def _datasets(cfg: Mapping[str, Any]) -> list[str]:
    marker = catalogue.MARKERS["dataset"]
    return [name for name, body in (cfg.get("dataset") or {}).items() if isinstance(body, Mapping) and marker in body]


def _changes(path: str, cfg: Mapping[str, Any]) -> bool:
    """Whether a reading can set this parameter: the run has the mechanism, dataset or task, and gives no list."""
    if path == EPSILON:
        given = cfg.get(EPSILON)
        return not isinstance(given, list) or len(given) == 1
    group, name, parameter = path.split(".")
    body = (cfg.get(group) or {}).get(name)
    if not isinstance(body, Mapping) or catalogue.MARKERS[group] not in body:
        return False
    return not isinstance(body.get(parameter), list)


def applied(cfg: Mapping[str, Any], reading: Reading) -> dict[str, Any]:
    """The composed configuration with the parameters of a reading."""
    changed = dict(cfg)
    if reading.datasets:  # on the others it is the default reading
        left_out = [name for name in _datasets(cfg) if name not in reading.datasets]
        changed["dataset"] = {name: body for name, body in changed["dataset"].items() if name not in left_out}
    for path, value in reading.sets.items():
        if path == EPSILON:
            changed[EPSILON] = [value]
            continue
        group, name, parameter = path.split(".")
        entries = dict(changed[group])
        entries[name] = {**entries[name], parameter: value}
        changed[group] = entries
    return changed
