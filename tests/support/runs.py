"""Runs in memory, for tests of what reads them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from dpbench.model.run import Dataset, Run, Setting, Variant


def dataset(name: str, params: Mapping[str, Any] | None = None, *, original: bool = False) -> Dataset:
    return Dataset(name, "incidence", params or {}, kind="incidence", original=original)


def run(
    name: str, datasets: Iterable[Dataset], labels: Iterable[tuple[str, Mapping[str, Any]]] = (), **more: Any
) -> Run:
    """A run with these datasets: one setting for each, or one for each (id, labels of a cell)."""
    known = {use.name: use for use in datasets}
    described = list(labels) or [(f"{i:032x}", {"dataset": use.name}) for i, use in enumerate(known.values())]
    settings = tuple(
        Setting(
            known[str(label["dataset"])],
            Variant(str(label.get("mechanism", "lpa")), "lpa"),
            float(label.get("epsilon", 1.0)),
            Variant(str(label.get("task", "column_counts")), "column_counts"),
            key=id,
            id=id,
        )
        for id, label in described
    )
    return Run(
        **{"name": name, "experiment": name, "scale": "laptop", "repetitions": 20, "seed": 0, "settings": settings}
        | more
    )


LABELS = ("dataset", "mechanism", "epsilon", "task", "setting", "trial", "seconds")


def as_stored(frame: pd.DataFrame) -> pd.DataFrame:
    """A frame of trials whose metrics have plain names, as `Run.trials` gives it."""
    plain = [c for c in frame.columns if c not in LABELS and "." not in c]
    return frame.rename(columns={name: f"metric.{name}" for name in plain})
