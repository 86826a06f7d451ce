"""The numbers of an experiment's figure, computed by the experiment's own script from the trials that `check` holds.

A baseline holds all the trials that a script needs. A script can therefore be checked against its stored numbers even if the
run has another seed. All times are set to 1. Imported by `measure` and by the comparison of fresh seeds.
"""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dpbench.gate.baselines import FIGURE_DIGITS, CellNumbers, ExperimentNumbers, FigureNumbers
from dpbench.model.run import Run
from dpbench.storage.frame import (
    CHOSEN,
    DATA_SEED,
    DIAGNOSTIC,
    EXPECTED,
    METRIC,
    PAIRS,
    SECONDS,
    SETTING,
    TRIAL,
    joined,
)

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


class CannotMake(Exception):
    """The script cannot compute numbers from these trials."""


def figure_numbers(numbers: ExperimentNumbers) -> FigureNumbers | None:
    """The result of the script's `numbers()` on the trials; None if it has none."""
    from dpbench.figures.default import numbers as usual
    from dpbench.figures.draw import load_script, script

    if not numbers.cells:
        return None
    path = script(numbers.experiment)
    try:
        make = usual if path is None else load_script(path).numbers
        more = [_by_key(numbers)] if "run" in inspect.signature(make).parameters else []
        return _as_text(make(_frame(numbers), *more))
    except Exception as error:  # a script may be the user's own
        raise CannotMake(f"its script fails ({type(error).__name__}: {error})") from error


def _by_key(numbers: ExperimentNumbers) -> Run:
    """The run, with the keys of its settings in place of their ids, as in the trials here."""
    if numbers.run is None:
        raise ValueError("the run is not known")
    settings = tuple(replace(setting, id=setting.key) for setting in numbers.run.settings)
    return replace(numbers.run, settings=settings)


def _frame(numbers: ExperimentNumbers) -> pd.DataFrame:
    """The trials as `Run.trials()` gives them, all times 1."""
    labels = [{DATA_SEED: 0, **cell.labels, SETTING: key} for key, cell in numbers.cells.items()]
    return joined(labels, [_table(cell) for cell in numbers.cells.values()])


def _table(cell: CellNumbers) -> pa.Table:
    import pyarrow as pa

    sizes = [*map(len, cell.values.values()), *map(len, cell.words.values())]
    trials = max(sizes)
    columns: dict[str, Any] = {TRIAL: np.arange(trials), SECONDS: np.ones(trials)}
    for name, values in cell.values.items():
        if name in PAIRS:  # the odd trial of a pair holds its number
            whole: list[float | None] = [None] * trials
            whole[1::2] = values
            columns[METRIC + name] = pa.array(whole, pa.float64())
        else:
            columns[_stored(name)] = pa.array(values, pa.float64())
    for name, texts in cell.words.items():
        columns[_stored(name)] = texts
    return pa.table(columns)


def _stored(name: str) -> str:
    return name if name.startswith((EXPECTED, CHOSEN, DIAGNOSTIC)) else METRIC + name


def _as_text(frame: pd.DataFrame) -> FigureNumbers:
    rows = [[_text(value) for value in row] for row in frame.itertuples(index=False, name=None)]
    return FigureNumbers([str(name) for name in frame.columns], rows)


def _text(value: Any) -> str:
    if isinstance(value, float | np.floating):
        return "" if value != value else f"{value:.{FIGURE_DIGITS}g}"
    return "" if value is None else str(value)
