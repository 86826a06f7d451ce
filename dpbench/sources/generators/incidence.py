"""The generator of binary data from the statistics that papers print, and the function that draws its matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpbench.data import Incidence, Records
from dpbench.errors import UserError, one_of, positive
from dpbench.sources.base import Source
from dpbench.sources.generators import _margins as margins
from dpbench.sources.generators.records import on_days
from dpbench.sources.generators.shapes import whole_numbers


def incidence(row_sizes: np.ndarray, counts: np.ndarray, rng: np.random.Generator) -> Incidence:
    """Random binary data with exactly these row sizes and column counts, in this order; columns ascend within each row.

    Row i holds column j about as often as the margins imply: rows with many ones reach the rare columns, rows with few
    ones mostly hold frequent columns. There is no other structure.
    """
    sizes, sums = np.asarray(row_sizes, dtype=np.int64), np.asarray(counts, dtype=np.int64)
    for what, values in (("row sizes", sizes), ("counts", sums)):
        if values.ndim != 1 or not values.size or values.min() < 0:
            raise UserError(f"{what} are not valid: expected one whole number, 0 or more, per {what.split()[0]}")
    if not margins.realisable(sizes, sums):
        raise UserError(
            f"no binary data has these row sizes (sum {sizes.sum()}, largest {sizes.max()} of {sums.size} columns) and "
            f"counts (sum {sums.sum()}, largest {sums.max()} of {sizes.size} rows)"
        )
    indptr, indices = margins.matrix(sizes, sums, rng)
    return Incidence(indptr, indices, sums.size)


@dataclass(frozen=True, kw_only=True)
class IncidenceGenerator(Source, name="incidence"):
    """Binary data with the rows, columns, largest row and average count of a paper's table (gs, Table 2).

    Row sizes and counts follow the given quantiles, the same for every seed. Which row has which size, which column which
    count, and which row holds which column is random. Quantiles are multiples of the mean, so that they fit every size.
    """

    rows: int
    columns: int
    kind: str = "incidence"
    """`records`: each one becomes a record with a day of the week, as analytics treats Netflix."""
    largest: int
    """Number of ones in the largest row, Δ₁(Q)."""
    average: float
    """Average count of a column, empty ones included; average x columns, rounded, is the number of ones."""

    active: float = 1.0
    """Share of rows that are not empty."""
    row_least: int = 1
    """Number of ones in the smallest row that is not empty."""
    row_q25: float = 0.3
    row_q50: float = 0.6
    row_q75: float = 1.2
    row_q95: float | None = None
    """Quantiles of the sizes of non-empty rows, divided by their mean; None: determined by the total."""

    used: float = 1.0
    """Share of columns that are not empty."""
    top: float = 0.3
    """Share of the non-empty rows that hold the most frequent column."""
    count_least: int = 1
    """Smallest count of a column that is not empty."""
    count_q25: float = 0.15
    count_q50: float = 0.4
    count_q75: float = 1.0
    count_q95: float | None = None
    """Quantiles of the non-zero counts, divided by their mean; None: determined by the total."""

    kinds: ClassVar[tuple[str, ...]] = ("incidence", "records")

    def __post_init__(self) -> None:
        one_of("kind", self.kind, self.kinds)
        for name in ("rows", "columns", "largest", "row_least", "count_least"):
            positive(name, getattr(self, name), whole=True)
        for name in ("average", "active", "used", "top"):
            positive(name, getattr(self, name))
        for name in ("active", "used", "top"):
            if getattr(self, name) > 1:
                raise UserError(f"{name}={getattr(self, name)!r} is not valid: expected a share of at most 1")
        for side in ("row", "count"):
            self._check_quantiles(side)
        if self.largest > self.used_columns:
            raise UserError(f"largest={self.largest} is above the {self.used_columns} columns that are not empty")
        if not self.largest <= self.ones <= self.active_rows * self.largest:
            raise UserError(
                f"average={self.average} x columns={self.columns} makes {self.ones} ones, but {self.active_rows} rows of "
                f"at most largest={self.largest} hold {self.largest} to {self.active_rows * self.largest}"
            )

    def _check_quantiles(self, side: str) -> None:
        names = [f"{side}_{q}" for q in ("q25", "q50", "q75", "q95")]
        given = {name: getattr(self, name) for name in names if getattr(self, name) is not None or name[-2:] != "95"}
        for name, value in given.items():
            positive(name, value)
        if list(given.values()) != sorted(given.values()):
            shown = ", ".join(f"{name}={value}" for name, value in given.items())
            raise UserError(f"{shown}: expected quantiles that do not decrease")

    @property
    def ones(self) -> int:
        return round(self.average * self.columns)

    @property
    def active_rows(self) -> int:
        return max(1, round(self.active * self.rows))

    @property
    def used_columns(self) -> int:
        return max(1, round(self.used * self.columns))

    def margins(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Row sizes and column counts, each in random order: the papers' columns have no natural order."""
        sizes = self._shape("row", self.active_rows, self.row_least, self.largest)
        counts = self._shape("count", self.used_columns, self.count_least, max(1, round(self.top * self.active_rows)))
        return (
            rng.permutation(np.append(sizes, np.zeros(self.rows - sizes.size, dtype=np.int64))),
            rng.permutation(np.append(counts, np.zeros(self.columns - counts.size, dtype=np.int64))),
        )

    def _shape(self, side: str, number: int, least: int, most: int) -> np.ndarray:
        mean = self.ones / number
        q25, q50, q75, q95 = (getattr(self, f"{side}_{q}") for q in ("q25", "q50", "q75", "q95"))
        return whole_numbers(
            f"{side}s" if side == "row" else "counts",
            number,
            self.ones,
            least=least,
            most=most,
            quartiles=(q25 * mean, q50 * mean, q75 * mean),
            q95=None if q95 is None else q95 * mean,
        )

    def build(self, rng: np.random.Generator) -> Incidence | Records:
        data = incidence(*self.margins(rng), rng)
        return on_days(data, rng) if self.kind == "records" else data
