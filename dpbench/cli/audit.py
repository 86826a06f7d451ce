"""`audit`: measures how much privacy each mechanism really loses. It computes the loss step by step if possible; otherwise it
tests releases. Exit status 1 if a mechanism breaks the guarantee that it states, or if nothing was measured."""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rich import box
from rich.markup import escape
from rich.table import Table

from dpbench.cli.common import PRINTED, add_json, console, notes, write_json
from dpbench.errors import UserError, output_folder, positive
from dpbench.results.commands import RESULTS

OWN_PAIRS = 8
"""How many pairs --data makes, each by leaving out one user, if --pairs is not given."""


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m dpbench audit", description=__doc__)
    add = parser.add_argument
    add(
        "mechanism",
        nargs="*",
        help="names, or dotted paths of your own classes; parameters as in lpa(bound=3) (default: all)",
    )
    add("--epsilon", default="1", help="the stated budget, such as 0.5 or ln2 (default: 1)")
    add("--delta", type=float, help="the δ for classes that state no guarantee (default: 0)")
    add(
        "--pairs",
        type=int,
        help="neighbouring pairs per mechanism (default: 200, or 24 for mechanisms whose releases are tested)",
    )
    add(
        "--seconds",
        type=float,
        help="time limit per mechanism whose releases are tested (default: 20, and 60 for all together)",
    )
    add("--seed", type=int, default=0)
    add_json(parser, "all findings")
    add(
        "--data",
        type=Path,
        help="make the pairs from this CSV, TSV or Parquet file, with columns for user, item and optionally context",
    )
    for column in ("user", "item", "context"):
        add(
            f"--{column}",
            default="",
            metavar="COLUMN",
            help=f"the column of --data with the {column}s (default: {column})",
        )
    add(
        "--results",
        type=Path,
        help="folder where the findings are stored for the report (default: results; not with --data, which only shows them)",
    )
    args = parser.parse_args(argv)

    from dpbench.audit.judge import Options, findings, named
    from dpbench.config.catalogue import options
    from dpbench.mechanisms.base import MECHANISMS, parse_epsilon
    from dpbench.paths import CONF

    chosen_options = Options(parse_epsilon(args.epsilon), args.delta, args.pairs, args.seconds, args.seed)
    _check(args)
    names = MECHANISMS.names()
    own = [name for name in options("mechanism") if name not in names]
    asked = []
    # Presets and mechanisms of other libraries are audited only if they are named.
    mine = [name for name in own if not (CONF / "mechanism" / f"{name}.yaml").is_file()]
    for text in args.mechanism or [*names, *mine]:
        asked += named(text)
    if args.delta is not None and all(one.guarantee for one in asked):
        stated = ", ".join(dict.fromkeys(f"{one.name} states {one.guarantee}" for one in asked[:3]))
        raise UserError(f"--delta has no effect: {stated}")
    with notes().status("auditing ...") as status:
        found = []
        for number, finding in enumerate(_found(asked, chosen_options, args, findings), 1):
            found.append(finding)
            status.update(f"auditing ... {number} of {len(asked)} done")
    if args.json is not None:
        write_json(args.json, as_json(found, args.seed))
    out = console(stderr=args.json == PRINTED)
    out.print(_table(found, chosen_options.epsilon))
    if args.data is None:
        from dpbench.audit.stored import store

        store(args.results or RESULTS, found, args.seed, anew=not args.mechanism)
    out.print(_summary(found))
    return 1 if any(one.verdict == "violated" or not one.pairs for one in found) else 0


def _check(args: argparse.Namespace) -> None:
    """Check numbers and files before any work."""
    if args.pairs is not None:
        positive("pairs", args.pairs, whole=True)
    if args.seconds is not None:
        positive("seconds", args.seconds)
    if args.delta is not None and not 0 <= args.delta < 1:
        raise UserError(f"delta={args.delta!r} is not valid: expected a number from 0 to below 1")
    if args.seed < 0:
        raise UserError(f"seed={args.seed!r} is not valid: expected a whole number from 0")
    if args.data is not None and args.results is not None:
        raise UserError("--results has no effect with --data: only findings on random pairs are stored")
    for column in ("user", "item", "context"):
        if args.data is None and getattr(args, column):
            raise UserError(f"--{column} has no effect without --data")
    if args.data is None:
        output_folder("--results ", args.results or RESULTS)


def _found(asked: Sequence[Any], options: Any, args: argparse.Namespace, findings: Any) -> Iterator[Any]:
    """The findings, on random pairs or on pairs from a file."""
    if args.data is None:
        yield from findings(asked, options)
        return
    from dpbench.audit.tables import read_table, table_pairs

    table = read_table(args.data, args.user, args.item, args.context)
    for one in asked:
        kinds = getattr(one.mechanism, "kinds", ("incidence",))
        fitting = [kind for kind in table.kinds if kind in kinds]
        if not fitting:
            raise UserError(
                f"{one.name} takes {' or '.join(kinds)} data: --data makes incidence, or records with a context"
            )
        yield from findings([one], options, table_pairs(table, fitting[0], options.pairs or OWN_PAIRS, options.seed))


def as_json(found: Sequence[Any], seed: int) -> str:
    """A list of findings with all their fields. An infinite loss is null: JSON has no number for it."""
    from dpbench import __version__

    rows = []
    for one in found:
        row = dataclasses.asdict(one) | {"violated": one.verdict == "violated", "seed": seed, "version": __version__}
        rows.append({key: None if value == math.inf else value for key, value in row.items()})
    return json.dumps(rows, indent=2, ensure_ascii=False, allow_nan=False)


def _table(found: Sequence[Any], epsilon: float) -> Table:
    table = Table(title=f"Privacy loss at a stated ε = {epsilon:.4g}", box=box.SIMPLE_HEAD, pad_edge=False)
    for head in ("mechanism", "parameters", "method", "states", "loss", "verdict"):
        # A dotted path may be as wide as the terminal and must wrap; short texts stay on one line.
        short = head in ("method", "states", "loss") or (
            head == "mechanism" and not any("." in o.mechanism for o in found)
        )
        table.add_column(head, overflow="fold", no_wrap=short)
    for one in found:
        states = f"(ε, {one.delta:.3g})" if one.delta else one.guarantee
        sign = "≥ " if one.method == "sequential test" else "≤ " if one.at_most else ""
        loss = "∞" if math.isinf(one.loss) else f"{sign}{one.loss:.4g}"
        table.add_row(
            *map(escape, (one.mechanism, one.parameters or "defaults", one.method, states, loss)), _verdict(one)
        )
    return table


def _verdict(one: Any) -> str:
    """The verdict with its details: how many pairs, which pair and step, or the reason."""
    place = ": ".join(filter(None, [one.pair, one.step]))
    if one.verdict == "holds":
        return f"holds on {one.pairs} pairs"
    if one.verdict == "violated":
        return f"[red]VIOLATED[/red] {escape('; '.join(filter(None, [place, one.reason])))}"
    if one.verdict == "declared not private":
        # The kind of pair is enough here; --json has its rows.
        kind = ": ".join(filter(None, [one.pair.partition(" (pair ")[0], one.step]))
        return escape(f"declared not private, as found: {kind}")
    return escape(f"inconclusive: {one.reason}")


def _summary(found: Sequence[Any]) -> str:
    verdicts = [one.verdict for one in found]
    parts = [f"{verdicts.count(verdict)} {verdict}" for verdict in dict.fromkeys(verdicts)]
    return f"{len(found)} audited: {', '.join(parts)}."
