"""Random pairs of neighbouring data: small, with the shapes that are most likely to reveal a fault. Used by all methods.

The shapes alternate, so that a few dozen pairs cover all of them. In the first round the data is as wide as the bound, where
a row can be as large as possible. Imported by all methods of auditing; imports data kinds, and the neighbour relation that
is not add-or-remove.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from dpbench.auditing.neighbours import Neighbours
from dpbench.auditing.pairs_of_tables import CONTINGENCY_SHAPES, MOVED_SHAPES, contingency_pair, moved_pair
from dpbench.auditing.row_shapes import HUNDREDS, MANY, ROW_SHAPES
from dpbench.data import Catalogue, Incidence, Records
from dpbench.mechanisms.sparse.synthesizer import MOVED

LARGEST = 7
"""Most columns, items or categories."""
WIDEST = 500
"""Bounds above have data as wide as themselves in the first turn only: such pairs take long."""
MANY_COLUMNS = 32
"""Columns of the first of these pairs: a choice among more columns costs more."""
WIDER = 0.15
"""The share of pairs with up to 40 columns or items."""
HUGE = 160
"""Columns of one pair with hundreds of rows: no more than distributions of chosen columns can be computed for."""
SHOWN = 70
"""Characters of a pair's content in its name."""


def pairs(
    kind: str, rng: np.random.Generator, count: int, *, bound: int | None = None, neighbours: str = ""
) -> Iterator[Neighbours]:
    """`count` pairs of one data kind.

    bound: the largest row (records: the most records of a user; histograms: the most cells of an individual, None: one).
    None: any row that fits the columns.
    neighbours: the relation as the mechanism states it; only the one that moves an individual differs from add or remove.
    """
    make = MAKERS["moved" if neighbours == MOVED else kind]
    for number, shape in zip(range(count), itertools.cycle(SHAPES[make]), strict=False):
        before, after, content = make(rng, shape, bound, number < len(SHAPES[make]))
        text = content if len(content) <= SHOWN else f"{content[:SHOWN]}..."
        yield Neighbours(f"{shape} (pair {number}: {text})", before, after)


# Rows: of columns, or of items.


def _incidence(rng: np.random.Generator, shape: str, bound: int | None, wide: bool) -> tuple[Incidence, Incidence, str]:
    d = int(rng.integers(1, LARGEST + 1))
    if rng.random() < WIDER:
        d = int(rng.integers(LARGEST + 1, MANY_COLUMNS + 9))
    if shape == HUNDREDS and wide:
        d = HUGE
    elif wide:
        d = bound or (MANY_COLUMNS if shape == MANY else LARGEST)
    elif bound and bound <= WIDEST and rng.random() < 0.2:
        d = bound
    most = d if bound is None else min(d, bound)

    def draw(size: int) -> list[int]:
        return sorted(rng.permutation(d)[: min(size, d)].tolist())

    rows, new = ROW_SHAPES[shape](rng, draw, d, most)
    before, after = (Incidence.from_rows(r, columns=d) for r in (rows, [*rows, new]))
    return before, after, f"{new} new after {rows} of {d} columns"


def _records(rng: np.random.Generator, shape: str, bound: int | None, wide: bool) -> tuple[Records, Records, str]:
    items, contexts = (4 if wide else int(rng.integers(1, 6))), int(rng.integers(1, 4))
    if rng.random() < WIDER:
        items = int(rng.integers(6, MANY_COLUMNS + 9))
    repeats = bool(rng.random() < 0.75)
    most = LARGEST if bound is None else bound
    most = most if repeats else min(most, items)

    def draw(size: int) -> list[int]:
        if not repeats:
            return rng.permutation(items)[: min(size, items)].tolist()
        # One in three users has the same item in all records: then one count moves by all of them.
        return [int(rng.integers(items))] * size if rng.random() < 1 / 3 else rng.integers(0, items, size).tolist()

    rows, new = ROW_SHAPES[shape](rng, draw, items, most)
    same = rng.random() < 0.5
    users = [[(item, 0 if same else int(rng.integers(contexts))) for item in row] for row in [*rows, new]]
    before, after = (Records.from_rows(u, items=items, contexts=contexts, repeats=repeats) for u in (users[:-1], users))
    kind = "" if repeats else ", no item twice"
    return before, after, f"{users[-1]} new after {users[:-1]} of {items} items and {contexts} contexts{kind}"


# One user's items.


def _catalogue(rng: np.random.Generator, shape: str, bound: int | None, wide: bool) -> tuple[Catalogue, Catalogue, str]:
    items, categories = int(rng.integers(1, 7)), int(rng.integers(1, 5))
    matrix = (rng.random((items, categories)) < rng.choice([0.3, 0.6])).astype(np.int64)
    new = int(rng.integers(items))
    if shape == "the item with the most categories":
        matrix[new] = 1
    elif shape == "an item without category":
        matrix[new] = 0
    elif shape == "an item like another":
        matrix[new] = matrix[(new + 1) % items]
    history = [item for item in range(items) if item != new and rng.random() < 0.5]
    if shape == "the first item":
        history = []
    elif shape == "the last item that is missing":
        history = [item for item in range(items) if item != new]
    others = [[int(rng.integers(items))]] if rng.random() < 0.2 else []
    before, after = (Catalogue.from_matrix(matrix, [*others, h]) for h in (history, [*history, new]))
    return before, after, f"item {new} new after {history} of {matrix.tolist()}"


Maker = Callable[[np.random.Generator, str, int | None, bool], tuple[Any, Any, str]]

MAKERS: dict[str, Maker] = {
    "incidence": _incidence,
    "records": _records,
    "contingency": contingency_pair,
    "moved": moved_pair,
    "catalogue": _catalogue,
}

SHAPES: dict[Maker, tuple[str, ...]] = {
    _incidence: tuple(ROW_SHAPES),
    _records: tuple(ROW_SHAPES),
    contingency_pair: CONTINGENCY_SHAPES,
    moved_pair: MOVED_SHAPES,
    _catalogue: (
        "any item",
        "the item with the most categories",
        "an item without category",
        "an item like another",
        "the first item",
        "the last item that is missing",
    ),
}
