"""`list`: what there is, with where it comes from and what is reconstructed or not private."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Iterable

from rich.table import Table

from dpbench.cli.common import console
from dpbench.config import catalogue
from dpbench.errors import one_of

WIDTH = 180  # of what is printed into a pipe
NOISE = (
    "Float noise is for research: doubles have holes, which tell neighbours apart (Mironov 2012). "
    'For a real release: mechanism.release(data, epsilon=..., rng="secure", noise="exact"), and no "NOT PRIVATE" beside it.'
)
WHAT = ("mechanisms", "datasets", "experiments", "tasks")


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m dpbench list", description=__doc__)
    parser.add_argument("what", help=" | ".join(WHAT))
    args = parser.parse_args(argv)
    one_of("list", args.what, WHAT)
    heads, rows = {"mechanisms": _mechanisms, "datasets": _datasets, "experiments": _experiments, "tasks": _tasks}[
        args.what
    ]()
    table = Table(show_lines=args.what in ("mechanisms", "tasks"))
    for head in heads:
        table.add_column(head, overflow="fold")
    for row in rows:
        table.add_row(*row)
    console(WIDTH).print(table)
    if args.what == "mechanisms":
        console(WIDTH).print(NOISE, highlight=False, soft_wrap=True)
    return 0


def _mechanisms() -> tuple[tuple[str, ...], Iterable[tuple[str, ...]]]:
    from dpbench.mechanisms.base import MECHANISMS

    def rows() -> Iterable[tuple[str, ...]]:
        for name, cls in MECHANISMS.items():
            parameters = ", ".join(f"{f.name}={f.default!r}" for f in dataclasses.fields(cls) if f.init)
            try:
                made = cls()
                caveat, inexact = made.not_private(), made.inexact()
            except TypeError:
                caveat, inexact = "", ""
            notes = [f"NOT PRIVATE by default: {caveat}" if caveat else ""]
            notes.append(f"reconstructed: {cls.reconstructed}" if cls.reconstructed else "")
            place = f"{cls.paper}, {cls.place}" if cls.place else cls.paper
            yield (
                name,
                place,
                " ".join(cls.kinds),
                f"{cls.privacy}; {cls.neighbours}",
                parameters,
                "\n".join(filter(None, notes)),
                f"no: {inexact}" if inexact else "yes",
            )

    return ("name", "paper", "data", "privacy", "parameters", "notes", "exact noise"), rows()


def _datasets() -> tuple[tuple[str, ...], Iterable[tuple[str, ...]]]:
    def rows() -> Iterable[tuple[str, ...]]:
        for name in catalogue.options("dataset"):
            entry = catalogue.dataset(name)
            paper = entry.sizes.get("paper", {})
            size = ", ".join(f"{k}={v:,}" if isinstance(v, int) else f"{k}={v}" for k, v in paper.items())
            yield (name, entry.kind, entry.generator or "-", entry.files or "-", size)

    return ("name", "data", "generator", "original format", "size at scale=paper"), rows()


def _experiments() -> tuple[tuple[str, ...], Iterable[tuple[str, ...]]]:
    def rows() -> Iterable[tuple[str, ...]]:
        for name in catalogue.options("experiment"):
            yield name, catalogue.title(name)

    return ("id", "what it shows"), rows()


def _tasks() -> tuple[tuple[str, ...], Iterable[tuple[str, ...]]]:
    from dpbench.tasks.base import TASKS

    def rows() -> Iterable[tuple[str, ...]]:
        for name, cls in TASKS.items():
            metrics = "\n".join(f"{metric.name}: {metric.description}" for metric in cls.metrics)
            yield name, " ".join(cls.kinds), (cls.__doc__ or "").split("\n")[0], metrics

    return ("name", "data", "what it asks", "metrics"), rows()
