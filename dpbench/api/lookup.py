"""`dpbench.dataset` and `dpbench.task`: single objects by name, without a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dpbench.config import catalogue
from dpbench.config.catalogue import own_folders
from dpbench.config.dataset_entry import SCALES
from dpbench.config.entries import dataset_of
from dpbench.data import Data
from dpbench.errors import one_of
from dpbench.sources.cache import open_dataset
from dpbench.tasks.base import TASKS


def dataset(
    name: str, *, scale: str = "laptop", seed: int = 0, config_dir: Path | str | None = None, **parameters: Any
) -> Data:
    """A dataset by name, built or read once and then taken from the cache.

    `dataset("netflix", scale="smoke")` is generated; `dataset("movielens", source="files")` is read from what `data get`
    fetched; `dataset("table", path="visits.csv", user="who", item="place")` is your own.

    >>> import dpbench
    >>> dpbench.dataset("trajectory", scale="smoke")
    Incidence(62,956 rows x 1,402 columns, 61,043 ones, largest row 55)
    """
    one_of("scale", scale, SCALES)
    entry = catalogue.dataset(name, *own_folders(config_dir)).changed(parameters)
    if entry.path and entry.files and "source" not in parameters:
        entry = entry.from_files(entry.path)
    return open_dataset(dataset_of(entry, scale, seed)).data


def task(name: str, **parameters: Any) -> Any:
    """A task by name or dotted path: `task("column_counts", sanity=0.01)`; its `score` evaluates a release.

    >>> import dpbench
    >>> import numpy as np
    >>> data = dpbench.Incidence.from_rows([[0, 2], [1, 2, 3], [2]], columns=4)
    >>> release = dpbench.mechanism("zero").release(data, epsilon=1.0, rng=np.random.default_rng(7))
    >>> dpbench.task("column_counts").score(data, release, np.random.default_rng(8))["mae"]
    1.5
    """
    return TASKS.make(name, **parameters)
