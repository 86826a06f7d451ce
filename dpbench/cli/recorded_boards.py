"""The boards of the record as tables, without running anything. Imported by `compare --record` and `board show`."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from dpbench.cli.common import plain_table
from dpbench.errors import UserError, unknown
from dpbench.storage.numbers import plain

if TYPE_CHECKING:
    from dpbench.ranking.rows import BoardRow

HEADS = ("mechanism", "mark", "standing", "regret (95 %)", "close to the best", "seconds", "MB", "audit")


def require_board(experiment: str | None) -> None:
    """UserError for a name that is not the name of a board."""
    from dpbench.ranking.rows import BOARDS

    if experiment is not None and experiment not in BOARDS:
        raise unknown("board", experiment, BOARDS)


def print_record(out: Console, experiment: str | None) -> None:
    """Print who wins on all boards of the record or, of one board, every mechanism."""
    from dpbench.ranking.rows import BOARDS, recorded, rows
    from dpbench.storage.record import read

    require_board(experiment)
    there = [name for name in BOARDS if recorded(name) is not None]
    if not there or (experiment and experiment not in there):
        expected = ", ".join(there) or "one made by `python -m dpbench reproduce cross --record`"
        raise UserError(f"{experiment or 'no board'} is {'not ' * bool(experiment)}on record: expected {expected}")
    if experiment is None:
        _print_winners(out)
        return
    record, numbers = read(experiment), recorded(experiment)
    assert record is not None
    assert numbers is not None
    own = rows(experiment, numbers)
    out.print(f"[bold]{escape(record.title)}[/]: scale {record.scale}, {escape('; '.join(record.origins))}")
    for board in dict.fromkeys(row.board for row in own):
        out.print(board_table(board.told, [row for row in own if row.board is board]))


def board_table(title: str, rows: Sequence[BoardRow], entered: Collection[BoardRow] | None = None) -> Table:
    """One row per mechanism. `entered`: on a board with entries, those that are entries; else the column `mark` is left out."""
    from dpbench.ranking.boards import Board

    table = plain_table(*(head for head in HEADS if entered is not None or head != "mark"), title=title)
    for row in rows:
        marks = () if entered is None else (row.status,)
        standing = "; ".join(filter(None, (row.mark, row.standing)))
        costs = ("-" if math.isnan(cost) else plain(cost, 2) for cost in (row.seconds, row.memory / 1e6))
        close = f"{row.competitive} of {row.settings}"
        audit = "" if row.board is Board.READS else row.audit
        cells = (row.who, *marks, standing, row.regret_text, close, *costs, audit)
        table.add_row(*map(escape, cells), style="bold" if row in (entered or ()) else "")
    return table


def _print_winners(out: Console) -> None:
    from dpbench.figures.style import epsilon_name
    from dpbench.ranking.rows import BOARDS, recorded_winners

    table = plain_table("board", "what is published", "guarantee", "ε", "lowest regret", "regret (95 %)", "best in")
    for winner in recorded_winners():
        name = winner.experiment, BOARDS[winner.experiment], str(winner.board), epsilon_name(winner.epsilon)
        table.add_row(*map(escape, (*name, winner.who, winner.regret_text, f"{winner.best} of {winner.settings}")))
    out.print(table)
    out.print("Every mechanism of a board: python -m dpbench compare --record --experiment cross/leaderboard")
