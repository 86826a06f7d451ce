"""A small dataset of each kind, and how to look at a release of it: what the contract test runs every mechanism on.

A new data kind adds an entry to `EXAMPLES`; a mechanism whose defaults do not suit, or that has several ways to go, adds
its parameters to `VARIANTS`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpbench import Incidence
from dpbench.data.catalogue import Catalogue
from dpbench.data.contingency import Contingency
from dpbench.data.records import Records
from dpbench.data.release import TopK


@dataclass(frozen=True)
class Example:
    """`numbers`: everything a release publishes, as arrays; `shapes`: what they must look like, None: nothing fixed
    (a release may hold only the first of them); `error`: one number that must fall as epsilon grows."""

    data: Callable[[], Any]
    numbers: Callable[[Any], list[np.ndarray]]
    shapes: Callable[[Any], list[tuple[int, ...]] | None]
    error: Callable[[Any, Any], float]


def incidence() -> Incidence:
    """80 rows, two of them empty, of at most 6 of 24 columns, the later columns the more popular."""
    rng = np.random.default_rng(3)
    popularity = np.arange(1, 25) ** 2.0
    sizes = [0, 0, 6, *rng.integers(1, 7, 77)]
    rows = [rng.choice(24, size, replace=False, p=popularity / popularity.sum()) for size in sizes]
    return Incidence.from_rows(rows, columns=24)


def records() -> Records:
    """60 users with 3 to 30 records of 8 items and 3 contexts; the later items the more popular, repeats allowed."""
    rng = np.random.default_rng(5)
    popularity = np.arange(1, 9) ** 2.0
    users = [rng.choice(8, size, p=popularity / popularity.sum()) for size in rng.integers(3, 31, 60)]
    return Records.from_rows([[(int(i), int(rng.integers(3))) for i in user] for user in users], items=8, contexts=3)


def records_once() -> Records:
    """60 users with 3 to 8 records of 8 items, none of them twice, and 3 contexts; the later items the more popular."""
    rng = np.random.default_rng(6)
    popularity = np.arange(1, 9) ** 2.0
    users = [rng.choice(8, size, replace=False, p=popularity / popularity.sum()) for size in rng.integers(3, 9, 60)]
    return Records.from_rows(
        [[(int(i), int(rng.integers(3))) for i in user] for user in users], items=8, contexts=3, repeats=False
    )


def catalogue() -> Catalogue:
    """200 items in one to three of 6 categories; 10 users with 5 to 60 of them."""
    rng = np.random.default_rng(7)
    matrix = np.zeros((200, 6), dtype=int)
    for row in matrix:
        row[rng.choice(6, rng.integers(1, 4), replace=False)] = 1
    return Catalogue.from_matrix(matrix, [rng.choice(200, size, replace=False) for size in rng.integers(5, 61, 10)])


def contingency() -> Contingency:
    """150 of 600 cells, as 20 x 30, with counts from 20 to 59."""
    rng = np.random.default_rng(9)
    counts = dict(zip(rng.choice(600, 150, replace=False).tolist(), rng.integers(20, 60, 150).tolist(), strict=True))
    return Contingency.from_dict(counts, shape=(20, 30))


def range_error(data: Contingency, release: Any) -> float:
    """Of twelve ranges of fifty cells."""
    lo = np.arange(0, 600, 50)
    return float(np.abs(release.sum(lo, lo + 50) - data.sum(lo, lo + 50)).sum())


def counts_of(release: Any) -> list[np.ndarray]:
    """Of a ranking of the largest columns there are no counts."""
    if isinstance(release, TopK):
        return [release.top]
    return [release.counts, *([] if release.edges is None else [release.edges])]


def count_error(data: Any, release: Any) -> float:
    """Of published counts their distance; of a list of the largest columns, what it misses of the true ones' counts."""
    if isinstance(release, TopK):
        best = np.sort(data.counts)[::-1][: int(release.chosen["k"])]
        return float(best.sum() - data.counts[release.top].sum())
    return float(np.abs(release.counts - data.counts).sum())


EXAMPLES: dict[str, Example] = {
    "incidence": Example(
        data=incidence,
        numbers=counts_of,
        shapes=lambda data: [(data.columns,)],
        error=count_error,
    ),
    "records": Example(
        data=records,
        numbers=counts_of,
        shapes=lambda data: [(data.n_items,), (data.n_items, data.n_contexts)],
        error=lambda data, release: float(np.abs(release.counts - data.counts).sum()),
    ),
}

EXAMPLES["catalogue"] = Example(
    data=catalogue,
    numbers=lambda release: [release.aggregates],
    shapes=lambda data: [(data.categories,)],
    error=lambda data, release: float(np.abs(release.aggregates - data.aggregates[release.user]).sum()),
)

EXAMPLES["contingency"] = Example(
    data=contingency,
    numbers=lambda release: [release.cells, release.weights],
    shapes=lambda data: None,
    error=range_error,
)

ONCE = {"knorm_counts", "gaussian_correlated"}
"""Mechanisms that take records only where no user holds an item more than once."""

CONSTANT = {"zero"}
"""Mechanisms that publish the same whatever the data, the budget and the noise."""


def example_of(name: str, kind: str) -> Example:
    """The example of a data kind for the mechanism of that name."""
    example = EXAMPLES[kind]
    return replace(example, data=records_once) if kind == "records" and name in ONCE else example


SAMPLING = [{"sampling": "column"}, {"sampling": "row"}, {"sampling": "none"}]

VARIANTS: dict[str, list[dict[str, Any]]] = {
    "lpa": [{}, {"bound": 40}],
    "fpa": [{}, {"rho": 5, "bound": 40}],
    "gs_r": [{}, {"bound": 100}],
    "gs_s": SAMPLING,
    "gs": [*SAMPLING, {"w": 5}],
    "gs_private": [{}, {"bound": 40, "sampling": "row"}],
    "dpsense": [{}, {"limit": "sample", "tight": True}, {"theta": 3}],
    "dpsense_s": [{}, {"limit": "sample", "tight": True, "bound": 9}],
    "pf_peeling": [{"k": 5}],
    "joint_topk": [{"k": 5}],
    "gumbel_topk": [{"k": 5}],
    "canonical_topk": [{"k": 5}],
    "discovery_topk": [{"k": 3, "bound": 6, "delta": 0.3}],
    "gumbel_topk_delta": [{"k": 5}, {"k": 1, "delta": 1e-9}],
    "gumbel_topk_unknown": [{"k": 3, "reach": 8, "delta": 0.3}],
    "gaussian_correlated": [{}, {"bound": 9, "delta": 1e-4}],
    "clipped_laplace": [{"bound": 40}, {"m": 3}],
    "clipped_gaussian": [{"bound": 40}, {"m": 3}],
    "geometric": [{}, {"transform": "dyadic"}, {"transform": "haar"}, {"transform": "dyadic_product"}],
    "filter": [
        {"theta": 12},
        {"two_sided": False},
        {"transform": "dyadic", "consistent": True},
        {"laborious": True},
        {"private_size": 0.2, "two_sided": False, "impute": "calibrated"},
    ],
    "threshold": [{}, {"tau": 40.5, "transform": "haar"}, {"laborious": True}, {"private_size": 0.2}],
    "priority": [{}, {"s": 50, "transform": "dyadic"}, {"laborious": True}, {"negatives": "zero", "private_size": 0.2}],
    "filter_priority": [{}, {"s": 40, "theta": 9, "laborious": True}, {"transform": "dyadic", "consistent": True}],
    "sketch": [{}, {"rows": 3, "combine": "median"}, {"transform": "dyadic", "buckets": 9999}, {"laborious": True}],
    "gshm": [{"delta": 1e-3}, {"transform": "dyadic", "delta": 1e-2}],
    "stability_laplace": [{}, {"k": 3, "delta": 0.05}],
    "gaussian_sketch": [{"rows": 3, "buckets": 400}, {"transform": "dyadic"}],
    "alp": [{}, {"largest": 60, "buckets": 600}, {"transform": "dyadic", "alpha": 3.0}],
    "dawa": [{}, {"share": 0.5}],
    "p_identity": [{}, {"workload": "prefixes"}],
    "aim": [{}, {"rounds": 4, "share": 0.5}],
    "s_dpdp": [{}, {"user": 4, "calibrated": False}],
}
