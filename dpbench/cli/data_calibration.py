"""`data calibration`: statistics as printed, as published, and in each of our worlds. Imported by the `data` verb."""

from __future__ import annotations

import argparse
import dataclasses
import json
from functools import partial

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
    say = partial(common.notes().print, style="dim", markup=False)
    listed = []
    for entry in entries:
        rows = [*calibration(entry, args.scale, args.seed, say)]
        if args.json:
            listed += [dataclasses.asdict(row) | {"scale": args.scale, "seed": args.seed} for row in rows]
            continue
        worlds = list(dict.fromkeys(row.world for row in rows))
        heads = (Column(world or "ours", justify="right") for world in worlds)
        table = Table("statistic", "printed", "published", *heads, "source", title=f"{entry.name}, {args.scale} scale")
        for statistic in dict.fromkeys(row.statistic for row in rows):
            same = [row for row in rows if row.statistic == statistic]
            known = number(same[0].printed), number(same[0].published)
            table.add_row(statistic.replace("_", " "), *known, *(number(row.ours) for row in same), same[0].source)
        console.print(table)
    if args.json:
        print(json.dumps(listed, indent=2, ensure_ascii=False))
    elif args.scale != "paper":
        console.print(SMALLER.format(scale=args.scale))
    return 0


def number(value: float | str | None) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.1f}"
