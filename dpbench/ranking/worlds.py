"""The calibration table: each statistic of a dataset as printed in its paper, as published elsewhere, and in each of our worlds.

Ours are counted in the built data; the others are in the dataset's card, with their source. Imported by the `data` verb and by
the pages of the documentation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpbench.config.dataset_entry import DatasetEntry
from dpbench.config.entries import datasets
from dpbench.data import Contingency, Data, Incidence, Records
from dpbench.numerics.rows import weighed_counts
from dpbench.sources import cards
from dpbench.sources.cache import open_dataset

SANITY = 0.001
"""The relative error of gs divides by at least this share of the number of rows."""


@dataclass(frozen=True)
class CalibrationRow:
    """One statistic in one world."""

    dataset: str
    world: str
    statistic: str
    printed: float | str | None
    published: float | str | None
    ours: float | None
    source: str
    """Where the printed and the published number are from."""


def calibration(
    entry: DatasetEntry, scale: str, seed: int = 0, say: Callable[[str], None] = lambda _: None
) -> Iterator[CalibrationRow]:
    """The rows of a dataset, world by world. Statistics that nobody states come last: they are what worlds differ in."""
    known = stated(cards.load(entry.name))
    for dataset in datasets(entry.generated().in_worlds("all"), scale, seed):
        world = dataset.world or entry.default_world
        counted = statistics(open_dataset(dataset, say=say).data)
        for name in dict.fromkeys([*known, *counted]):
            printed, published, source = known.get(name, (None, None, ""))
            yield CalibrationRow(entry.name, world, name, printed, published, counted.get(name), source)


def stated(card: cards.Card) -> dict[str, tuple[float | str | None, float | str | None, str]]:
    """Printed and published values of a card by statistic, and their source."""
    known: dict[str, tuple[float | str | None, float | str | None, str]] = {}

    def add(statistic: str, printed: Any, published: Any, source: str) -> None:
        before = known.get(statistic, (None, None, ""))
        sources = dict.fromkeys(filter(None, (before[2], source)))
        ours = (printed, before[0]), (published, before[1])
        known[statistic] = (*(new if new is not None else old for new, old in ours), "; ".join(sources))  # type: ignore[assignment]

    for name, value in card.paper.items():
        if name != "table":
            add(name, value, None, str(card.paper.get("table", "")))
    for name, value in card.original.items():
        if name != "of":
            add(name, None, value, str(card.original.get("of", "")))
    for fact in card.known:
        add(fact.statistic, fact.printed, fact.published, fact.source)
    return known


def statistics(data: Data) -> dict[str, float]:
    """All that a card may state of a dataset, counted."""
    numbers = dict(data.statistics())
    if isinstance(data, Contingency):
        return numbers | _quantiles("count", data.counts)
    if not isinstance(data, Incidence | Records):
        return numbers
    columns = data.item_columns()
    sizes, counts = columns.row_sizes, columns.counts
    filled = sizes[sizes > 0]
    numbers |= {"used_rows": int(filled.size), "used_columns": int(np.count_nonzero(counts))}
    numbers |= _quantiles("row", filled) | _quantiles("count", counts[counts > 0])
    numbers |= {"largest_count": int(counts.max(initial=0))}
    numbers |= {"rows_of_one": int(np.sum(filled == 1)), "rows_below_10": int(np.sum(filled < 10))}
    relative = np.mean(1 / np.maximum(counts, SANITY * sizes.size))
    numbers |= {"lpa_mre_percent": float(100 * sizes.max(initial=0) / math.log(2) * relative)}
    sampled = weighed_counts(columns.indptr, columns.indices, counts, 1 / np.maximum(sizes, 1))
    for most in (20, 100):
        numbers[f"top_{most}_in_sample_percent"] = 100 * _found(counts, sampled, most)
    if isinstance(data, Records) and data.repeats:
        numbers["distinct_percent"] = 100 * data.incidence().ones / max(1, data.records)
    else:
        numbers["order"] = _order(counts)
    return numbers


def _quantiles(what: str, values: np.ndarray) -> dict[str, float]:
    shares = (0.25, 0.5, 0.75, 0.95)
    return {f"{what}_q{100 * q:.0f}": float(v) for q, v in zip(shares, np.quantile(values, shares), strict=True)}


def _found(counts: np.ndarray, sampled: np.ndarray, most: int) -> float:
    """The share of the most frequent columns that are also the most frequent in an average sample of one record per row."""
    most = min(most, counts.size)
    true, drawn = (np.argsort(-values, kind="stable")[:most] for values in (counts, sampled))
    return np.intersect1d(true, drawn).size / most


def _order(counts: np.ndarray) -> float:
    """Rank correlation of count and number over the columns in use."""
    from scipy.stats import spearmanr

    used = np.flatnonzero(counts)
    return float(spearmanr(used, counts[used])[0]) if used.size > 2 else 0.0
