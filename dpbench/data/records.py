"""`Records`: (item, context) records grouped by user; queried for item and edge counts (analytics, Section 3.1)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbench.data.base import Data, check_csr, labelled, read_only, whole_numbers
from dpbench.data.incidence import PART, Incidence
from dpbench.errors import UserError

MOST_CONTEXTS = 256  # one byte for each record


@dataclass(frozen=True, eq=False, repr=False)
class Records(Data, kind="records"):
    """n users; user k's records T_k are the items `items[indptr[k]:indptr[k+1]]` with the contexts at the same positions.

    The constructor checks shapes only, so that a memory map is not scanned; `validate` scans everything.
    """

    indptr: NDArray[np.int64]
    items: NDArray[np.integer[Any]]
    contexts: NDArray[np.integer[Any]]
    n_items: int
    """m, the number of possible items."""
    n_contexts: int
    """h, the number of possible contexts."""
    repeats: bool = True
    """Whether a user may hold an item more than once: a public fact of the service (check-ins yes, ratings no)."""
    item_labels: Sequence[str] | None = None
    context_labels: tuple[str, ...] | None = None

    derived = ("edges", "counts")

    @classmethod
    def from_pairs(cls, users: Any, items: Any, contexts: Any = None, *, repeats: bool = True) -> Records:
        """From columns of identifiers (words, numbers, dates), one record of a user in each row.

        Without `contexts` all records have the same one. `repeats=False` states that no user can hold an item twice.

        >>> data = Records.from_pairs(["ann", "ann", "bob"], ["inn", "inn", "zoo"], ["Mo", "Tu", "Mo"])
        >>> list(data.item_labels), list(data.context_labels)
        (['inn', 'zoo'], ['Mo', 'Tu'])
        >>> data.counts.tolist(), data.edges.tolist()
        ([2, 1], [[1, 1], [1, 0]])
        """
        from dpbench.data import grouping
        from dpbench.data.identifiers import numbered

        rows, columns = numbered("Records: users", users), numbered("Records: items", items)
        n = rows.codes.size
        of = None if contexts is None else numbered("Records: contexts", contexts)
        for what, size in (("items", columns.codes.size), ("contexts", n if of is None else of.codes.size)):
            if size != n or not n:
                raise UserError(f"Records: {n} users for {size} {what}: expected records")
        if of is not None and of.size > MOST_CONTEXTS:
            raise UserError(f"Records: {of.size} different contexts are too many: expected at most {MOST_CONTEXTS}")
        codes = np.zeros(n, dtype=np.uint8) if of is None else of.codes.astype(np.uint8)
        names = ("all",) if of is None else tuple(of.labels)
        return grouping.records(
            rows.codes,
            columns.codes,
            codes,
            rows.size,
            columns.size,
            names,
            repeats=repeats,
            item_labels=columns.labels,
        ).checked()

    @classmethod
    def from_pandas(
        cls, frame: Any, *, user: str = "user", item: str = "item", context: str | None = None, repeats: bool = True
    ) -> Records:
        """From a table with one row per record; `user`, `item` and `context` name its columns.

        >>> import pandas as pd
        >>> visits = pd.DataFrame({"who": ["ann", "ann", "bob"], "place": ["inn", "inn", "zoo"], "day": ["Mo", "Tu", "Mo"]})
        >>> Records.from_pandas(visits, user="who", item="place", context="day")
        Records(2 users, 2 items x 2 contexts, 3 records, largest user 2)
        """
        from dpbench.data.identifiers import column

        chosen = [column(frame, name, "Records") for name in (user, item, *([context] if context else []))]
        return cls.from_pairs(*chosen, repeats=repeats)

    @classmethod
    def from_scipy(cls, matrix: Any, *, item_labels: Sequence[str] | None = None, repeats: bool = True) -> Records:
        """From a sparse matrix of users by items that says how often each user holds each item; one context.

        >>> from scipy.sparse import csr_array
        >>> Records.from_scipy(csr_array([[2, 0, 1], [0, 0, 1]])).counts
        array([2, 0, 2])
        """
        from scipy.sparse import csr_array

        counts = csr_array(matrix)
        counts.sum_duplicates()
        wrong = counts.data[(counts.data < 0) | (counts.data != np.floor(counts.data))]
        if wrong.size:
            raise UserError(f"Records: the matrix holds {wrong[0]}: expected whole numbers of 0 or more")
        times = counts.data.astype(np.int64)
        users = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
        sizes = np.bincount(users, weights=times, minlength=counts.shape[0]).astype(np.int64)
        items = np.repeat(counts.indices.astype(np.int32), times)
        indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        contexts = np.zeros(items.size, dtype=np.uint8)
        return cls(indptr, items, contexts, int(counts.shape[1]), 1, repeats, item_labels, ("all",)).checked()

    def checked(self) -> Records:
        """Itself, after the full check."""
        self.validate()
        return self

    @classmethod
    def from_rows(
        cls, users: Iterable[Sequence[Any]], *, items: int, contexts: int | None = None, repeats: bool = True
    ) -> Records:
        """From each user's list of items or of (item, context) pairs; for tests and notebooks.

        >>> Records.from_rows([[(0, 0), (0, 1)], [(1, 0)]], items=2, contexts=2)
        Records(2 users, 2 items x 2 contexts, 3 records, largest user 2)
        """
        rows = [_pairs(number, user) for number, user in enumerate(users)]
        flat = np.concatenate([np.empty((0, 2), dtype=np.int64), *rows])
        indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
        h = int(flat[:, 1].max(initial=0)) + 1 if contexts is None else contexts
        check_csr("Records", indptr, flat[:, 0], items)
        check_csr("Records (contexts)", indptr, flat[:, 1], h)
        return cls(indptr, flat[:, 0].astype(np.int32), flat[:, 1].astype(np.uint8), items, h, repeats).checked()

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, most in (("n_items", None), ("n_contexts", MOST_CONTEXTS)):
            value = getattr(self, name)
            if not isinstance(value, int | np.integer) or value < 1 or (most is not None and value > most):
                limit = f" up to {most}" if most else ""
                raise UserError(f"Records: {name}={value!r} is not valid: expected a positive whole number{limit}")
            object.__setattr__(self, name, int(value))
        if self.indptr.ndim != 1 or self.indptr[0] != 0 or self.indptr[-1] != self.items.size:
            raise UserError("Records: offsets must run from 0 to the number of records")
        if self.contexts.shape != self.items.shape:
            raise UserError(f"Records: {self.items.size} items but {self.contexts.size} contexts")
        object.__setattr__(self, "item_labels", labelled("Records", self.item_labels, self.n_items))
        if self.context_labels is not None:
            if len(self.context_labels) != self.n_contexts:
                raise UserError(f"Records: {len(self.context_labels)} context_labels, expected {self.n_contexts}")
            object.__setattr__(self, "context_labels", tuple(self.context_labels))

    @property
    def users(self) -> int:
        """n, the number of users, empty ones included."""
        return self.indptr.size - 1

    @property
    def records(self) -> int:
        """|D|, the number of records."""
        return self.items.size

    @cached_property
    def user_sizes(self) -> NDArray[np.int64]:
        """|T_k|, the number of records of each user."""
        return read_only(np.diff(self.indptr))

    @cached_property
    def largest_user(self) -> int:
        """M = max |T_k|: the L1 sensitivity of the item counts and of the edge counts (Lemmas 1 and 2)."""
        return int(self.user_sizes.max(initial=0))

    @cached_property
    def largest_l2(self) -> float:
        """The largest L2 norm of a user's item counts, i.e. the most by which one user can change q1: √|T_k| where no
        item repeats, up to |T_k| where one does."""
        if not self.repeats:
            return float(self.largest_user) ** 0.5
        user = np.repeat(np.arange(self.users, dtype=np.int64), self.user_sizes)
        pairs, times = np.unique(user * self.n_items + self.items, return_counts=True)
        squares = np.bincount(pairs // self.n_items, weights=times.astype(np.float64) ** 2, minlength=1)
        return float(squares.max()) ** 0.5

    @cached_property
    def smallest_user(self) -> int:
        """min |T_k|, from which HPA takes its d."""
        return int(self.user_sizes.min()) if self.users else 0

    @property
    def largest_row(self) -> int:
        """The same as `largest_user`, under the name that column-count mechanisms use."""
        return self.largest_user

    @property
    def columns(self) -> int:
        """The same as `n_items`, under the name that column-count mechanisms use."""
        return self.n_items

    @cached_property
    def edges(self) -> NDArray[np.int64]:
        """q2(D): the true edge counts c_ij, items by contexts."""
        size = self.n_items * self.n_contexts
        total = np.zeros(size, dtype=np.int64)
        for start in range(0, self.records, PART):
            total += np.bincount(self.edge_of(slice(start, start + PART)), minlength=size)
        return read_only(total.reshape(self.n_items, self.n_contexts))

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """q1(D): the true item counts c_i."""
        return read_only(self.edges.sum(axis=1))

    def edge_of(self, part: slice) -> NDArray[np.integer[Any]]:
        """The edge i h + j of each record (item i, context j) in a slice."""
        wide: type[np.integer[Any]] = np.int32 if self.n_items * self.n_contexts < 2**31 else np.int64
        return self.items[part].astype(wide) * self.n_contexts + self.contexts[part]

    def item_columns(self) -> Columns:
        """The item counts as column counts: one row per user, one column per item."""
        return self.memo("item_columns", lambda: Columns(self, by_edge=False))

    def edge_columns(self) -> Columns:
        """The edge counts as column counts: one row per user; column i h + j is the edge (item i, context j)."""
        return self.memo("edge_columns", lambda: Columns(self, by_edge=True))

    def incidence(self) -> Incidence:
        """Which user holds which item: without repeats and contexts."""
        if not self.repeats:
            return Incidence(self.indptr, self.items, self.n_items)
        user = np.repeat(np.arange(self.users, dtype=np.int64), self.user_sizes)
        pairs = np.unique(user * self.n_items + self.items)
        sizes = np.bincount(pairs // self.n_items, minlength=self.users)
        indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        return Incidence(indptr, (pairs % self.n_items).astype(np.int32), self.n_items)

    def validate(self) -> None:
        """The full check, a scan of all records: offsets, ranges, and no repeated item of a user where repeats are ruled out."""
        check_csr("Records", self.indptr, self.items, self.n_items)
        check_csr("Records (contexts)", self.indptr, self.contexts, self.n_contexts)
        if not self.repeats:
            try:
                Incidence(self.indptr, self.items, self.n_items).validate()
            except UserError as error:
                raise UserError(f"Records without repeats: {error}") from None

    def facts(self) -> str:
        """The short description that `repr` shows."""
        return (
            f"{self.users:,} users, {self.n_items:,} items x {self.n_contexts} contexts, {self.records:,} records, "
            f"largest user {self.largest_user:,}"
        )

    def statistics(self) -> dict[str, float]:
        """Table 4 of analytics: users, items, |D|, max, average and min |T_k|; the contexts, and the largest L2 norm."""
        return {
            "users": self.users,
            "items": self.n_items,
            "records": self.records,
            "largest": self.largest_user,
            "average": self.records / max(1, self.users),
            "smallest": self.smallest_user,
            "contexts": self.n_contexts,
            "largest_l2": self.largest_l2,
        }


def _pairs(number: int, user: Sequence[Any]) -> NDArray[np.integer[Any]]:
    """The items, or (item, context) pairs, of a user as rows of two whole numbers."""
    where, expected = f"Records: user {number}", "items or (item, context) pairs"
    if not np.iterable(user):
        raise UserError(f"{where} is {user!r}: expected a list of {expected}")
    pairs = [tuple(entry) if isinstance(entry, tuple | list | np.ndarray) else (entry, 0) for entry in user]
    for pair in pairs:
        if len(pair) != 2:
            raise UserError(f"{where} has {pair!r}: expected {expected}")
    return np.column_stack([whole_numbers(where, [pair[at] for pair in pairs], expected) for at in (0, 1)])


@dataclass(frozen=True, eq=False, repr=False)
class Columns(Data):
    """Records seen as rows by columns: the same interface as `Incidence`, but a row may hold a column repeatedly."""

    records: Records
    by_edge: bool

    kind = "incidence"

    def facts(self) -> str:
        """The short description that `repr` shows."""
        return f"{'edge' if self.by_edge else 'item'} counts of {self.records.facts()}"

    @property
    def repeats(self) -> bool:
        """Whether a user may hold an item more than once."""
        return self.records.repeats

    @property
    def indptr(self) -> NDArray[np.int64]:
        """Where each user begins in `indices`."""
        return self.records.indptr

    @cached_property
    def indices(self) -> NDArray[np.integer[Any]]:
        """Computed on demand: edges need as much memory as the items, and noise on all counts does not need them."""
        return read_only(self.records.edge_of(slice(None))) if self.by_edge else self.records.items

    @property
    def counts(self) -> NDArray[np.int64]:
        """How many records each item, or each item in each context, has."""
        return self.records.edges.reshape(-1) if self.by_edge else self.records.counts

    @property
    def rows(self) -> int:
        """How many users there are."""
        return self.records.users

    @property
    def columns(self) -> int:
        """How many counts are published."""
        return self.records.n_items * (self.records.n_contexts if self.by_edge else 1)

    @property
    def ones(self) -> int:
        """How many records there are."""
        return self.records.records

    @property
    def row_sizes(self) -> NDArray[np.int64]:
        """How many records each user has."""
        return self.records.user_sizes

    @property
    def largest_row(self) -> int:
        """The records of the user who has the most."""
        return self.records.largest_user

    def fact(self, key: Hashable, owner: type, compute: Callable[[], float]) -> float:
        """Stored with the records; item and edge facts have separate names."""
        return self.records.fact(("edges" if self.by_edge else "items", key), owner, compute)

    def item_columns(self) -> Columns:
        """The counts to publish: these columns themselves."""
        return self

    def edge_columns(self) -> None:
        """There are no edges beside these columns."""
        return
