"""Releases as rows of a matrix: numbers, ranks, differences, equalities, lengths, membership and positions of items.

A layout defines the columns. It is learned from earlier draws, so that it is fixed before the draws it is used on.
Imported by the sequential test.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpbench.auditing.observed import Observed

Matrix = NDArray[np.float64]

RAW = 64
"""Most numbers that become columns: those that differ most between the two sides."""
CORE = 10
"""Most numbers that are compared pairwise."""
ITEMS = 40
"""Most items of one list whose membership becomes a column."""
RARE = 0.002
"""Two numbers that are equal in a smaller share of the draws give no column."""


@dataclass(frozen=True)
class FeatureLayout:
    """Which columns a release becomes. Missing numbers are nan."""

    parts: tuple[tuple[str, int], ...]
    """Lists of numbers, and how many positions of each are read."""
    raw: tuple[int, ...]
    """Which of these positions are columns."""
    core: tuple[int, ...]
    """Which of them are compared pairwise."""
    equal: tuple[tuple[int, int], ...]
    """Which of the compared ones were ever equal."""
    items: tuple[tuple[str, tuple[Hashable, ...]], ...]

    @property
    def names(self) -> list[str]:
        """A readable name for each column."""
        places = [f"{part}[{at}]" if width > 1 else part for part, width in self.parts for at in range(width)]
        columns = [places[at] for at in self.raw]
        for part, listed in self.items:
            columns += [f"{item!r} in {part}" for item in listed] + [f"value of {item!r} in {part}" for item in listed]
        for part, _ in self.parts:
            columns += [
                f"{what} of {part}" for what in ("sum", "least", "largest", "range", "length", "zeros", "wholes")
            ]
        columns += [f"length of {part}" for part, _ in self.items]
        core = [places[at] for at in self.core]
        columns += [f"rank of {name}" for name in core]
        columns += [f"{one} - {other}" for i, one in enumerate(core) for other in core[i + 1 :]]
        columns += [f"{places[one]} = {places[other]}" for one, other in self.equal]
        return [*columns, "different numbers"]

    @property
    def independent(self) -> int:
        """How many of the first columns are numbers and items themselves, not derived from them."""
        return len(self.raw) + 2 * sum(len(listed) for _, listed in self.items)

    def matrix(self, draws: Sequence[Observed]) -> Matrix:
        """One row per draw."""
        blocks = [_block(draws, part, width) for part, width in self.parts]
        places = np.concatenate([np.empty((len(draws), 0)), *blocks], axis=1)
        columns = [places[:, list(self.raw)]]
        for part, listed in self.items:
            columns.append(_values(draws, part, listed))
        for (part, _), block in zip(self.parts, blocks, strict=True):
            columns.append(_summary(draws, part, block))
        for part, _ in self.items:
            columns.append(np.array([[float(len(draw.items.get(part, ())))] for draw in draws]).reshape(-1, 1))
        core = places[:, list(self.core)]
        columns.append(np.argsort(np.argsort(core, axis=1), axis=1).astype(np.float64))
        above, below = np.triu_indices(core.shape[1], 1)
        columns.append(core[:, above] - core[:, below])
        columns += [(places[:, one] == places[:, other])[:, None].astype(np.float64) for one, other in self.equal]
        ordered = np.sort(core, axis=1)
        columns.append((np.diff(ordered, axis=1) > 0).sum(axis=1)[:, None].astype(np.float64))
        return np.concatenate(columns, axis=1)


def learn_layout(before: Sequence[Observed], after: Sequence[Observed]) -> FeatureLayout:
    """The columns that earlier draws of both sides suggest."""
    draws = [*before, *after]
    widths: dict[str, int] = {}
    for draw in draws:
        for part, values in draw.numbers.items():
            widths[part] = max(widths.get(part, 0), values.size)
    parts = tuple(widths.items())
    blocks = [_block(draws, part, width) for part, width in parts]
    places = np.concatenate([np.empty((len(draws), 0)), *blocks], axis=1)
    apart = _apart(places[: len(before)], places[len(before) :])
    # Numbers that never change are useless, and would displace those that do.
    varied = np.flatnonzero(_varied(places))
    best = varied[np.argsort(-apart[varied], kind="stable")]
    raw = tuple(sorted(best[:RAW].tolist()))
    chosen = np.repeat([part.startswith("chosen.") for part, _ in parts], [width for _, width in parts])
    core = tuple(sorted([at for at in best.tolist() if not chosen[at]][:CORE]))
    return FeatureLayout(parts, raw, core, _equalities(places, core), _listed(before, after))


def _block(draws: Sequence[Observed], part: str, width: int) -> Matrix:
    """The numbers of one part, one row per draw; nan after the end of a shorter one."""
    numbers = [draw.numbers.get(part) for draw in draws]
    if all(values is not None and values.size == width for values in numbers):
        return np.array(numbers, dtype=np.float64).reshape(len(draws), width)
    block = np.full((len(draws), width), np.nan)
    for row, values in zip(block, numbers, strict=True):
        if values is not None:
            row[: values.size] = values[:width]
    return block


def _values(draws: Sequence[Observed], part: str, listed: tuple[Hashable, ...]) -> Matrix:
    """Whether each listed item is present, and its value (nan if it is not)."""
    values = np.full((len(draws), len(listed)), np.nan)
    for row, draw in zip(values, draws, strict=True):
        if present := draw.items.get(part):
            row[:] = [present.get(item, np.nan) for item in listed]
    return np.concatenate([(~np.isnan(values)).astype(np.float64), values], axis=1)


def _summary(draws: Sequence[Observed], part: str, block: Matrix) -> Matrix:
    """Sum, least, largest, range, length, zeros and whole numbers of one part."""
    there = ~np.isnan(block)
    filled = np.where(there, block, 0.0)
    least = np.where(there, block, np.inf).min(axis=1, initial=np.inf)
    largest = np.where(there, block, -np.inf).max(axis=1, initial=-np.inf)
    with np.errstate(invalid="ignore"):
        spread = largest - least
    length = [draw.numbers[part].size if part in draw.numbers else -1 for draw in draws]
    zeros, wholes = (there & (block == 0)).sum(axis=1), (there & (block == np.floor(block))).sum(axis=1)
    with np.errstate(invalid="ignore", over="ignore"):
        total = filled.sum(axis=1)
    return np.column_stack([total, least, largest, spread, length, zeros, wholes]).astype(np.float64)


def _apart(first: Matrix, second: Matrix) -> NDArray[np.float64]:
    """How far apart the two sides are in each column: the difference of the mean ranks, in standard deviations."""
    both = np.concatenate([first, second])
    ranks = np.argsort(np.argsort(np.nan_to_num(both, nan=-np.inf), axis=0, kind="stable"), axis=0)
    if not len(first) or not len(second):
        return np.zeros(both.shape[1])
    return np.abs(ranks[: len(first)].mean(axis=0) - ranks[len(first) :].mean(axis=0)) / len(both)


def _varied(places: Matrix) -> NDArray[np.bool_]:
    same = (places == places[:1]) | (np.isnan(places) & np.isnan(places[:1]))
    return ~same.all(axis=0)


def _equalities(places: Matrix, core: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    """The pairs of compared numbers that are sometimes equal, but not always."""
    pairs = []
    for i, number in enumerate(core):
        for other in core[i + 1 :]:
            share = float((places[:, number] == places[:, other]).mean())
            if RARE <= share < 1:
                pairs.append((number, other))
    return tuple(pairs)


def _listed(before: Sequence[Observed], after: Sequence[Observed]) -> tuple[tuple[str, tuple[Hashable, ...]], ...]:
    """The items whose membership differs most between both sides, of each list of items."""
    names = dict.fromkeys(name for draw in (*before, *after) for name in draw.items)
    lists = []
    for name in names:
        if name.endswith(" as items") and not all(name in draw.items for draw in (*before, *after)):
            continue  # integers that sometimes repeat are numbers, not items
        count, other = (Counter(item for draw in side for item in draw.items.get(name, ())) for side in (before, after))
        share = {
            item: (count[item] / max(1, len(before)), other[item] / max(1, len(after))) for item in (count | other)
        }
        best = sorted(share, key=lambda item: (-abs(share[item][0] - share[item][1]), -sum(share[item]), str(item)))
        lists.append((name, tuple(best[:ITEMS])))
    return tuple(lists)


def halves(rows: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Split the draws into halves, evenly over all batches: one to fit a score, one to set its threshold."""
    every = np.arange(rows)
    return every[0::2], every[1::2]
