"""`dpbench.compare(MyMechanism())`: the verb `compare`, for objects as well as names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dpbench.api import objects
from dpbench.compare.newcomer import Comparison, Where
from dpbench.compare.newcomer import compare as compared
from dpbench.config import catalogue
from dpbench.config.folders import own_folders
from dpbench.config.words import Value
from dpbench.data import Data
from dpbench.errors import UserError
from dpbench.mechanisms.base import MECHANISMS


def compare(
    mechanism: Any = None,
    *,
    scale: str = "smoke",
    dataset: Any = None,
    bound: int | None = None,
    epsilon: Sequence[float | str] | float | str | None = None,
    experiment: str | None = None,
    results: Path | str = "results",
    jobs: int = -1,
    audit: bool = True,
    overrides: Mapping[str, Value] | None = None,
) -> Comparison:
    """Your mechanism among those with its guarantee, on all datasets of the board, on some by name, or on your own data.

    Without a mechanism: all mechanisms of all boards on `dataset`, to find out which one to use there. `bound` declares how
    many columns one row of a data object may hold. `.numbers()` of the result has one row per board, setting and mechanism;
    `.figure()` draws the board.
    """
    named, given = [], []
    for name, one in [] if dataset is None else objects.named("dataset", dataset):
        if isinstance(one, Data):
            given.append(replace(objects.dataset(name or "data", one), bound=bound))
        else:
            named.append(str(one))
    if named and given:
        raise UserError("dataset: expected names or data objects, not both")
    if bound is not None and not given:
        raise UserError(f"bound={bound} has no effect without a data object: give dataset=your_data")
    catalogue.use(*own_folders())
    variant = mechanism if mechanism is None or isinstance(mechanism, str) else _variant(mechanism)
    where = Where(scale, named or None, tuple(given), epsilon, experiment, Path(results), jobs, overrides or {})
    return compared(variant, where, audit=audit)


def _variant(mechanism: Any) -> Any:
    return objects.variant("", mechanism, MECHANISMS)
