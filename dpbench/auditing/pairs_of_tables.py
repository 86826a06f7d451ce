"""Random pairs of neighbouring histograms: individuals in the cells of a table, with one individual added or moved.

Imported by pairs.py, which lists all kinds.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dpbench.auditing.row_shapes import CROWD
from dpbench.data import Contingency

MANY_CELLS = "many cells"
CROWDED = "many in the other cell"
EMPTY = "an empty table with many cells"
ENORMOUS = "a count beyond 32 bits, and one at the edge of a type of numbers"
EDGES = (2**15 - 1, 2**16 - 1, 2**24 + 1, 2**31 - 1, 2**32 - 1)
"""Counts to which a type of numbers does not add one: whole ones of 16 and 32 bits, and the real one of 32 bits."""
WIDE = 600
"""Cells of an empty table; half as many of another wide one."""
TREE = 50
"""Smallest number of cells for this shape: from here on a hierarchy has several levels."""
LARGE = 1600
"""A count that is above every threshold."""

CONTINGENCY_SHAPES = (
    "any cell",
    "the first individual",
    "the first of a cell",
    "one more in the largest cell",
    "equal counts",
    "a new largest cell",
    "large counts",
    "large counts and a new one",
    MANY_CELLS,
    "the last cell",
    EMPTY,
    ENORMOUS,
)

MOVED_SHAPES = ("one attribute", "to an empty cell", "the cell holds others", "two attributes", CROWDED)


def contingency_pair(
    rng: np.random.Generator, shape: str, bound: int | None, wide: bool
) -> tuple[Contingency, Contingency, str]:
    sides = tuple(int(side) for side in rng.integers(1, 5, 2)) if rng.random() < 0.3 else (int(rng.integers(1, 14)),)
    if shape == MANY_CELLS:
        sides = (WIDE // 2 if wide else int(rng.integers(TREE, 2 * TREE)),)
    elif shape == EMPTY:
        sides = (WIDE if wide else int(rng.integers(2 * TREE, 4 * TREE)),)
    size = int(np.prod(sides))
    counts = rng.integers(0, 4, size) * (rng.random(size) < 0.6)
    cell: Any = int(rng.integers(size))
    if bound is not None and bound > 1:
        # Usually an individual is in as many cells as allowed.
        cell = rng.permutation(size)[: bound if wide or rng.random() < 0.6 else int(rng.integers(1, bound + 1))]
    if shape == MANY_CELLS and wide:
        counts = np.where(counts > 0, counts + LARGE, 0)
        counts[cell] = LARGE
    elif shape == ENORMOUS:
        counts[int(rng.integers(size))] = 2**33 + int(rng.integers(4))
        counts[cell] = EDGES[int(np.atleast_1d(cell)[0]) % len(EDGES)]
    elif shape in ("the first individual", EMPTY):
        counts[:] = 0
    elif shape == "the first of a cell":
        counts[cell] = 0
    elif shape == "large counts":
        counts += LARGE
    elif shape == "large counts and a new one":
        counts += LARGE
        counts[np.atleast_1d(cell)[0]] = 0
    elif shape == "one more in the largest cell":
        counts[cell] = counts.max() + int(rng.integers(1, 30))
    elif shape == "equal counts":
        counts[:] = int(rng.integers(1, 4))
    elif shape == "a new largest cell":
        counts[cell] = counts.max()
    elif shape == "the last cell":
        cell = size - 1 if np.ndim(cell) == 0 else np.unique(np.append(cell[1:], size - 1))
    more = counts.copy()
    more[cell] += 1
    before, after = (_table(table, sides) for table in (counts, more))
    named = f"cell {cell}" if np.ndim(cell) == 0 else f"cells {cell.tolist()}"
    return before, after, f"{named} of {counts.tolist()}"


def _table(counts: np.ndarray, sides: tuple[int, ...]) -> Contingency:
    cells = np.flatnonzero(counts)
    return Contingency(cells, counts[cells].astype(np.int64), int(counts.size), sides)


def moved_pair(
    rng: np.random.Generator, shape: str, bound: int | None, wide: bool
) -> tuple[Contingency, Contingency, str]:
    """One individual moves to another cell with the same first attribute. Small enough to list every outcome."""
    sides = (int(rng.integers(2, 4)),) if shape == "one attribute" else (2, int(rng.integers(2, 4)))
    sides = (2,) if shape == CROWDED else sides
    width = sides[-1]
    counts = np.zeros(int(np.prod(sides)), dtype=np.int64)
    first = int(rng.integers(counts.size // width)) * width
    source, target = (first + rng.permutation(width)[:2]).tolist()
    # A δ only matters if a group is not tiny; two cells have few outcomes however many individuals they hold.
    others = int(rng.integers(4, CROWD // 2)) if shape == CROWDED else int(rng.integers(0, 3))
    for _ in range(others):
        if shape == CROWDED:
            counts[target] += 1
        else:
            counts[source if shape == "the cell holds others" else rng.integers(counts.size)] += 1
    if shape == "to an empty cell":
        counts[target] = 0
    counts[source] += 1
    moved = counts.copy()
    moved[source] -= 1
    moved[target] += 1
    return _table(counts, sides), _table(moved, sides), f"from cell {source} to {target} of {counts.tolist()}"
