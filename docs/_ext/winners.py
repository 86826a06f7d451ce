"""Who wins on the boards of the record, in the README: `python docs/_ext/winners.py` writes it, and a test compares."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from pages.markdown import table
from readme import write_part

from dpbench.figures.style import epsilon_name
from dpbench.paths import RECORD
from dpbench.ranking.rows import BOARDS, Winner, recorded_winners


def winners_table(records: Path = RECORD, folder: str = "") -> str:
    """Who has the lowest regret, by what is published, guarantee and ε. `folder`: of the boards' pages, if they are linked."""
    recorded = list(recorded_winners(records))
    if not recorded:
        return "No board is on record yet: `python -m dpbench reproduce cross --record` makes them.\n"
    winners: dict[tuple[str, str], dict[float, Winner]] = {}
    for winner in recorded:
        winners.setdefault((winner.experiment, str(winner.board)), {})[winner.epsilon] = winner
    columns = _columns(winners.values())
    rows = []
    for (experiment, board), by_budget in winners.items():
        name = BOARDS[experiment]
        shown = f"[{name}]({folder}{experiment.partition('/')[2]}.md)" if folder else name
        rows.append((shown, board, *(_cell(by_budget, column) for column in columns)))
    heads = (f"ε = {' or '.join(map(epsilon_name, column))}" for column in columns)
    return table(("what is published", "guarantee", *heads), rows)


def _columns(winners: Collection[dict[float, Winner]]) -> list[list[float]]:
    """Budgets that differ by less than 15 % share a column, unless one board has both: boards use ε = 1 or ε = ln 3."""
    columns: list[list[float]] = []
    for epsilon in sorted({epsilon for by_budget in winners for epsilon in by_budget}):
        near = columns[-1] if columns and epsilon < 1.15 * columns[-1][0] else []
        if near and not any(epsilon in by_budget and set(near) & by_budget.keys() for by_budget in winners):
            near.append(epsilon)
        else:
            columns.append([epsilon])
    return columns


def _cell(by_budget: dict[float, Winner], column: list[float]) -> str:
    return "".join(f"`{winner.who}` {winner.regret_text}" for epsilon in column if (winner := by_budget.get(epsilon)))


if __name__ == "__main__":
    write_part("winners", winners_table())
