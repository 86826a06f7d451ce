"""A user's own pairs: a table of users and items, with and without one of its users.

Imported by the `audit` verb. The table is read by the same reader as `dataset=table`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dpbench.auditing.neighbours import Neighbours
from dpbench.data import Incidence, Records
from dpbench.data.identifiers import Numbered, numbered
from dpbench.errors import UserError
from dpbench.sources.readers.own_table import TableReader, column_names

CONTEXT = "context"


@dataclass(frozen=True)
class OwnTable:
    """The columns of a table of pairs or records, as Arrow arrays."""

    users: Numbered
    columns: list[Any]
    """Users and items, and contexts if there are any."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of data that it can be read as."""
        return ("records", "incidence") if len(self.columns) == 3 else ("incidence",)

    def data(self, kind: str) -> Incidence | Records:
        if kind == "incidence":
            return Incidence.from_pairs(*self.columns[:2])
        once = Records.from_pairs(*self.columns)
        return once if once.records > once.incidence().ones else Records.from_pairs(*self.columns, repeats=False)


def read_table(path: Path, user: str = "", item: str = "", context: str = "") -> OwnTable:
    """The users, items and contexts of a CSV, TSV or Parquet file. A column called `context` is used automatically."""
    if not path.is_file():
        raise UserError(
            f"--data {path} is not a file: expected a table with the columns user, item and perhaps context"
        )
    if not context and CONTEXT in column_names(path):
        context = CONTEXT
    try:
        columns = TableReader(path=str(path), user=user, item=item, context=context).columns()
    except UserError as error:
        raise UserError(f"--data {error}") from None
    values = list(columns.values())
    return OwnTable(numbered(f"--data {path}: users", values[0]), values)


def table_pairs(table: OwnTable, kind: str, count: int, seed: int) -> list[Neighbours]:
    """The data without and with each of `count` users: those with the most and the fewest entries, and random ones."""
    data, labels = table.data(kind), table.users.labels
    sizes = np.diff(data.indptr)
    return [
        Neighbours(f"without and with user {labels[user]} ({sizes[user]} entries)", *_without_and_with(data, user))
        for user in _users(sizes, count, seed)
    ]


def _without_and_with(data: Incidence | Records, user: int) -> tuple[Any, Any]:
    """The data without a user, and with the same user as the last row."""
    others = np.delete(np.diff(data.indptr), user)
    mine = slice(int(data.indptr[user]), int(data.indptr[user + 1]))
    found: list[Incidence | Records] = []
    for last in (False, True):
        sizes = np.append(others, mine.stop - mine.start) if last else others
        arrays = (data.indices,) if isinstance(data, Incidence) else (data.items, data.contexts)
        kept = [np.concatenate([np.delete(a, mine), a[mine] if last else a[:0]]) for a in arrays]
        indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        if isinstance(data, Incidence):
            found.append(Incidence(indptr, kept[0], data.columns))
        else:
            found.append(Records(indptr, kept[0], kept[1], data.n_items, data.n_contexts, data.repeats))
    return found[0], found[1]


def _users(sizes: np.ndarray, count: int, seed: int) -> list[int]:
    """The largest, the smallest, then others at random, each once."""
    rng = np.random.default_rng(np.random.SeedSequence([seed, 21]))
    order = [int(np.argmax(sizes)), int(np.argmin(sizes)), *rng.permutation(sizes.size).tolist()]
    return list(dict.fromkeys(order))[:count]
