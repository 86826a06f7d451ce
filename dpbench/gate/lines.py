"""Small tables beside the baselines, made to be read as diffs: one line per row, cells separated by tabs, the heads first.

Imported by the baselines of audits and times, and by the history.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from dpbench.errors import UserError
from dpbench.storage.files import write_atomic


def write(path: Path, head: Sequence[str], rows: Iterable[Sequence[str]]) -> Path:
    write_atomic(path, "".join("\t".join(row) + "\n" for row in (head, *rows)).encode())
    return path


def read(path: Path, head: Sequence[str], remedy: str, *, numbers: int = 0) -> list[list[str]]:
    """The rows below the heads, whose last `numbers` cells are numbers. UserError, with the remedy, for any other file."""
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()[1:]]
    try:
        if any(len(row) != len(head) for row in rows):
            raise ValueError
        for row in rows:
            tuple(map(float, row[len(head) - numbers :]))
    except ValueError:
        raise UserError(f"{path} is not valid: expected the columns {', '.join(head)}; {remedy}") from None
    return rows
