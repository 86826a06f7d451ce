"""`list`: what there is, with where it comes from and what is reconstructed or not private."""

from __future__ import annotations

import argparse
import dataclasses
import re
from collections.abc import Iterable

from rich.console import Console
from rich.table import Table

from dpbench.config.compose import options
from dpbench.errors import one_of
from dpbench.paths import CONF

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
    console = Console()
    # A pipe has no width: wide enough that no row is folded beyond reading.
    Console(width=None if console.is_terminal else 180).print(table)
    return 0


def _mechanisms() -> tuple[tuple[str, ...], Iterable[tuple[str, ...]]]:
    from dpbench.mechanisms.base import MECHANISMS

    def rows() -> Iterable[tuple[str, ...]]:
        for name, cls in MECHANISMS.items():
            parameters = ", ".join(f"{f.name}={f.default!r}" for f in dataclasses.fields(cls) if f.init)
            try:
                caveat = cls().not_private()
            except TypeError:
                caveat = ""
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
            )

    return ("name", "paper", "data", "privacy", "parameters", "notes"), rows()


def _datasets() -> tuple[tuple[str, ...], Iterable[tuple[str, ...]]]:
    import yaml

    def rows() -> Iterable[tuple[str, ...]]:
        for name in options("dataset"):
            entry = yaml.safe_load((CONF / "dataset" / f"{name}.yaml").read_text())[name]
            paper = (entry.get("sizes") or {}).get("paper") or {}
            size = ", ".join(f"{k}={v:,}" if isinstance(v, int) else f"{k}={v}" for k, v in paper.items())
            yield (
                name,
                str(entry.get("kind", "")),
                str(entry.get("generator", "")),
                str(entry.get("files") or "-"),
                size,
            )

    return ("name", "data", "generator", "original format", "size at scale=paper"), rows()


def _experiments() -> tuple[tuple[str, ...], Iterable[tuple[str, ...]]]:
    def rows() -> Iterable[tuple[str, ...]]:
        for name in options("experiment"):
            text = (CONF / "experiment" / f"{name}.yaml").read_text()
            title = re.search(r"^title: *(.*)$", text, re.MULTILINE)
            yield name, title[1].strip("\"'") if title else ""

    return ("id", "what it shows"), rows()


def _tasks() -> tuple[tuple[str, ...], Iterable[tuple[str, ...]]]:
    from dpbench.tasks.base import TASKS

    def rows() -> Iterable[tuple[str, ...]]:
        for name, cls in TASKS.items():
            metrics = "\n".join(f"{metric.name}: {metric.description}" for metric in cls.metrics)
            yield name, " ".join(cls.kinds), (cls.__doc__ or "").split("\n")[0], metrics

    return ("name", "data", "what it asks", "metrics"), rows()
