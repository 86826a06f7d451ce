"""`data calibration`: statistics as printed, as published, and in each of our worlds. Imported by the `data` verb."""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import json

from rich.console import Console
from rich.table import Column, Table

from dpbench.cli import common
from dpbench.config import catalogue
from dpbench.config.dataset_entry import SCALES
from dpbench.errors import UserError, one_of

SMALLER = "At {scale} scale, most sizes are smaller than those printed: --scale paper builds the papers' sizes."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("name", nargs="?", help="a dataset (default: every generated one that has worlds)")
    add("--scale", default="laptop", help="smoke, laptop or paper (default: laptop)")
    add("--seed", type=int, default=0, help="data seed (default: 0)")
    add("--json", action="store_true", help="print a list of objects instead of tables")


def show_calibration(args: argparse.Namespace, console: Console) -> int:
    from dpbench.ranking.worlds import calibration

    one_of("--scale", args.scale, SCALES)
    if args.name and not catalogue.dataset(args.name).generator:
        raise UserError(f"{args.name} is read from files only: expected a dataset that is generated")
    named = [args.name] if args.name else catalogue.options("dataset")
    entries = [entry for entry in map(catalogue.dataset, named) if args.name or entry.worlds]
    notes = common.notes()
    listed = []
    for entry in entries:
        rows = list(
            calibration(entry, args.scale, args.seed, lambda text: notes.print(text, style="dim", markup=False))
        )
        if args.json:
            listed += [dataclasses.asdict(row) | {"scale": args.scale, "seed": args.seed} for row in rows]
            continue
        worlds = list(dict.fromkeys(row.world for row in rows))
        heads = (Column(world or "ours", justify="right") for world in worlds)
        table = Table("statistic", "printed", "published", *heads, "source", title=f"{entry.name}, {args.scale} scale")
        for statistic, group in itertools.groupby(sorted(rows, key=_position(rows)), key=lambda row: row.statistic):
            same = list(group)
            first = same[0]
            ours = (number(row.ours) for row in same)
            table.add_row(
                statistic.replace("_", " "), number(first.printed), number(first.published), *ours, first.source
            )
        console.print(table)
    if args.json:
        print(json.dumps(listed, indent=2, ensure_ascii=False))
    elif args.scale != "paper":
        console.print(SMALLER.format(scale=args.scale))
    return 0


def _position(rows):  # type: ignore[no-untyped-def]
    order = {name: at for at, name in enumerate(dict.fromkeys(row.statistic for row in rows))}
    return lambda row: order[row.statistic]


def number(value: float | str | None) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.1f}"
