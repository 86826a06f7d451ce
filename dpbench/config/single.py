"""Checks single settings of a run: each has a type, and limits. Imported by `checks`, which checks how they fit together."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dpbench.config import catalogue
from dpbench.config.origins import Origins, key_of
from dpbench.config.schema import RunnerConfig, TrackingConfig, known_metric
from dpbench.errors import UserError, one_of, output_folder, placed, positive, unknown
from dpbench.mechanisms.base import parse_epsilon
from dpbench.privacy import FORMS
from dpbench.results.run import Variant
from dpbench.tasks.base import TASKS

SECTIONS = {"runner": RunnerConfig, "tracking": TrackingConfig}
MOST_TRIALS = 10_000_000
MOST_DRAWS = 1_000
SECONDS = "seconds"  # not a metric of a task, but a column of every trial


def text(cfg: Mapping[str, Any], key: str) -> str:
    value = cfg.get(key)
    if isinstance(value, list | Mapping):
        raise UserError(f"{key}={value!r} is not valid: expected a text")
    return "" if value is None else str(value)


def noise(cfg: Mapping[str, Any]) -> str:
    one_of("noise", cfg.get("noise"), FORMS)
    return str(cfg["noise"])


def truth(cfg: Mapping[str, Any], key: str) -> bool:
    if not isinstance(cfg.get(key), bool):
        raise UserError(f"{key}={cfg.get(key)!r} is not valid: expected true or false")
    return bool(cfg[key])


def whole(cfg: Mapping[str, Any], key: str) -> int:
    value = cfg.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise UserError(f"{key}={value!r} is not valid: expected a whole number, 0 or more")
    return value


def trials(cfg: Mapping[str, Any]) -> int:
    for key in ("trials", "paper_trials"):
        positive(key, cfg.get(key), whole=True)
        if cfg[key] > MOST_TRIALS:
            raise UserError(f"{key}={cfg[key]!r} is not valid: expected at most {MOST_TRIALS}")
    return int(cfg["trials"])


def most_trials(
    cfg: Mapping[str, Any], mechanisms: Sequence[str], datasets: Sequence[str], origins: Origins
) -> dict[str, int]:
    """Trials by mechanism or dataset of this run. An experiment may name others, which an override removed."""
    key = "most_trials"
    given = {} if cfg.get(key) is None else cfg[key]
    if not isinstance(given, Mapping):
        expected = "expected mechanisms or datasets with numbers of trials, such as {gs_mean: 20, netflix: 50}"
        raise placed(origins.place(key), f"{key}={given!r} is not valid: {expected}")
    here = [*mechanisms, *datasets]
    groups = ("mechanism", "dataset")
    known = dict.fromkeys([*here, *(name for group in groups for name in catalogue.options(group, *origins.folders))])
    for name, trials in given.items():
        if name not in known:
            raise unknown(f"mechanism or dataset in {key}:", str(name), known, origins.place(key, str(name)))
        positive(f"{key}.{name}", trials, whole=True)
        if origins.word(key, str(name)) and name not in here:
            raise UserError(f"{key}.{name} has no effect: {name} is not in this run")
    return {str(name): int(trials) for name, trials in given.items() if name in here}


def draws(cfg: Mapping[str, Any]) -> int:
    positive("data_seeds", cfg.get("data_seeds"), whole=True)
    if cfg["data_seeds"] > MOST_DRAWS:
        raise UserError(f"data_seeds={cfg['data_seeds']!r} is not valid: expected at most {MOST_DRAWS}")
    return int(cfg["data_seeds"])


def results(cfg: Mapping[str, Any]) -> Path:
    value = cfg.get("results")
    if not isinstance(value, str | int | float) or isinstance(value, bool) or not str(value).strip():
        raise UserError(f"results={value!r} is not valid: expected a folder")
    try:
        path = Path(str(value)).expanduser()
    except RuntimeError:  # ~nobody
        path = Path(str(value))
    output_folder("results=", path)
    return path


def epsilons(value: Any) -> tuple[float, ...]:
    values = value if isinstance(value, list) else [value]
    if not values:
        raise UserError("epsilon=[] is not valid: expected at least one positive number, ln2 or ln3")
    return tuple(dict.fromkeys(parse_epsilon(v) for v in values))


def metrics(cfg: Mapping[str, Any], tasks: tuple[Variant, ...], origins: Origins) -> tuple[str, ...]:
    """The columns of the table. Those of the experiment are dropped if the user chose other tasks."""
    value = cfg.get("metrics")
    names = value if isinstance(value, list) else [] if value is None else [value]
    for name in names:
        if not isinstance(name, str):
            raise UserError(f"metrics={value!r} is not valid: expected names of metrics")
    classes = [task.found(TASKS) for task in tasks]
    known = [name for name in names if name == SECONDS or any(known_metric(cls, name) for cls in classes)]
    asked = origins.given("metrics") or not any(key_of(word) == "task" for word in origins.words)
    for name in names:
        if asked and name not in known:
            valid = [_name(metric) for cls in classes for metric in getattr(cls, "metrics", ())]
            raise unknown("metric", name, dict.fromkeys([*valid, SECONDS]), origins.place("metrics"))
    return tuple(known)


def _name(metric: Any) -> str:
    return str(getattr(metric, "name", metric))


def section(name: str, cfg: Mapping[str, Any], origins: Origins) -> Any:
    given, cls = cfg.get(name), SECTIONS[name]
    valid = [f.name for f in dataclasses.fields(cls)]
    if given is None:
        given = {}
    if not isinstance(given, Mapping):
        expected = f"expected one of: {', '.join(catalogue.options(name))}"
        raise placed(origins.place(name), f"{name}={given!r} is not valid: {expected}")
    for key in given:
        if key not in valid:
            raise unknown("setting", f"{name}.{key}", [f"{name}.{v}" for v in valid], origins.place(name, str(key)))
    return cls(**given)
