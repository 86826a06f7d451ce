"""A comparison as Markdown, for the summary of a job in continuous integration."""

from __future__ import annotations

from pathlib import Path

from dpbench.gate.entries import GONE, NEW
from dpbench.gate.outcome import HEAD, GateOutcome

MOST_ROWS = 50


def write(path: Path, outcome: GateOutcome) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(markdown(outcome), encoding="utf-8")


def markdown(outcome: GateOutcome) -> str:
    """The verdict first, then what moved, then what is new or gone."""
    lines = [f"## {'Passed' if outcome.passes else 'Failed'}: {outcome.verdict}", "", outcome.counted, ""]
    noise = "the noise of the baselines" if outcome.seed is None else f"fresh noise, seed {outcome.seed}"
    lines += [f"Run with {noise}, in {outcome.seconds:.0f} s.", ""]
    rows = [(f"**{status}**" if status in outcome.bad else status, *row) for status, *row in outcome.rows()]
    if rows:
        lines += [_row(HEAD), _row(["---"] * len(HEAD))] + [_row(row) for row in rows[:MOST_ROWS]] + [""]
        lines += [f"and {len(rows) - MOST_ROWS} more rows", ""] if len(rows) > MOST_ROWS else []
    for status in (GONE, NEW):
        if listed := outcome.listed(status):
            lines += [f"### {status.capitalize()}", "", *(f"- {_plain(line)}" for line in listed), ""]
    return "\n".join(lines)


def _row(cells: tuple[str, ...] | list[str]) -> str:
    return f"| {' | '.join(cell if cell.startswith('**') else _plain(cell) for cell in cells)} |"


def _plain(text: str) -> str:
    """Escape names of parameters and metrics, so that Markdown shows them as they are."""
    for mark in ("\\", "|", "*", "_", "<", "`"):
        text = text.replace(mark, f"\\{mark}")
    return text.replace("\n", " ")
