"""A user's own pairs: a table of who has what, with and without one of its users.

Imported by the `audit` verb; imports data kinds only.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dpbench.audit.finding import Pair
from dpbench.data import Incidence, Records
from dpbench.errors import UserError, nearest

if TYPE_CHECKING:
    import pandas as pd

SEPARATORS = {".csv": ",", ".tsv": "\t"}
FORMS = (*SEPARATORS, ".parquet")
NEEDED = ("user", "item")
MOST_CONTEXTS = 256


def read_table(path: Path) -> pd.DataFrame:
    """The columns user, item and, where it is there, context of a CSV, TSV or Parquet file."""
    import pandas as pd

    if not path.is_file():
        raise UserError(
            f"--data {path} is not a file: expected a table with the columns user, item and perhaps context"
        )
    form = path.suffix.lower()
    if form not in FORMS:
        raise UserError(f"--data {path}: unknown ending {form!r}: expected one of {', '.join(FORMS)}")
    try:
        frame = pd.read_parquet(path) if form == ".parquet" else pd.read_csv(path, sep=SEPARATORS[form], dtype=str)
    except Exception as error:  # pandas and pyarrow have many of their own
        raise UserError(f"--data {path} cannot be read as {form[1:]}: {error}") from None
    for name in NEEDED:
        if name not in frame.columns:
            hint = nearest(name, [str(column) for column in frame.columns])
            raise UserError(f"--data {path} has no column {name!r}: {hint}")
    frame = frame[[*NEEDED, *(["context"] if "context" in frame.columns else [])]]
    if frame.empty:
        raise UserError(f"--data {path} holds no row")
    if frame.isna().to_numpy().any():
        row = int(np.argmax(frame.isna().to_numpy().any(axis=1)))
        raise UserError(f"--data {path}: row {row + 1} has an empty field")
    return frame


def table_pairs(frame: pd.DataFrame, kind: str, count: int, seed: int) -> list[Pair]:
    """The data without one of `count` users and with: those with the most and the fewest entries, and random ones."""
    codes = {name: frame[name].astype("category").cat for name in frame.columns}
    users, items = (codes[name].codes.to_numpy() for name in NEEDED)
    n_items = len(codes["item"].categories)
    contexts = codes["context"].codes.to_numpy() if "context" in codes else np.zeros(len(frame), dtype=np.int64)
    n_contexts = int(contexts.max()) + 1
    if kind == "records" and n_contexts > MOST_CONTEXTS:
        raise UserError(f"--data: {n_contexts} different contexts: expected at most {MOST_CONTEXTS}")
    order = np.argsort(users, kind="stable")
    starts = np.searchsorted(users[order], np.arange(len(codes["user"].categories) + 1))
    entries = list(zip(items[order].tolist(), contexts[order].tolist(), strict=True))
    rows = [entries[start:end] for start, end in itertools.pairwise(starts)]
    repeats = any(len({item for item, _ in row}) < len(row) for row in rows)

    def data(chosen: Sequence[list[tuple[int, int]]]) -> Incidence | Records:
        if kind == "records":
            return Records.from_rows(chosen, items=n_items, contexts=n_contexts, repeats=repeats)
        return Incidence.from_rows([[item for item, _ in row] for row in chosen], columns=n_items)

    found = []
    for user in _users(np.diff(starts), count, seed):
        others = [*rows[:user], *rows[user + 1 :]]
        name = f"without and with user {codes['user'].categories[user]} ({len(rows[user])} entries)"
        found.append(Pair(name, data(others), data([*others, rows[user]])))
    return found


def _users(sizes: np.ndarray, count: int, seed: int) -> list[int]:
    """The largest, the smallest, then others at random, each once."""
    rng = np.random.default_rng(np.random.SeedSequence([seed, 21]))
    order = [int(np.argmax(sizes)), int(np.argmin(sizes)), *rng.permutation(sizes.size).tolist()]
    return list(dict.fromkeys(order))[:count]
