"""Prints how numbers compare with the record. Imported by the verbs `reproduce` and `check`."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from dpbench.reproduce.comparison import Comparison, Difference

MOST = 20  # largest number of differences that are printed


def print_comparison(console: Console, found: Comparison) -> None:
    """Print the differences, what could not be compared, and the counts."""
    _print_differences(console, found.differences)
    for problem in found.problems:
        console.print(f"not compared: {problem}", highlight=False, markup=False, soft_wrap=True)
    console.print(
        f"Compared with the record: {found.exact} numbers that must be equal, {found.tested} tested jointly at 1 %, "
        f"{found.untested} without a standard error; {len(found.differences)} differ",
        highlight=False,
        soft_wrap=True,
    )


def _print_differences(console: Console, differences: list[Difference]) -> None:
    if not differences:
        return
    table = Table(title="Differs from the record")
    for head in ("experiment", "where", "number", "recorded", "found", "p"):
        table.add_column(head, overflow="fold")
    for one in differences[:MOST]:
        p = f"{one.p:.1e}" if one.p else "must be equal"
        table.add_row(one.experiment, one.where, one.column, f"{one.recorded:.6g}", f"{one.found:.6g}", p)
    console.print(table)
    if len(differences) > MOST:
        console.print(f"and {len(differences) - MOST} more", highlight=False)
