"""Faults that need another budget, more columns or rows, a share above one half, or an empty table to show."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from dpbench import Contingency, Counts, Incidence, Mechanism, Noise

from support.faults import method
from support.released import Planted, cases, must_be_found

Scale = Callable[[Any, float, int], Any]


@dataclass(frozen=True, kw_only=True)
class Rows(Mechanism):
    """Laplace noise of a scale that a function gives from data, ε and bound."""

    how: Scale
    bound: int = 3

    def publish(self, data: Incidence, epsilon: float, noise: Noise) -> Counts:
        return Counts(counts=noise.laplace(data.counts, scale=self.how(data, epsilon, self.bound)))


@dataclass(frozen=True, kw_only=True)
class Cells(Mechanism):
    """The same over the cells of a table."""

    how: Scale
    kinds = ("contingency",)

    def publish(self, data: Contingency, epsilon: float, noise: Noise) -> Counts:
        full = np.zeros(data.size)
        full[data.cells] = data.counts
        return Counts(counts=noise.laplace(full, scale=self.how(data, epsilon, 1)))


@dataclass(frozen=True, kw_only=True)
class Typed(Mechanism):
    """Counts in a type of numbers that does not hold all of them."""

    of: str
    bound: int = 3
    kinds = ("incidence", "contingency")

    def publish(self, data: Any, epsilon: float, noise: Noise) -> Counts:
        if isinstance(data, Incidence):
            return Counts(counts=noise.laplace(data.counts.astype(self.of), scale=self.bound / epsilon))
        full = np.zeros(data.size, dtype=np.int64)
        full[data.cells] = data.counts
        return Counts(counts=noise.laplace(full.astype(self.of), scale=1 / epsilon))


def columns(data: Any, scale: float, less: Any) -> np.ndarray:
    """A tenth of the noise for some columns."""
    scales = np.full(data.columns, scale)
    scales[less] /= 10
    return scales


ROWS: dict[str, Scale] = {
    "at most 5 of noise": lambda data, e, b: min(b / e, 5.0),
    "at least 1 in the denominator": lambda data, e, b: b / max(e, 1.0),
    "at most 1 in the denominator": lambda data, e, b: b / max(e, 0.5) if e < 0.5 else b / e,
    "less noise at large budgets": lambda data, e, b: b / e / (2 if e > 5 else 1),
    "less noise at small budgets": lambda data, e, b: b / e / (2 if e < 0.2 else 1),
    "a squared budget": lambda data, e, b: b / max(e, e * e),
    "columns from 8 on": lambda data, e, b: columns(data, b / e, slice(8, None)),
    "columns from 12 on": lambda data, e, b: columns(data, b / e, slice(12, None)),
    "columns from 20 on": lambda data, e, b: columns(data, b / e, slice(20, None)),
    "columns from 31 on": lambda data, e, b: columns(data, b / e, slice(31, None)),
    "columns from 100 on": lambda data, e, b: columns(data, b / e, slice(100, None)),
    "more than 15 columns": lambda data, e, b: b / e / (3 if data.columns > 15 else 1),
    "more than 120 columns": lambda data, e, b: b / e / (3 if data.columns > 120 else 1),
    "a single column": lambda data, e, b: b / e / (5 if data.columns == 1 else 1),
    "from 50 rows on": lambda data, e, b: b / e / (2 if data.indptr.size > 51 else 1),
    "from 150 rows on": lambda data, e, b: b / e / (2 if data.indptr.size > 151 else 1),
    "as many rows as the data": lambda data, e, b: b / e * (1 + 1 / data.indptr.size),
    "large counts": lambda data, e, b: b / e / (2 if data.counts.max(initial=0) > 35 else 1),
    "no rows": lambda data, e, b: b / e if data.indptr.size > 1 else 1e-9,
    "only ones": lambda data, e, b: b / e if data.ones else 1e-9,
    "one more than the bound": lambda data, e, b: max(1, b - 1) / e,
}
BOUNDS: dict[str, Scale] = {
    "bounds above 50": lambda data, e, b: min(b, 50) / e,
    "bounds above 20": lambda data, e, b: min(b, 20) / e,
    "odd bounds only": lambda data, e, b: (b if b % 2 else b - 1 / 2) / e,
    "a bound of one": lambda data, e, b: b / e if b > 1 else 0.5 / e,
}
TABLES: dict[str, Scale] = {
    "empty tables": lambda data, e, b: 1 / e / (2 if not data.cells.size else 1),
    "empty tables with many cells": lambda data, e, b: 1 / e / (2 if not data.cells.size and data.size > 90 else 1),
    "more than 90 cells": lambda data, e, b: 1 / e / (2 if data.size > 90 else 1),
    "more than 200 cells": lambda data, e, b: 1 / e / (2 if data.size > 200 and data.cells.size > 2 else 1),
    "more than 500 cells": lambda data, e, b: 1 / e / (2 if data.size > 500 else 1),
    "counts beyond 32 bits": lambda data, e, b: 1 / e / (2 if data.counts.max(initial=0) > 2**32 else 1),
    "two attributes": lambda data, e, b: 1 / e / (2 if len(data.shape) > 1 else 1),
    "a single cell": lambda data, e, b: 1 / e / (2 if data.size == 1 else 1),
    "small budgets": lambda data, e, b: min(1 / e, 2.0),
}
QUICK = (
    "at most 5 of noise",
    "columns from 12 on",
    "from 150 rows on",
    "bounds above 50",
    "empty tables with many cells",
)
FAULTS = [
    *(Planted(name, lambda patch, how=how: Rows(how=how), quick=name in QUICK) for name, how in ROWS.items()),
    *(
        Planted(name, lambda patch, how=how: Rows(how=how), quick=name in QUICK, further=True)
        for name, how in BOUNDS.items()
    ),
    *(
        Planted(f"table: {name}", lambda patch, how=how: Cells(how=how), quick=name in QUICK)
        for name, how in TABLES.items()
    ),
]

FAULTS += [
    Planted(f"{of} numbers", lambda patch, of=of: Typed(of=of), quick=of in ("int8", "float32"))
    for of in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "float32")
]

# Parameters of our mechanisms.


def whole_budget(right: Any, self: Any, epsilon: float) -> Any:
    """Shares above one half are not taken from the rest."""
    one, other = right(self, epsilon)
    return one, max(other, epsilon / 2)


def one_cell(right: Any, self: Any, data: Any) -> int:
    """Over a transform, an individual counts once, however many cells it is in."""
    return int(right(self, data)) // (int(self.k) if self.transform != "none" else 1)


def plain_table(right: Any, self: Any, epsilon: float, sensitivity: float) -> float:
    return float(right(self, epsilon, 1 if self.transform == "haar" else sensitivity))


def public_part(right: Any, self: Any, epsilon: float) -> float:
    """The part for noisy sizes is not taken off where it is large."""
    return float(right(self, epsilon)) if self.private_size < 0.5 else epsilon


def more_of_wide_tables(right: Any, self: Any, data: Any, epsilon: float) -> Any:
    """A fifth more budget where a table has more than 200 cells."""
    return right(self, data, epsilon * (1.2 if data.size > 200 else 1))


FAULTS += [
    Planted("gshm: wide tables", method("gshm", {}, noise_of=more_of_wide_tables), quick=True),
    Planted("dpsense: shares above one half", method("dpsense", {"bound": 3, "share": 0.8}, split=whole_budget)),
    Planted(
        "dpsense: found from another share",
        method("dpsense", {"bound": 3}, split=whole_budget),
        further=True,
        thorough=True,
    ),
    Planted("alp: k over a transform", method("alp", {"transform": "dyadic", "k": 2, "buckets": 6}, most=one_cell)),
    Planted(
        "geometric: found from another transform", method("geometric", {}, alpha=plain_table), further=True, quick=True
    ),
    Planted("filter: found from another transform", method("filter", {"theta": 2}, alpha=plain_table), further=True),
    Planted(
        "threshold: found from another transform", method("threshold", {"tau": 3}, alpha=plain_table), further=True
    ),
    Planted("priority: found from another transform", method("priority", {"s": 2}, alpha=plain_table), further=True),
    Planted(
        "filter: large private_size", method("filter", {"private_size": 0.3}, table_budget=public_part), further=True
    ),
    Planted(
        "priority: large private_size",
        method("priority", {"private_size": 0.3}, table_budget=public_part),
        further=True,
    ),
]


@pytest.mark.parametrize("fault", cases(FAULTS))
def test_faults_that_need_other_pairs_are_found(fault: Planted, monkeypatch: pytest.MonkeyPatch) -> None:
    must_be_found(fault, monkeypatch)
