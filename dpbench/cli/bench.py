"""`bench`: measures the speed floors as ratios in one run on one core; absolute times are indications only.

A floor that is missed is reported and gives exit status 1. If the reference of a row is not installed, the row counts as not
measured, neither held nor missed.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rich.table import Table

from dpbench.bench import BENCHES, FloorRow, growth
from dpbench.cli import common
from dpbench.errors import UserError, unknown

SHOWN = {True: "yes", False: "[red]no", None: "[yellow]not measured"}


def main(argv: list[str]) -> int:
    parser = common.parser_of("bench", __doc__)
    add = parser.add_argument
    add("row", nargs="*", help=f"some of: {', '.join(BENCHES)} (default: all)")
    growing = "measure growth up to the largest sizes, and store the numbers as CSV"
    add("--growth", metavar="FILE", type=Path, help=growing)
    largest = "with --growth: the largest data (default: 1e8, a few minutes)"
    add("--largest", metavar="SIZE", type=float, default=1e8, help=largest)
    args = parser.parse_args(argv)
    if not args.growth and args.largest != parser.get_default("largest"):
        raise UserError("--largest has no effect without --growth FILE")
    if args.growth and args.row:
        raise UserError("--growth measures growth only: expected no names of rows beside it")
    for name in args.row:
        if name not in BENCHES:
            raise unknown("bench", name, BENCHES)
    table = Table("what", "measured", "floor", "held", title="Speed, as ratios measured in one run")
    held: set[bool | None] = set()
    for name in ["growth"] if args.growth else args.row or BENCHES:
        common.notes().print(f"measuring {name} ...")
        for row in _stored_growth(args.growth, int(args.largest)) if args.growth else BENCHES[name]():
            held.add(row.held)
            table.add_row(row.what, row.measured, row.floor, SHOWN[row.held])
    common.console().print(table)
    # A check that measured nothing must not pass.
    return 0 if True in held and False not in held else 1


def _stored_growth(path: Path, largest: int) -> Iterator[FloorRow]:
    """The rows of growth up to a size; the points are stored at the end."""
    stored: list[growth.GrowthPoint] = []
    for curve, points in growth.curves(largest):
        common.notes().print(f"{curve.mechanism} with {curve.axis}: done")
        stored += points
        yield growth.floor_row(curve, points)
    growth.write(path, stored)
