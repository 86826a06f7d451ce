"""The generator of binary data from the statistics that papers print, and the function that draws its matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpbench.data import Incidence, Records
from dpbench.errors import UserError, one_of, positive
from dpbench.sources.base import Source
from dpbench.sources.generators import _margins as margins
from dpbench.sources.generators._taste import Taste
from dpbench.sources.generators.records import on_days
from dpbench.sources.generators.shapes import further_quantiles, whole_numbers


def incidence(row_sizes: np.ndarray, counts: np.ndarray, rng: np.random.Generator, taste: float = 0.0) -> Incidence:
    """Random binary data with exactly these row sizes and column counts, in this order; columns ascend within each row.

    Row i holds column j about as often as the margins imply: rows with many ones reach the rare columns, rows with few
    ones mostly hold frequent columns. `taste` (`_taste.py`) lets large and small rows prefer different columns. There is no
    other structure.
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
    indptr, indices = margins.matrix(sizes, sums, rng, Taste.drawn(taste, sums.size, rng))
    return Incidence(indptr, indices, sums.size)


@dataclass(frozen=True, kw_only=True)
class IncidenceGenerator(Source, name="incidence"):
    """Binary data with the rows, columns, largest row and average count of a paper's table (gs, Table 2).

    Row sizes and counts have the given quantiles, whatever the seed; the sizes and counts between them are drawn. Which row has
    which size, which column which count, and which row holds which column is random. Quantiles are multiples of the mean, so
    that they fit every size.
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
    row_more: str = ""
    """Further quantiles: `0.034:0.045 0.6:0.7` gives those of 3.4 % and 60 %."""

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
    count_more: str = ""
    """Further quantiles of the non-zero counts."""
    order: float = 0.0
    """Rank correlation of a column's count with its number: below 0 if the first columns have the largest counts."""
    taste: float = 0.0
    """How differently rows with many ones and rows with few choose their columns (`_taste.py`)."""

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
        if not -1 < self.order < 1:
            raise UserError(f"order={self.order!r} is not valid: expected a number between -1 and 1")
        if not 0 <= self.taste <= 2:
            raise UserError(f"taste={self.taste!r} is not valid: expected a number from 0 to 2")
        if self.largest > self.used_columns:
            raise UserError(f"largest={self.largest} is above the {self.used_columns} columns that are not empty")
        if not self.largest <= self.ones <= self.active_rows * self.largest:
            raise UserError(
                f"average={self.average} x columns={self.columns} makes {self.ones} ones, but {self.active_rows} rows of "
                f"at most largest={self.largest} hold {self.largest} to {self.active_rows * self.largest}"
            )

    def _check_quantiles(self, side: str) -> None:
        given = {
            f"{side}_q{share}": getattr(self, f"{side}_q{share}")
            for share in (25, 50, 75, 95)
            if share != 95 or getattr(self, f"{side}_q95") is not None
        }
        for name, value in given.items():
            positive(name, value)
        quantiles = self._quantiles(side)
        if [quantiles[share] for share in sorted(quantiles)] != sorted(quantiles.values()):
            shown = ", ".join(f"{name}={value}" for name, value in given.items())
            more = getattr(self, f"{side}_more")
            raise UserError(
                f"{shown}{f', {side}_more={more}' if more else ''}: expected quantiles that do not decrease"
            )

    def _quantiles(self, side: str) -> dict[float, float]:
        """Share -> multiple of the mean."""
        given = {share / 100: getattr(self, f"{side}_q{share}") for share in (25, 50, 75, 95)}
        more = further_quantiles(f"{side}_more", getattr(self, f"{side}_more"))
        return {share: value for share, value in given.items() if value is not None} | more

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
        """Row sizes, in random order, and column counts, in random order unless `order` says otherwise."""
        sizes = self._shape("row", self.active_rows, self.row_least, self.largest, rng)
        top = max(1, round(self.top * self.active_rows))
        counts = self._shape("count", self.used_columns, self.count_least, top, rng)
        if self.order:
            from scipy.special import ndtri

            score = ndtri((np.arange(counts.size) + 0.5) / counts.size) * self.order
            score += np.sqrt(1 - self.order**2) * rng.standard_normal(counts.size)
            used = np.sort(rng.permutation(self.columns)[: counts.size])
            placed = np.zeros(self.columns, dtype=np.int64)
            placed[used[np.argsort(score)]] = counts
        else:
            placed = rng.permutation(np.append(counts, np.zeros(self.columns - counts.size, dtype=np.int64)))
        return rng.permutation(np.append(sizes, np.zeros(self.rows - sizes.size, dtype=np.int64))), placed

    def _shape(self, side: str, number: int, least: int, most: int, rng: np.random.Generator) -> np.ndarray:
        mean = self.ones / number
        quantiles = {share: value * mean for share, value in self._quantiles(side).items()}
        what = "rows" if side == "row" else "counts"
        return whole_numbers(what, number, self.ones, least=least, most=most, quantiles=quantiles, rng=rng)

    def build(self, rng: np.random.Generator) -> Incidence | Records:
        data = incidence(*self.margins(rng), rng, self.taste)
        return on_days(data, rng) if self.kind == "records" else data
