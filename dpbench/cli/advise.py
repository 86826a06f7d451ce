"""`advise`: which mechanism to use for column counts, from public facts about the data alone, so that asking costs no privacy.

The answer comes from the boards on record: the mechanisms that did best on data of a similar shape. It says how much such
advice has cost on datasets that it had not seen.
"""

from __future__ import annotations

import argparse
import dataclasses
import json

import numpy as np
from rich.console import Console
from rich.table import Column, Table

from dpbench.cli import common
from dpbench.errors import one_of
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
    add("--columns", type=float, required=True, help="number of columns or items that are counted")
    add("--users", type=float, required=True, help="number of users (rows), roughly")
    add("--row", type=float, required=True, help="mean number of columns that a user has, roughly")
    add("--epsilon", required=True, help="the budget, such as 0.5 or ln2")
    add("--guarantee", default="pure", help="pure (default) or delta, for (ε, δ)")
    common.add_json(parser, "the advice")
    args = parser.parse_args(argv)
    one_of("--guarantee", args.guarantee, GUARANTEES)
    shape = Shape(args.columns, args.users, args.row, parse_epsilon(args.epsilon))
    advice = advise(shape, GUARANTEES[args.guarantee])
    if args.json is not None:
        common.write_json(args.json, json.dumps(dataclasses.asdict(advice), ensure_ascii=False, indent=2))
    _print(advice, common.console(stderr=args.json == common.PRINTED))
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
    for one in advice.recommendations[:SHOWN]:
        table.add_row(one.who, f"{one.expected:.3g}", f"{one.low:.3g} to {one.high:.3g}")
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
