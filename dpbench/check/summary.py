"""A comparison as Markdown, for the summary of a job in continuous integration."""

from __future__ import annotations

from pathlib import Path

from dpbench.check.account import Account, shown_change, shown_number
from dpbench.check.entries import GONE, NEW

MOST_ROWS = 50
HEAD = ("", "experiment", "mechanism", "column", "cells", "baseline", "now", "change", "where")


def write(path: Path, account: Account) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(markdown(account), encoding="utf-8")


def markdown(account: Account) -> str:
    """The verdict first, then what moved, then what is new or gone."""
    lines = [f"## {'Passed' if account.passes else 'Failed'}: {account.verdict}", "", account.counted, ""]
    noise = "the noise of the baselines" if account.seed is None else f"fresh noise, seed {account.seed}"
    lines += [f"Run with {noise}, in {account.seconds:.0f} s.", ""]
    rows = [
        (
            f"**{group.status}**" if group.status in account.bad else group.status,
            group.experiment,
            group.mechanism,
            group.metric,
            str(group.cells or ""),
            shown_number(group.old),
            shown_number(group.new),
            shown_change(group),
            account.extreme(group),
        )
        for group in account.moves
    ]
    if rows:
        lines += [_row(HEAD), _row(["---"] * len(HEAD))] + [_row(row) for row in rows[:MOST_ROWS]] + [""]
        lines += [f"and {len(rows) - MOST_ROWS} more rows", ""] if len(rows) > MOST_ROWS else []
    for status in (GONE, NEW):
        if listed := account.listed(status):
            lines += [f"### {status.capitalize()}", "", *(f"- {_plain(line)}" for line in listed), ""]
    return "\n".join(lines)


def _row(cells: tuple[str, ...] | list[str]) -> str:
    return f"| {' | '.join(cell if cell.startswith('**') else _plain(cell) for cell in cells)} |"


def _plain(text: str) -> str:
    """Escape names of parameters and metrics, so that Markdown shows them as they are."""
    for mark in ("\\", "|", "*", "_", "<", "`"):
        text = text.replace(mark, f"\\{mark}")
    return text.replace("\n", " ")
