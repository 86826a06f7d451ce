"""Readers of files with one row per line: FIMI transactions and trajectories of road nodes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpbench.data import Incidence, grouping
from dpbench.errors import one_of
from dpbench.sources.readers import assembly
from dpbench.sources.readers.base import Reader
from dpbench.sources.readers.parsing import Lines, read_lists


@dataclass(frozen=True, kw_only=True)
class Fimi(Reader, name="fimi"):
    """Transactions, one per line: item numbers separated by spaces. An empty line is a transaction without items."""

    ids: str = "seen"
    """`seen`: items that occur. `all`: every item from 0 to the largest."""

    what = "transactions, one per line"
    names = ("*.dat", "*.txt")
    word = "item"

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("ids", self.ids, assembly.IDS)

    def build(self, rng: np.random.Generator) -> Incidence:
        bad = self.bad_lines()
        values, sizes = assembly.Column(), assembly.Column(np.int64)
        for path in self.files():
            for read, lengths in read_lists(Lines(path, f"one line of {self.word} numbers per row"), self.word, bad):
                values.add(read)
                sizes.add(lengths)
        per_row = sizes.whole()
        items, n_items = assembly.numbered(values.whole(), self.ids)
        if not items.size:
            raise bad.nothing(self.path, self.word, self.what)
        bad.report()
        rows = np.repeat(np.arange(per_row.size, dtype=np.int32), per_row)
        return grouping.incidence(rows, items, per_row.size, n_items)


@dataclass(frozen=True, kw_only=True)
class NodeLines(Fimi, name="node_lines"):
    """Trajectories, one per line: numbers of road nodes separated by spaces. A node passed twice counts once."""

    what = "trajectories, one line of node numbers each"
    word = "node"
