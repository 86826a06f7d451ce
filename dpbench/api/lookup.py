"""`dpbench.dataset`, `dpbench.task` and `dpbench.audit`: single objects by name, without a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpbench.config import catalogue
from dpbench.config.catalogue import own_folders
from dpbench.config.entries import dataset_of
from dpbench.data import Data
from dpbench.errors import UserError, one_of, positive
from dpbench.sources.cache import open_dataset
from dpbench.tasks.base import TASKS

if TYPE_CHECKING:
    import pandas as pd


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
    one_of("scale", scale, catalogue.SCALES)
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


def audit(
    mechanism: Any,
    *,
    epsilon: float | str = 1.0,
    delta: float | None = None,
    pairs: int | None = None,
    seconds: float | None = None,
    seed: int = 0,
) -> pd.DataFrame:
    """How much privacy a mechanism loses on pairs of neighbouring data, and whether it keeps its stated guarantee.

    `mechanism`: a name such as "lpa(bound=3)", a dotted path, an object or a class with `release`, or a list of these. One row
    per mechanism and method of auditing; `verdict` says what was found, `pair` and `step` where.

    >>> import dpbench
    >>> set(dpbench.audit("lpa(bound=3)", pairs=10)["verdict"])
    {'holds'}
    """
    import pandas as pd

    from dpbench.auditing.judge import Options, findings, given, named
    from dpbench.mechanisms.base import parse_epsilon

    if pairs is not None:
        positive("pairs", pairs, whole=True)
    if seconds is not None:
        positive("seconds", seconds)
    if delta is not None and not 0 <= delta < 1:
        raise UserError(f"delta={delta!r} is not valid: expected a number from 0 to below 1")
    listed: Sequence[Any] = mechanism if isinstance(mechanism, list | tuple) else [mechanism]
    catalogue.use(*own_folders())
    asked = [one for thing in listed for one in (named(thing) if isinstance(thing, str) else [given(thing)])]
    found = list(findings(asked, Options(parse_epsilon(epsilon), delta, pairs, seconds, seed)))
    return pd.DataFrame([vars(one) | {"violated": one.verdict == "violated"} for one in found])
