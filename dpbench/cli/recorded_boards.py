"""What `compare --record` prints: the boards of the record, without running anything. Imported by `compare`."""

from __future__ import annotations

import math

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

from dpbench.errors import UserError, unknown
from dpbench.storage.numbers import plain


def print_record(out: Console, experiment: str | None) -> None:
    """Print who wins on all boards of the record or, of one board, every mechanism."""
    from dpbench.ranking.rows import BOARDS, recorded

    if experiment is not None and experiment not in BOARDS:
        raise unknown("board", experiment, BOARDS)
    there = [name for name in BOARDS if recorded(name) is not None]
    if not there or (experiment and experiment not in there):
        raise UserError(
            f"{experiment or 'no board'} is {'not ' * bool(experiment)}on record: expected {_expected(there)}"
        )
    if experiment is None:
        _print_winners(out)
    else:
        _print_board(out, experiment)


def _expected(there: list[str]) -> str:
    return ", ".join(there) or "one made by `python -m dpbench reproduce cross --record`"


def _print_winners(out: Console) -> None:
    from dpbench.figures.style import epsilon_name
    from dpbench.ranking.rows import BOARDS, recorded_winners

    heads = ("board", "what is published", "guarantee", "ε", "lowest regret", "regret (95 %)", "best in")
    table = Table(*(Column(head, overflow="fold") for head in heads), box=box.SIMPLE_HEAD, pad_edge=False)
    for one in recorded_winners():
        name = one.experiment, BOARDS[one.experiment], str(one.board), epsilon_name(one.epsilon)
        table.add_row(*map(escape, (*name, one.who, one.regret_text, f"{one.best} of {one.settings}")))
    out.print(table)
    out.print("Every mechanism of a board: python -m dpbench compare --record --experiment cross/leaderboard")


def _print_board(out: Console, experiment: str) -> None:
    from dpbench.ranking.boards import Board
    from dpbench.ranking.rows import recorded, rows
    from dpbench.storage.record import read

    found, numbers = read(experiment), recorded(experiment)
    assert found is not None
    assert numbers is not None
    own = rows(experiment, numbers)
    out.print(f"[bold]{escape(found.title)}[/]: scale {found.scale}, {escape('; '.join(found.origins))}")
    heads = ("mechanism", "standing", "regret (95 %)", "close to the best", "seconds", "MB", "audit")
    for board in dict.fromkeys(row.board for row in own):
        columns = (Column(head, overflow="fold") for head in heads)
        table = Table(*columns, title=board.told, box=box.SIMPLE_HEAD, pad_edge=False, title_justify="left")
        for row in (row for row in own if row.board is board):
            standing = "; ".join(filter(None, (row.mark, row.standing)))
            costs = (_shown(row.seconds), _shown(row.memory / 1e6))
            close = f"{row.competitive} of {row.settings}"
            audit = "" if board is Board.READS else row.audit
            table.add_row(*map(escape, (row.who, standing, row.regret_text, close, *costs, audit)))
        out.print(table)


def _shown(value: float) -> str:
    return "-" if math.isnan(value) else plain(value, 2)
