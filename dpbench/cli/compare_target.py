"""What `compare --target` prints: the smallest ε that reaches an error, per dataset and mechanism. Imported by `compare`."""

from __future__ import annotations

from itertools import groupby

from rich.markup import escape

from dpbench.cli.common import console, notes, plain_table, print_left_out
from dpbench.engine.progress import display
from dpbench.errors import UserError
from dpbench.ranking.entry import Where
from dpbench.ranking.target import HIGHEST, LEVEL, LOWEST, STEPS, ReachedTarget, Target, smallest

WARNING = (
    "Use generated or public data for this: an ε or a mechanism that is chosen on private data depends on it, "
    "and the choice costs budget that no number here includes."
)


def main(mechanism: str | None, where: Where, text: str) -> int:
    """Print the table. Exit status 1 if no mechanism reaches the target."""
    target = Target.parse(text)
    if where.epsilon is not None:
        raise UserError("--epsilon has no effect with --target, which searches for it")
    with display(console=notes()) as progress:
        run, results = smallest(mechanism, where, target, progress)
    out = console()
    for dataset, reached in groupby(results, key=lambda result: result.dataset):
        title = f"Smallest ε for {target.metric} = {target.value:g} on {dataset}"
        interval = f"{100 * LEVEL:.0f} % interval"
        table = plain_table("guarantee", "mechanism", "ε", interval, "trials per ε", title=escape(title))
        for row in reached:
            if not row.reason:
                table.add_row(*map(escape, (str(row.board), row.mechanism, *_epsilon(row), str(row.trials))))
        out.print(table)
    print_left_out((f"{each.mechanism} on {each.dataset}", each.reason) for each in results if each.reason)
    grid = f"from {2 ** (LOWEST / STEPS):.2g} to {2 ** (HIGHEST / STEPS):g}, neighbours 9 % apart"
    out.print(f"Searched by bisection {grid}; errors are taken to fall as ε grows. Scale {where.scale}.")
    out.print(f"The trials are stored as {run.label}: python -m dpbench figures {run.label} draws errors against ε.")
    out.print(f"[yellow]{WARNING}[/]")
    return 0 if any(result.epsilon is not None for result in results) else 1


def _epsilon(result: ReachedTarget) -> tuple[str, str]:
    """The smallest ε and its interval, in words where it leaves the grid."""
    lowest = 2 ** (LOWEST / STEPS)
    if result.epsilon is None:
        return "not reached", "" if result.low is None else f"perhaps from {result.low:.3g}"
    if result.epsilon <= lowest:
        return f"≤ {lowest:.2g}", ""
    high = "not certain" if result.high is None else f"{result.high:.3g}"
    return f"{result.epsilon:.3g}", f"{result.low or lowest:.3g} to {high}"
