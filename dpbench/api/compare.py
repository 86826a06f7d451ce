"""`dpbench.compare(MyMechanism())`: the verb `compare`, for objects as well as names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dpbench.api import objects
from dpbench.config import catalogue
from dpbench.config.catalogue import own_folders
from dpbench.config.overrides import OverrideValue
from dpbench.data import Data
from dpbench.engine.progress import display
from dpbench.errors import UserError
from dpbench.mechanisms.base import MECHANISMS
from dpbench.ranking.entry import Comparison, Where
from dpbench.ranking.entry import compare as compared


def compare(
    mechanism: Any = None,
    *,
    scale: str = "smoke",
    dataset: Any = None,
    bound: int | None = None,
    metric: str = "",
    epsilon: Sequence[float | str] | float | str | None = None,
    experiment: str | None = None,
    results: Path | str = "results",
    jobs: int = -1,
    audit: bool = True,
    overrides: Mapping[str, OverrideValue] | None = None,
    config_dir: Path | str | Sequence[Path | str] | None = None,
    progress: bool | None = None,
) -> Comparison:
    """Your mechanism among those with its guarantee, on all datasets of the board, on some by name, or on your own data.

    Without a mechanism: all mechanisms of all boards on `dataset`, to find out which one to use there. `bound` declares how
    many columns one row of a data object may hold. `metric` ranks by another
    metric than the board's own, such as "mse". `.ranking()` of the result has one row per mechanism, `.numbers()` one per
    board, setting and mechanism; `.figure()` draws the board. `config_dir`: folders of your own YAML files, besides `./conf`.
    `progress` shows a bar (default: in a terminal or a notebook).
    """
    named, given = [], []
    for name, thing in [] if dataset is None else objects.named("dataset", dataset):
        if isinstance(thing, Data) or hasattr(thing, "shape"):
            given.append(objects.dataset(name or "data", thing))
        else:
            named.append(str(thing))
    if named and given:
        raise UserError("dataset: expected names or data objects, not both")
    if bound is not None and not given:
        raise UserError(f"bound={bound} has no effect without a data object: give dataset=your_data")
    catalogue.use(*own_folders(config_dir))
    named_or_none = mechanism is None or isinstance(mechanism, str)
    variant = mechanism if named_or_none else objects.variant("", mechanism, MECHANISMS)
    folder, changed = Path(results), overrides or {}
    where = Where(scale, named or None, tuple(given), epsilon, experiment, folder, jobs, changed, bound, metric)
    with display(progress) as shown:
        return compared(variant, where, audit=audit, progress=shown)
