"""When two numbers count as equal: up to the last digits, in which libraries and processors may differ.

Imported by the comparisons of `check`.
"""

from __future__ import annotations

import numpy as np

from dpbench.gate.baselines import CellNumbers, FigureNumbers
from dpbench.model.metric import Metric
from dpbench.numerics.welch import ROUNDING

TOLERANCE = ROUNDING
"""Relative tolerance for the numbers of trials."""
FIGURE_TOLERANCE = 1e-6
"""Relative tolerance for the numbers of figures, which are stored with seven digits."""
NOTHING = 1e-12
"""Absolute tolerance. Smaller values are rounding errors of numbers around 1: no metric is as small as this."""

ERROR = "_se"
"""Suffix: a column `m_se` is the standard error of the mean in the column `m`."""


def close(x: np.ndarray, y: np.ndarray, beside: float = 0.0) -> bool:
    """Whether numbers are equal up to the last digits, relative to the largest of all trials and `beside`."""
    both = np.isfinite(x) & np.isfinite(y)
    if not np.array_equal(x[~both], y[~both], equal_nan=True):
        return False
    size = max(np.abs(np.concatenate([x[both], y[both]])).max(initial=0.0), beside)
    return bool(np.all(np.abs(x[both] - y[both]) <= TOLERANCE * size + NOTHING))


def size_beside(declared: Metric, *cells: CellNumbers) -> float:
    """The largest value of the metric `declared.beside`, which determines the size of rounding errors; 0 if there is none."""
    values = [value for cell in cells for value in cell.values.get(declared.beside, ())] if declared.beside else []
    return float(np.nanmax(np.abs(values))) if np.isfinite(values).any() else 0.0


def moved_rows(name: str, old: FigureNumbers, new: FigureNumbers) -> list[int]:
    """The rows of two tables of equal length in which a column differs: in text, or in a number by more than rounding.

    The standard error of equal numbers is their rounding error. How large that may be depends on the numbers themselves.
    A root, such as `bias` beside `bias2`, is compared by its square: the root of a rounding error is far larger.
    """
    pairs = _pairs(name, old, new)
    power = 2 if f"{name}2" in old.columns and f"{name}2" in new.columns else 1
    mean = name.removesuffix(ERROR)
    beside = _pairs(mean, old, new) if mean != name and mean in old.columns and mean in new.columns else []
    sizes = [
        abs(value) ** power for texts in (*pairs, *beside) for value in map(as_number, texts) if np.isfinite(value)
    ]
    floor = TOLERANCE * max(sizes, default=0.0) + NOTHING
    return [i for i, texts in enumerate(pairs) if not _same(*texts, floor, power)]


def _pairs(name: str, old: FigureNumbers, new: FigureNumbers) -> list[tuple[str, str]]:
    a, b = (table.columns.index(name) for table in (old, new))
    return [(row[a], other[b]) for row, other in zip(old.rows, new.rows, strict=True)]


def _same(old: str, new: str, floor: float, power: int) -> bool:
    x, y = as_number(old) ** power, as_number(new) ** power
    if not (np.isfinite(x) and np.isfinite(y)):
        return old == new
    return abs(x - y) <= FIGURE_TOLERANCE * max(abs(x), abs(y)) + floor


def as_number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")
