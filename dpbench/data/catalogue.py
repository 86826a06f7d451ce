"""`Catalogue`: a public matrix of items by categories, and each user's private set of items (epicrec, Section 4.3)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpbench.data.base import Data, check_csr, read_only, whole_numbers
from dpbench.errors import UserError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

PARTS = ("items", "categories")


@dataclass(frozen=True, eq=False, repr=False)
class Catalogue(Data, kind="catalogue"):
    """n items by c categories (the public matrix C) and users' item sets (each user's private d_r), both as CSR.

    Item i is in the categories `item_categories[item_ptr[i]:item_ptr[i+1]]`; user u has the items
    `histories[history_ptr[u]:history_ptr[u+1]]`. The constructor checks shapes only; `validate` scans everything.
    """

    item_ptr: NDArray[np.int64]
    item_categories: NDArray[np.integer[Any]]
    categories: int
    history_ptr: NDArray[np.int64]
    histories: NDArray[np.integer[Any]]

    derived = ("aggregates",)

    @classmethod
    def from_matrix(cls, items_by_categories: Any, histories: Iterable[Sequence[int]] | None = None) -> Catalogue:
        """From a dense 0/1 matrix and each user's list of items; for tests and notebooks.

        >>> Catalogue.from_matrix([[1, 0], [1, 1], [0, 1]], histories=[[0, 1], [2]])
        Catalogue(3 items x 2 categories, 2 users, widest item 2)
        """
        matrix = np.asarray(items_by_categories)
        if matrix.ndim != 2 or not np.isin(matrix, (0, 1)).all():
            raise UserError(f"Catalogue: expected a 0/1 matrix of items by categories, not shape {matrix.shape}")
        item, category = np.nonzero(matrix)
        expected = f"items from 0 to {matrix.shape[0] - 1}"
        lists = [whole_numbers(f"Catalogue: history {i}", user, expected) for i, user in enumerate(histories or ())]
        sets = [np.unique(user) for user in lists]
        data = cls(
            offsets(np.bincount(item, minlength=matrix.shape[0])),
            category.astype(np.int32),
            matrix.shape[1],
            offsets([user.size for user in sets]),
            (np.concatenate(sets) if sets else np.empty(0)).astype(np.int32),
        )
        data.validate()
        return data

    @classmethod
    def from_pairs(cls, catalogue: tuple[Any, Any], histories: tuple[Any, Any]) -> Catalogue:
        """From two lists of pairs: (items, categories) of the public catalogue and (users, items) of the histories.

        Every item of a history must be in the catalogue.

        >>> genres = (["Alien", "Alien", "Big"], ["horror", "space", "comedy"])
        >>> Catalogue.from_pairs(genres, (["ann", "bob"], ["Big", "Alien"]))
        Catalogue(2 items x 3 categories, 2 users, widest item 2)
        """
        import pyarrow.compute as pc

        from dpbench.data import grouping
        from dpbench.data.identifiers import arrow, numbered

        items, categories = (numbered(f"Catalogue: {what}", ids) for what, ids in zip(PARTS, catalogue, strict=True))
        users = numbered("Catalogue: users", histories[0])
        held = arrow("Catalogue: items of histories", histories[1])
        if getattr(held.type, "value_type", None) is not None:
            held = held.dictionary_decode()
        try:
            places = pc.index_in(held.cast(items.values.type), items.values)
        except Exception as error:  # Arrow's own
            raise UserError(f"Catalogue: items of histories are not of the catalogue's type: {error}") from None
        if places.null_count:
            row = int(np.argmax(places.is_null().to_numpy(zero_copy_only=False)))
            raise UserError(
                f"Catalogue: row {row} of the histories has {held[row].as_py()!r}, which is not in the catalogue"
            )
        if len(places) != users.codes.size or items.codes.size != categories.codes.size:
            raise UserError("Catalogue: the two columns of a list of pairs differ in length")
        public = grouping.incidence(items.codes, categories.codes, items.size, categories.size)
        private = grouping.incidence(users.codes, places.to_numpy().astype(np.int32), users.size, items.size)
        return cls(public.indptr, public.indices, categories.size, private.indptr, private.indices)

    @classmethod
    def from_pandas(
        cls, catalogue: Any, histories: Any, *, item: str = "item", category: str = "category", user: str = "user"
    ) -> Catalogue:
        """From two tables: the public catalogue with `item` and `category`, the histories with `user` and `item`.

        >>> import pandas as pd
        >>> genres = pd.DataFrame({"item": ["Alien", "Big"], "category": ["horror", "comedy"]})
        >>> seen = pd.DataFrame({"user": ["ann", "bob"], "item": ["Big", "Alien"]})
        >>> Catalogue.from_pandas(genres, seen)
        Catalogue(2 items x 2 categories, 2 users, widest item 1)
        """
        from dpbench.data.identifiers import column

        public, private = (
            tuple(column(frame, name, f"Catalogue ({what})") for name in names)
            for frame, what, names in (
                (catalogue, "catalogue", (item, category)),
                (histories, "histories", (user, item)),
            )
        )
        return cls.from_pairs((public[0], public[1]), (private[0], private[1]))

    @classmethod
    def from_scipy(cls, items_by_categories: Any, users_by_items: Any) -> Catalogue:
        """From two sparse 0/1 matrices.

        >>> from scipy.sparse import csr_array
        >>> Catalogue.from_scipy(csr_array([[1, 0], [1, 1]]), csr_array([[1, 1], [0, 1], [0, 0]]))
        Catalogue(2 items x 2 categories, 3 users, widest item 2)
        """
        from dpbench.data.incidence import Incidence

        public, private = Incidence.from_scipy(items_by_categories), Incidence.from_scipy(users_by_items)
        if private.columns != public.rows:
            raise UserError(f"Catalogue: the histories have {private.columns} items, the catalogue has {public.rows}")
        return cls(public.indptr, public.indices, public.columns, private.indptr, private.indices)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.categories, int | np.integer) or self.categories < 1:
            raise UserError(f"Catalogue: categories={self.categories!r} is not valid: expected a positive whole number")
        object.__setattr__(self, "categories", int(self.categories))
        for what, ptr, values in (
            ("items", self.item_ptr, self.item_categories),
            ("histories", self.history_ptr, self.histories),
        ):
            if ptr.ndim != 1 or ptr.size < 1 or ptr[0] != 0 or ptr[-1] != values.size:
                raise UserError(f"Catalogue: offsets of {what} must run from 0 to {values.size}, the number of entries")

    @property
    def items(self) -> int:
        """n, the number of items, those in no category included."""
        return self.item_ptr.size - 1

    @property
    def users(self) -> int:
        """How many users have a history."""
        return self.history_ptr.size - 1

    @cached_property
    def widest_item(self) -> int:
        """The largest number of categories of one item: the global L1 sensitivity of a user's aggregates."""
        return int(np.diff(self.item_ptr).max(initial=0))

    def history(self, user: int) -> NDArray[np.integer[Any]]:
        """The items of one user."""
        return self.histories[self.history_ptr[user] : self.history_ptr[user + 1]]

    def aggregate(self, items: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
        """Cᵀ d: how many of `items` are in each category."""
        starts, sizes = self.item_ptr[items], np.diff(self.item_ptr)[items]
        places = np.repeat(starts - (np.cumsum(sizes) - sizes), sizes) + np.arange(sizes.sum())
        return np.bincount(self.item_categories[places], minlength=self.categories)

    @cached_property
    def aggregates(self) -> NDArray[np.int64]:
        """Every user's true category aggregates, users x categories."""
        from scipy.sparse import csr_array

        users = csr_array(
            (np.ones(self.histories.size, np.int64), self.histories, self.history_ptr), (self.users, self.items)
        )
        return read_only((users @ self.matrix()).toarray())

    def matrix(self) -> csr_array:
        """C, items by categories, as a sparse 0/1 matrix."""
        from scipy.sparse import csr_array

        ones = np.ones(self.item_categories.size, np.int64)
        return csr_array((ones, self.item_categories, self.item_ptr), (self.items, self.categories))

    def validate(self) -> None:
        """The full check: offsets, range, and no duplicates within an item or a history."""
        for what, ptr, values, limit in (
            ("items", self.item_ptr, self.item_categories, self.categories),
            ("histories", self.history_ptr, self.histories, self.items),
        ):
            check_csr(f"Catalogue ({what})", ptr, values, limit)
            row = np.repeat(np.arange(ptr.size - 1), np.diff(ptr))
            order = np.lexsort((values, row))
            same = (np.diff(values[order]) == 0) & (np.diff(row[order]) == 0)
            if same.any():
                at = order[1:][same][0]
                raise UserError(f"Catalogue: row {row[at]} of {what} holds {values[at]} twice")

    def facts(self) -> str:
        """The short description that `repr` shows."""
        return f"{self.items:,} items x {self.categories:,} categories, {self.users:,} users, widest item {self.widest_item}"

    def statistics(self) -> dict[str, float]:
        """Sizes by name, as `data show` prints them."""
        sizes = np.diff(self.history_ptr)
        return {
            "items": self.items,
            "categories": self.categories,
            "widest_item": self.widest_item,
            "average_categories": self.item_categories.size / max(1, self.items),
            "users": self.users,
            "largest_history": int(sizes.max(initial=0)),
            "average_history": float(sizes.mean()) if sizes.size else 0.0,
        }


def offsets(sizes: Any) -> NDArray[np.int64]:
    """CSR offsets of rows of these sizes."""
    return np.concatenate([[0], np.cumsum(np.asarray(sizes, dtype=np.int64))]).astype(np.int64)
