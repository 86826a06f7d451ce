"""Readers whose files list pairs of a user and an item, with or without a context: one pass, then grouped by user.

A reader defines how its lines become pairs; this module builds data kinds from them and finds forbidden repeats.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from dpbench.data import Incidence, Records, grouping
from dpbench.errors import UserError, one_of
from dpbench.sources.contexts import DAYS
from dpbench.sources.readers import assembly
from dpbench.sources.readers.base import Reader
from dpbench.sources.readers.parsing import BadLines, Block


class Pairs(NamedTuple):
    """The pairs of a block, and the block they come from."""

    block: Block
    users: np.ndarray
    items: np.ndarray
    contexts: np.ndarray | None = None


def day_of_week(days: np.ndarray) -> np.ndarray:
    """0 for Monday to 6 for Sunday, from days since 1970-01-01, a Thursday."""
    return (days + 3) % 7


@dataclass(frozen=True, kw_only=True)
class PairReader(Reader):
    """Reads pairs as `Incidence` (which user holds which item) or as `Records` (with repeats and contexts)."""

    kind: str = "incidence"
    ids: str = "seen"
    """`seen`: users and items that occur. `all`: every id from 0 to the largest, as Table 2 of gs counts Checkin."""

    kinds: ClassVar[tuple[str, ...]] = ("incidence", "records")
    repeats: ClassVar[bool] = True
    """Whether a user may hold an item more than once."""
    contexts: ClassVar[tuple[str, ...]] = DAYS
    called: ClassVar[tuple[str, str]] = ("user", "item")
    """What the files call users and items."""
    counted_from: ClassVar[int] = 0
    """The number of the first user and of the first item in the files; `pairs` counts from 0."""

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("ids", self.ids, assembly.IDS)

    def pairs(self, bad: BadLines) -> Iterator[Pairs]:
        """The files' pairs, block by block. Bad lines are reported to `bad`."""
        raise NotImplementedError

    def build(self, rng: np.random.Generator) -> Incidence | Records:
        bad = self.bad_lines()
        users, items, contexts = self._collect(bad)
        if not users.size:
            raise bad.nothing(self.path, "good line", self.what)
        users, items, n_users, n_items = self.numbered(users, items)
        data = self._assemble(users, items, contexts, n_users, n_items)
        if not self.repeats and assembly.has_repeats(data, users.size):
            kept = ~self._repeats(users, items, n_items, bad)
            contexts = contexts if contexts is None else contexts[kept]
            data = self._assemble(users[kept], items[kept], contexts, n_users, n_items)
        bad.report()
        return data

    def numbered(self, users: np.ndarray, items: np.ndarray) -> tuple[np.ndarray, np.ndarray, int, int]:
        """Replace the ids of users and items in place by numbers from 0. Returns how many of each there are."""
        users, n_users = assembly.numbered(users, self.ids)
        items, n_items = assembly.numbered(items, self.ids)
        return users, items, n_users, n_items

    def _assemble(
        self, users: np.ndarray, items: np.ndarray, contexts: np.ndarray | None, n_users: int, n_items: int
    ) -> Incidence | Records:
        if self.kind == "incidence" or contexts is None:
            return grouping.incidence(users, items, n_users, n_items)
        return grouping.records(users, items, contexts, n_users, n_items, self.contexts, repeats=self.repeats)

    def _collect(self, bad: BadLines) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        users, items, contexts = assembly.Column(), assembly.Column(), assembly.Column(np.uint8)
        for pairs in self.pairs(bad):
            users.add(pairs.users)
            items.add(pairs.items)
            if self.kind == "records" and pairs.contexts is not None:
                contexts.add(pairs.contexts)
        all_contexts = contexts.whole()
        return users.whole(), items.whole(), all_contexts if all_contexts.size else None

    def _repeats(self, users: np.ndarray, items: np.ndarray, n_items: int, bad: BadLines) -> np.ndarray:
        """Marks the pairs that occurred before; the first of them is reported with its line."""
        again = assembly.repeated(users, items, n_items)
        pairs, row = self._where(int(np.argmax(again)))
        user, item = (int(ids[row]) + self.counted_from for ids in (pairs.users, pairs.items))
        problem = f"{self.called[0]} {user} has {self.called[1]} {item} a second time: expected each pair once"
        bad.found(pairs.block.path, int(pairs.block.lines[row]), problem, int(again.sum()))
        return again

    def _where(self, position: int) -> tuple[Pairs, int]:
        """The block and row of a pair, found by reading again: storing the line numbers of all pairs would double the memory."""
        for pairs in self.pairs(BadLines("skip")):
            if position < pairs.users.size:
                return pairs, position
            position -= pairs.users.size
        raise UserError(f"{self.path}: the files changed while they were read")
