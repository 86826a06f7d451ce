"""What `compare --target` prints: the smallest ε that reaches an error, per dataset and mechanism. Imported by `compare`."""

from __future__ import annotations

from itertools import groupby

from rich import box
from rich.markup import escape
from rich.table import Table

from dpbench.cli.common import console, notes
from dpbench.engine.progress import display
from dpbench.errors import UserError
from dpbench.ranking.entry import Where
from dpbench.ranking.target import HIGHEST, LEVEL, LOWEST, STEPS, ReachedTarget, Target, smallest

WARNING = (
    "Use generated or public data for this: an ε or a mechanism that is chosen on private data depends on it, "
    "and the choice costs budget that no number here includes."
)


def main(mechanism: str | None, where: Where, text: str) -> int:
    """Print the table. Exit status 1 if nobody reaches the target."""
    target = Target.parse(text)
    if where.epsilon is not None:
        raise UserError("--epsilon has no effect with --target, which searches for it")
    with display(console=notes()) as progress:
        run, found = smallest(mechanism, where, target, progress)
    out = console()
    for dataset, rows in groupby(found, key=lambda one: one.dataset):
        title = f"Smallest ε for {target.metric} = {target.value:g} on {dataset}"
        table = Table(title=escape(title), box=box.SIMPLE_HEAD, pad_edge=False, title_justify="left")
        for head in ("guarantee", "mechanism", "ε", f"{100 * LEVEL:.0f} % interval", "trials per ε"):
            table.add_column(head, overflow="fold")
        for one in rows:
            if not one.reason:
                table.add_row(*map(escape, (str(one.board), one.mechanism, *_epsilon(one), str(one.trials))))
        out.print(table)
    reasons: dict[str, list[str]] = {}
    for one in found:
        if one.reason:
            reasons.setdefault(one.reason, []).append(f"{one.mechanism} on {one.dataset}")
    for reason, left in reasons.items():
        notes().print(f"left out: {escape(', '.join(left))}: {escape(reason)}")
    grid = f"from {2 ** (LOWEST / STEPS):.2g} to {2 ** (HIGHEST / STEPS):g}, neighbours 9 % apart"
    out.print(f"Searched by bisection {grid}; errors are taken to fall as ε grows. Scale {where.scale}.")
    out.print(f"The trials are stored as {run.label}: python -m dpbench figures {run.label} draws errors against ε.")
    out.print(f"[yellow]{WARNING}[/]")
    return 0 if any(one.epsilon is not None for one in found) else 1


def _epsilon(one: ReachedTarget) -> tuple[str, str]:
    """The smallest ε and its interval, in words where it leaves the grid."""
    lowest = 2 ** (LOWEST / STEPS)
    if one.epsilon is None:
        return "not reached", "" if one.low is None else f"perhaps from {one.low:.3g}"
    if one.epsilon <= lowest:
        return f"≤ {lowest:.2g}", ""
    high = "not certain" if one.high is None else f"{one.high:.3g}"
    return f"{one.epsilon:.3g}", f"{one.low or lowest:.3g} to {high}"
