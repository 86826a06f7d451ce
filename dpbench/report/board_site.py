"""The boards with their entries as a static site: one page that needs no network, and the files of the entries beside it.

Every text of an entry is escaped by the template. Imported by the verb `board`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from dpbench.privacy.exchange import exchange
from dpbench.ranking.boards import Board
from dpbench.ranking.joint import JointBoard, joint_boards
from dpbench.ranking.rows import BoardRow
from dpbench.ranking.submission import MARKS, Entry, read_all
from dpbench.ranking.verification import problems
from dpbench.report.page import UNSEEN, environment
from dpbench.report.tables import Cell, Mark, Table, table
from dpbench.report.text import slug
from dpbench.storage.files import write_atomic
from dpbench.storage.numbers import plain

HEADS = ("rank", "mechanism", "mark", "regret (95 %)", "close to the best", "audit", "trials", "s", "MB", "computed by")


@dataclass(frozen=True)
class SiteBoard:
    """One board of one guarantee as the page shows it."""

    id: str
    title: str
    about: str
    table: Table


def publish(output: Path, folder: Path, say: Callable[[str], None]) -> Path:
    """Write the site and return its page. Bad entries are named on it, with what is wrong, and not ranked."""
    entries: list[Entry] = []
    wrong: list[tuple[str, str]] = []
    for one in read_all(folder):
        if one.entry is None:
            wrong.append((one.path.name, one.problem))
            say(f"left out: {one.path}: {one.problem}")
            continue
        entries.append(one.entry)
        wrong += [(one.path.name, problem) for problem in problems(one.entry)]
        write_atomic(output / "entries" / one.path.name, one.path.read_bytes())
    shown = [board for found in joint_boards(entries) for board in _boards(found)]
    written = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    text = (
        environment()
        .get_template("board.html")
        .render(boards=shown, entries=entries, wrong=wrong, marks=MARKS, written=written, exchange=exchange(1.0))
    )
    path = output / "index.html"
    write_atomic(path, UNSEEN.sub(" ", text).encode())
    return path


def _boards(found: JointBoard) -> list[SiteBoard]:
    boards = []
    for guarantee in found.boards:
        own = [row for row in found.rows if row.board is guarantee]
        name = slug(f"{found.experiment}-{found.scale}-{guarantee.slug}")
        rows = [_row(row, guarantee) for row in own]
        caption = f"{found.title}: {guarantee}"
        about = "; ".join(filter(None, (guarantee.told, *found.origins, found.expectations)))
        boards.append(SiteBoard(name, caption, about, table(HEADS, rows, id=f"t-{name}", caption=caption)))
    return boards


def _row(row: BoardRow, guarantee: Board) -> list[object]:
    rank = Cell(row.standing, f"{row.rank:.9g}" if not math.isnan(row.rank) else "", number=True)
    who = Cell(row.who, row.who, mark=Mark(row.mark) if row.mark else None)
    regret = Cell(row.regret_text, "" if math.isnan(row.regret) else f"{row.regret:.9g}", number=True)
    fewest, most = row.trials
    audit = "" if guarantee is Board.READS else row.audit or "not audited"
    close = Cell(f"{row.competitive} of {row.settings}", f"{row.competitive}", number=True)
    status = Cell(row.status, row.status, mark=Mark("why", row.because) if row.because else None)
    trials = Cell(f"{most}" if fewest == most else f"{fewest} to {most}", f"{most}", number=True)
    return [rank, who, status, regret, close, audit, trials, _cost(row.seconds), _cost(row.memory / 1e6), row.command]


def _cost(value: float) -> Cell:
    return Cell("-", "", number=True) if math.isnan(value) else Cell(plain(value, 2), f"{value:.9g}", number=True)
