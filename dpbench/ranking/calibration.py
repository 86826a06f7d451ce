"""Generator against original: the statistics of two datasets side by side, and the errors of mechanisms on each.

The generator is compared at a scale, and also with the sizes of the original, so that only its shape can differ. Imported by
the `data` verb; imports the registries, no mechanism by name.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from dpbench.config import catalogue
from dpbench.config.entries import axes, dataset_of
from dpbench.data import Catalogue, Contingency, Data, Incidence, Records, TopK
from dpbench.errors import UserError
from dpbench.mechanisms.base import MECHANISMS
from dpbench.model.setting import DECLARED, Dataset
from dpbench.sources.cache import make_source
from dpbench.tasks.base import TASKS

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95, 0.99)

MEASURES = {
    "incidence": ("column_counts", "mae"),
    "records": ("record_analytics", "mse"),
    "contingency": ("range_queries", "abs_error"),
    "catalogue": ("category_aggregates", "mae"),
}
"""Task and metric used to compare mechanisms on two datasets."""
RANKING = "leaderboard"
"""The task for mechanisms that only say which columns are the largest: its precision at the largest K is used."""


class Measured(NamedTuple):
    """The mean of a metric over some trials, and its standard error (nan for one trial)."""

    metric: str
    mean: float
    spread: float


def shapes(data: Data) -> dict[str, np.ndarray]:
    """The shape of a dataset: the size of each row, and the count of each column."""
    if isinstance(data, Incidence):
        return {"row size": data.row_sizes, "count of a column": data.counts}
    if isinstance(data, Records):
        return {"records of a user": data.user_sizes, "count of an item": data.counts}
    if isinstance(data, Contingency):
        counts = {"count of a non-zero cell": data.counts}
        if len(data.shape) == 2:
            counts["non-zero cells of a row"] = np.bincount(data.cells // data.shape[1], minlength=data.shape[0])
        return counts
    if isinstance(data, Catalogue):
        return {
            "items of a user": np.diff(data.history_ptr),
            "users of an item": np.bincount(data.histories, minlength=data.items),
            "categories of an item": np.diff(data.item_ptr),
        }
    return {}


def outline(values: np.ndarray) -> dict[str, float]:
    """A shape in a few numbers: how many values are zero, and the mean, the maximum and quantiles of the others."""
    filled = values[values > 0]
    if not filled.size:
        return {"number": values.size, "empty": values.size}
    numbers = {"number": values.size, "empty": int(values.size - filled.size), "mean": float(filled.mean())}
    numbers |= {f"{100 * q:g} %": float(v) for q, v in zip(QUANTILES, np.quantile(filled, QUANTILES), strict=True)}
    return numbers | {"largest": int(filled.max())}


def sizes_of(data: Data) -> dict[str, Any]:
    """The sizes of a dataset that can be passed to a generator, under the generators' parameter names."""
    if isinstance(data, Incidence | Records):
        sizes, counts = (values[values > 0] for values in shapes(data).values())
        users, items = (data.rows, data.columns) if isinstance(data, Incidence) else (data.users, data.n_items)
        total = int(counts.sum())
        return {
            **{"rows": users, "columns": items, "average": total / items},
            **{"users": users, "items": items, "records": total},
            **{"largest": int(sizes.max()), "smallest": int(sizes.min()), "row_least": int(sizes.min())},
            **{"count_least": int(counts.min()), "active": sizes.size / users, "used": counts.size / items},
            **{"top": float(counts.max() / sizes.size), "a mean": total / users},
        }
    if isinstance(data, Contingency):
        numbers = data.statistics()
        return {
            **{"density": numbers["density"], "mean": numbers["mean"], "a mean": numbers["mean"]},
            **{"largest": int(numbers["largest"])},
            **{"cells": data.size, "locations": data.shape[0], "shape": "x".join(map(str, data.shape))},
        }
    if isinstance(data, Catalogue):
        histories = np.diff(data.history_ptr)
        return {
            **{"items": data.items, "categories": data.categories, "widest": data.widest_item},
            **{"users": data.users, "largest": int(histories.max()), "smallest": int(histories.min())},
        }
    return {}


def matched(name: str, kind: str, data: Data) -> Dataset | None:
    """The generator of a dataset, with the sizes of `data` but its own shape; None if it has no such parameters."""
    entry = catalogue.dataset(name)
    if not entry.generator:
        return None
    base = dataset_of(entry.generated().changed({"kind": kind}), "paper")
    own = make_source(base)
    valid = {f.name for f in dataclasses.fields(own) if f.init}
    sizes = sizes_of(data)
    known = {key: value for key, value in sizes.items() if key in valid}
    mean = own.records / own.users if hasattr(own, "records") else getattr(own, "mean", None)  # type: ignore[attr-defined]
    for key in ("median", "upper"):  # absolute values, unlike other quantiles: they change with the mean
        if key in valid and mean and "a mean" in sizes:
            known[key] = max(1.0, getattr(own, key) * sizes["a mean"] / mean)
    return Dataset(name, base.source, {**base.params, **known}) if known else None


def mechanisms(kind: str) -> Iterator[tuple[str, Any]]:
    """Every mechanism that accepts this kind of data, as its YAML defines it; without the bounds that datasets declare."""
    for name in catalogue.options("mechanism"):
        entry = catalogue.mechanism(name)
        if DECLARED in entry.params.values():
            continue  # a user's data has no declared bound
        if kind in MECHANISMS.get(entry.cls).kinds:
            given = next(axes(entry.params))
            yield name, MECHANISMS.make(entry.cls, **{key: value for key, value in given.items() if value != DECLARED})


def errors(data: Data, epsilon: float, trials: int, seed: int = 0) -> dict[str, Measured | str]:
    """The error of each mechanism, or why it has none. The same seed gives the same numbers."""
    measured: dict[str, Measured | str] = {}
    for number, (name, mechanism) in enumerate(mechanisms(data.kind)):
        if reason := mechanism.unfit(data):
            measured[name] = reason
            continue
        scores = []
        try:
            for trial in range(trials):
                rng, task_rng = map(np.random.default_rng, np.random.SeedSequence([seed, number, trial]).spawn(2))
                release = mechanism.release(data, epsilon=epsilon, rng=rng)
                scores.append(_score(data, release, task_rng))
        except UserError as error:
            measured[name] = str(error)
            continue
        values = [value for _, value in scores]
        spread = float(np.std(values, ddof=1) / np.sqrt(trials)) if trials > 1 else float("nan")
        measured[name] = Measured(scores[0][0], float(np.mean(values)), spread)
    return measured


def _score(data: Data, release: Any, rng: np.random.Generator) -> tuple[str, float]:
    """The metric that fits a release, and its value."""
    if isinstance(release, TopK):
        precision = TASKS.make(RANKING).score(data, release, rng)
        if not precision:
            raise UserError(f"names only {release.top.size} columns, too few for a precision")
        return list(precision.items())[-1]
    task, metric = MEASURES[data.kind]
    return metric, float(TASKS.make(task).score(data, release, rng)[metric])
