"""`list`: lists mechanisms, datasets, experiments, tasks, metrics or readings, with their origin and what is not private."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from rich.markup import escape
from rich.table import Column, Table

from dpbench.cli.common import console, parser_of
from dpbench.config import catalogue
from dpbench.errors import UserError, one_of

WIDTH = 180  # characters per line of output into a pipe
NOISE = (
    "Float noise is for research: it has gaps that can reveal the input (Mironov 2012). "
    'For a real release: mechanism.release(data, epsilon=..., rng="secure", noise="exact"), and no "NOT PRIVATE" beside it.'
)
NOT_IMPORTED = "`list` runs no code of yours; `run` says what it guarantees"


def main(argv: list[str]) -> int:
    parser = parser_of("list", __doc__)
    parser.add_argument("what", help=" | ".join(KINDS))
    parser.add_argument("--json", action="store_true", help="print a list of objects instead of a table")
    parser.add_argument("--config-dir", help="your own configuration folder, besides ./conf")
    args = parser.parse_args(argv)
    one_of("list", args.what, KINDS)
    heads, rows_of = KINDS[args.what]
    rows = rows_of()
    if args.json:
        print(json.dumps([dict(zip(heads, row, strict=True)) for row in rows], indent=2, ensure_ascii=False))
        return 0
    columns = (Column(head, overflow="fold") for head in heads)
    table = Table(*columns, show_lines=args.what in ("mechanisms", "tasks", "readings"))
    for row in rows:
        table.add_row(*map(escape, row))
    console(WIDTH).print(table)
    if args.what == "mechanisms":
        console(WIDTH).print(NOISE)
    return 0


def _mechanisms() -> Iterator[tuple[str, ...]]:
    from dpbench.mechanisms.base import MECHANISMS

    for name, cls in MECHANISMS.items():
        yield _mechanism(name, cls, {})
    for name in catalogue.options("mechanism"):
        if name not in MECHANISMS.names():
            try:
                entry = catalogue.mechanism(name)
                if MECHANISMS.known(entry.cls):
                    yield _mechanism(name, MECHANISMS.get(entry.cls), dict(entry.params))
                else:
                    parameters = ", ".join(f"{key}={value!r}" for key, value in entry.params.items())
                    yield (name, "own", "", "", parameters, f"your class {entry.cls}: {NOT_IMPORTED}", "")
            except UserError as problem:  # one broken file of a user must not hide all others
                yield (name, "own", "", "", "", f"cannot be used: {problem}", "")


def _mechanism(name: str, cls: Any, given: dict[str, Any]) -> tuple[str, ...]:
    """The row of a mechanism; a user's own class may not state its facts."""
    fields = [f for f in dataclasses.fields(cls) if f.init] if dataclasses.is_dataclass(cls) else []
    defaults = {f.name: f.default for f in fields if f.default is not dataclasses.MISSING} | given
    parameters = ", ".join(f"{key}={value!r}" for key, value in defaults.items())
    try:
        mechanism = cls(**{key: value for key, value in given.items() if not isinstance(value, list)})
        caveat, inexact = mechanism.not_private(), mechanism.inexact()
    except (TypeError, AttributeError, UserError):
        caveat, inexact = "", "" if hasattr(cls, "inexact") else "its `release` decides"
    reconstructed = getattr(cls, "reconstructed", "")
    notes = [f"NOT PRIVATE by default: {caveat}"] if caveat else []
    notes += [f"reconstructed: {reconstructed}"] if reconstructed else []
    paper = ", ".join(filter(None, (getattr(cls, "paper", "") or "own", getattr(cls, "place", ""))))
    stated = "; ".join(filter(None, (getattr(cls, "privacy", "not stated"), getattr(cls, "neighbours", ""))))
    kinds = " ".join(getattr(cls, "kinds", ("incidence",)))
    return name, paper, kinds, stated, parameters, "\n".join(notes), f"no: {inexact}" if inexact else "yes"


def _datasets() -> Iterator[tuple[str, ...]]:
    for name in catalogue.options("dataset"):
        entry = catalogue.dataset(name)
        paper = entry.sizes.get("paper", {})
        size = ", ".join(f"{k}={v:,}" if isinstance(v, int) else f"{k}={v}" for k, v in paper.items())
        yield name, entry.kind or "any", entry.generator or "-", entry.files or "-", " ".join(entry.worlds) or "-", size


def _experiments() -> Iterator[tuple[str, ...]]:
    for name in catalogue.options("experiment"):
        yield name, catalogue.title(name)


def _tasks() -> Iterator[tuple[str, ...]]:
    from dpbench.tasks.base import TASKS

    own = {name: catalogue.task(name).cls for name in catalogue.options("task") if name not in TASKS.names()}
    installed = [(name, TASKS.get(cls)) for name, cls in own.items() if TASKS.known(cls)]
    for name, cls in (*TASKS.items(), *installed):
        metrics = "\n".join(f"{metric.name}: {metric.description}" for metric in getattr(cls, "metrics", ()))
        yield name, " ".join(getattr(cls, "kinds", ())), (cls.__doc__ or "").split("\n")[0], metrics
    for name, path in own.items():
        if not TASKS.known(path):
            yield name, "", f"your class {path}: {NOT_IMPORTED}", ""


def _metrics() -> Iterator[tuple[str, ...]]:
    """Every metric of the installed tasks; a name with * stands for a family, such as one per size of query."""
    from dpbench.tasks.base import ACROSS, PAIRED, TASKS

    for task, cls in TASKS.items():
        for metric in getattr(cls, "metrics", ()):
            yield metric.name, task, metric.better, metric.description
    for metric in (*PAIRED, *ACROSS):
        yield metric.name, "those with errors of single numbers", metric.better, metric.description


def _readings() -> Iterator[tuple[str, ...]]:
    """What each text leaves open, and its admissible values. `reading=UNKNOWN.VALUE` chooses one, `+` joins several."""
    from dpbench.config.readings import papers, readings

    for paper in papers():
        known = readings(paper)
        for unknown in known.unknowns:
            yield paper, unknown.name, unknown.says, ""
            for value in unknown.values:
                sets = "the default" if value.name == unknown.default else _assignments({**value.sets, **value.metrics})
                yield paper, f"{unknown.name}.{value.name}", value.because, sets
        for dataset, says in known.worlds.items():
            yield paper, f"world of {dataset}", says, "world=all"
        for name in known.joint:
            yield paper, name, "joint reading", _assignments(known.named(name).sets)


def _assignments(sets: Mapping[str, Any]) -> str:
    return "\n".join(f"{path}={json.dumps(value)}" for path, value in sets.items())


KINDS: dict[str, tuple[tuple[str, ...], Callable[[], Iterator[tuple[str, ...]]]]] = {
    "mechanisms": (("name", "paper", "data", "privacy", "parameters", "notes", "exact noise"), _mechanisms),
    "datasets": (("name", "data", "generator", "original format", "worlds", "size at scale=paper"), _datasets),
    "experiments": (("id", "what it shows"), _experiments),
    "tasks": (("name", "data", "what it asks", "metrics"), _tasks),
    "metrics": (("name", "task", "better", "what it is"), _metrics),
    "readings": (("paper", "reading", "what the text says, or why this value", "sets"), _readings),
}
"""What can be listed: the heads of its columns, and its rows."""
