"""Who wins on the boards of the record, in the README: `python docs/_ext/winners.py` writes it, and a test compares."""

from __future__ import annotations

from pathlib import Path

from pages.markdown import table

from dpbench.figures.style import epsilon_name
from dpbench.paths import RECORD
from dpbench.ranking.rows import BOARDS, Winner, recorded_winners

README = Path(__file__).resolve().parents[2] / "README.md"
BEGIN, END = "<!-- winners: written by `python docs/_ext/winners.py` -->\n", "<!-- end of winners -->\n"


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


def parts(text: str) -> tuple[str, str, str]:
    """The README before, in and after the table."""
    before, _, rest = text.partition(BEGIN)
    inside, _, after = rest.partition(END)
    return before, inside, after


if __name__ == "__main__":
    before, _, after = parts(README.read_text(encoding="utf-8"))
    README.write_text(f"{before}{BEGIN}\n{winners_table()}\n{END}{after}", encoding="utf-8")
