"""`bench`: the speed floors, measured as ratios in one run on one core; absolute times are indications only.

Each row is a function that returns what was measured; a floor that is not held is printed as such and ends in exit
status 1.
"""

from __future__ import annotations

import argparse

from rich.console import Console
from rich.table import Table

from dpbench.bench import BENCHES
from dpbench.errors import UserError, nearest


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m dpbench bench", description=__doc__)
    parser.add_argument("row", nargs="*", help=f"some of: {', '.join(BENCHES)} (default: all)")
    args = parser.parse_args(argv)
    for name in args.row:
        if name not in BENCHES:
            raise UserError(f"unknown bench {name!r}: {nearest(name, BENCHES)}")
    table = Table(title="Speed, as ratios measured in one run")
    for head in ("what", "measured", "floor", "held"):
        table.add_column(head)
    held = True
    notes = Console(stderr=True)
    for name in args.row or BENCHES:
        notes.print(f"measuring {name} ...")
        for row in BENCHES[name]():
            held &= row.held
            table.add_row(row.what, row.measured, row.floor, "yes" if row.held else "[red]no")
    console = Console()
    Console(width=None if console.is_terminal else 150).print(table)
    return 0 if held else 1
