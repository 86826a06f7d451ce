"""Small made-up data used in the papers' arguments: gs' counterexample to optimal grouping, and rows of equal size."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpbench.data import Incidence
from dpbench.errors import UserError, positive
from dpbench.sources.base import Source


@dataclass(frozen=True, kw_only=True)
class GroupingExample(Source, name="grouping_example"):
    """gs, Section 3.2: counts (11, 13, 13, 14) with Δ = 2, and its neighbour without a user who has only the third column."""

    user: bool = True
    """Whether that user is included: D with the user, D' without."""

    ROWS = ((0, 3),) * 11 + ((1, 2),) * 11 + ((1, 3),) * 2 + ((2, 3),)
    """25 rows with the counts of D', (11, 13, 12, 14)."""

    def build(self, rng: np.random.Generator) -> Incidence:
        return Incidence.from_rows([*self.ROWS, *([(2,)] if self.user else [])], columns=4)


@dataclass(frozen=True, kw_only=True)
class EqualRows(Source, name="equal_rows"):
    """Rows of equal size over columns of very different counts, for the statements in sensitivity, Section 4.1."""

    rows: int = 2000
    columns: int = 500
    size: int = 20
    """Number of ones in every row."""

    def __post_init__(self) -> None:
        for name in ("rows", "columns", "size"):
            positive(name, getattr(self, name), whole=True)
        if self.size > self.columns:
            raise UserError(f"size={self.size} is not valid: there are only {self.columns} columns")

    def build(self, rng: np.random.Generator) -> Incidence:
        # In each row the columns with the largest popularity times noise: a draw without replacement.
        keys = np.log(1 / np.arange(1, self.columns + 1)) + rng.gumbel(size=(self.rows, self.columns))
        indices = np.argpartition(-keys, self.size - 1, axis=1)[:, : self.size]
        indptr = np.arange(self.rows + 1, dtype=np.int64) * self.size
        return Incidence(indptr, np.sort(indices, axis=1).ravel().astype(np.int32), self.columns)
