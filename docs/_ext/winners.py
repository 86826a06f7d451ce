"""Who wins on the boards of the record, in the README: `python docs/_ext/winners.py` writes it, and a test compares."""

from __future__ import annotations

from pathlib import Path

from pages.markdown import table
from readme import write_part

from dpbench.figures.style import epsilon_name
from dpbench.paths import RECORD
from dpbench.ranking.rows import BOARDS, Winner, recorded_winners


def winners_table(records: Path = RECORD, folder: str = "") -> str:
    """Who has the lowest regret, by what is published, guarantee and ε. `folder`: of the boards' pages, if they are linked."""
    found = list(recorded_winners(records))
    if not found:
        return "No board is on record yet: `python -m dpbench reproduce cross --record` makes them.\n"
    budgets = sorted({one.epsilon for one in found})
    places: dict[tuple[str, str], dict[float, Winner]] = {}
    for one in found:
        places.setdefault((one.experiment, str(one.board)), {})[one.epsilon] = one
    rows = []
    for (experiment, board), by_budget in places.items():
        name = BOARDS[experiment]
        shown = f"[{name}]({folder}{experiment.partition('/')[2]}.md)" if folder else name
        rows.append((shown, board, *(_cell(by_budget.get(epsilon)) for epsilon in budgets)))
    return table(("what is published", "guarantee", *(f"ε = {epsilon_name(epsilon)}" for epsilon in budgets)), rows)


def _cell(one: Winner | None) -> str:
    return "" if one is None else f"`{one.who}` {one.regret_text}"


if __name__ == "__main__":
    write_part("winners", winners_table())
