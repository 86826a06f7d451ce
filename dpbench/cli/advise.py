"""`advise`: which mechanism to use for column counts, from public facts about the data alone, so that asking costs no privacy.

The answer comes from the boards on record: the mechanisms that did best on data of a similar shape. It says how much such
advice has cost on datasets that it had not seen; --held-out says so for every board. For ranges and subsets of a histogram and
for the K largest columns there is no map of shapes: `compare --record` shows which mechanism has the lowest regret there.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Column, Table

from dpbench.cli import common
from dpbench.errors import UserError, one_of
from dpbench.mechanisms.base import parse_epsilon
from dpbench.ranking.advice import GUARANTEES, Advice, Shape, advise, held_out

SHOWN = 5
EXAMPLE = """example:
  python -m dpbench advise --columns 20000 --users 1e6 --row 40 --epsilon 0.5
"""


def main(argv: list[str]) -> int:
    raw = argparse.RawDescriptionHelpFormatter
    parser = common.parser_of("advise", __doc__, epilog=EXAMPLE, formatter_class=raw)
    add = parser.add_argument
    add("--columns", type=float, help="number of columns or items that are counted")
    add("--users", type=float, help="number of users (rows), roughly")
    add("--row", type=float, help="mean number of columns that a user has, roughly")
    add("--epsilon", help="the budget, such as 0.5 or ln2")
    add("--guarantee", default="pure", help="pure (default) or delta, for (ε, δ)")
    held_out = "instead of advice: what it costs on datasets that it has not seen, by board"
    add("--held-out", action="store_true", help=held_out)
    common.add_json(parser, "the advice")
    args = parser.parse_args(argv)
    facts = [f"--{name}" for name in ("columns", "users", "row", "epsilon")]
    given = [word for word in facts if getattr(args, word[2:]) is not None]
    if args.held_out:
        if given or args.guarantee != "pure":
            raise UserError(f"{[*given, '--guarantee'][0]} has no effect with --held-out, which is about every board")
        return _print_held_out(args.json)
    if missing := [word for word in facts if word not in given]:
        raise UserError(f"{missing[0]} is missing: expected {', '.join(facts)}, or --held-out")
    one_of("--guarantee", args.guarantee, GUARANTEES)
    shape = Shape(args.columns, args.users, args.row, parse_epsilon(args.epsilon))
    advice = advise(shape, GUARANTEES[args.guarantee])
    if args.json is not None:
        common.write_json(args.json, advice)
    _print(advice, common.console(stderr=args.json == common.PRINTED))
    return 0


def _print_held_out(file: Path | None) -> int:
    from dpbench.ranking.held_out import HEADS, cost_rows, held_out

    settings = [*held_out()]
    if file is not None:
        common.write_json(file, settings)
    table = Table(*HEADS)
    for cells in cost_rows(settings):
        table.add_row(*cells)
    out = common.console(stderr=file == common.PRINTED)
    out.print(table)
    out.print(
        "Each dataset in turn was left out, with all its worlds and what was fitted to it. Counts of columns: the advice of "
        "this verb, from the other datasets; the error divided by that of the best mechanism there. Other boards: the mechanism "
        "with the lowest regret at the same ε on the other datasets."
    )
    return 0


def _print(advice: Advice, console: Console) -> None:
    shape = advice.shape
    asked = f"{shape.columns:,.0f} columns, {shape.users:,.0f} users with {shape.row:g} each, ε = {shape.epsilon:.4g}"
    console.print(f"{asked}; {advice.board.told}")
    console.print(f"Use {advice.best.who}.")
    if advice.too_small:
        console.print(
            f"The mean count is {shape.mean_count:.3g}, and noise that covers one count is about 1/ε = {1 / shape.epsilon:.3g}: "
            "publishing zeros is as accurate on average. Count fewer columns, or spend more budget."
        )
    table = Table("mechanism", Column("error / best", justify="right"), Column("on the nearest three", justify="right"))
    for recommended in advice.recommendations[:SHOWN]:
        table.add_row(
            recommended.who, f"{recommended.expected:.3g}", f"{recommended.low:.3g} to {recommended.high:.3g}"
        )
    console.print(table)
    near = ", ".join(
        f"{p.dataset}{f' ({p.world})' * bool(p.world)} at ε = {p.shape.epsilon:.3g}" for p in advice.nearest
    )
    console.print(f"Nearest settings on record: {near}.")
    if advice.is_guess:
        console.print("None of them is like yours: this is a guess.")
    costs = np.array([cost for _, _, cost in held_out(advice.board)])
    if costs.size:
        console.print(
            f"On datasets that the advice had not seen, its error was {np.median(costs):.2f} times the best (median of "
            f"{costs.size} settings; 90 % below {np.quantile(costs, 0.9):.2f}, at most {costs.max():.3g})."
        )
