"""Compares the numbers of a run with the record: exactly if seed, data and code are equal, statistically otherwise.

Imported by the verbs `reproduce` and `check`. Works on numbers only; runs nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from dpbench.gate.closeness import ERROR
from dpbench.gate.measure import is_time
from dpbench.gate.same_seed import holm
from dpbench.model.record import Record
from dpbench.reproduce.make_record import is_label
from dpbench.storage.record import RELEASED, as_recorded

TOLERANCE = 1e-9
"""Relative tolerance for numbers that the same code computes from the same seed."""
ALPHA = 0.01
"""Probability that a comparison of equal distributions with other seeds finds any difference."""
TRIALS = "trials"
"""The column with the number of trials behind a mean."""


@dataclass(frozen=True)
class Difference:
    """One number that differs from the record."""

    experiment: str
    where: str
    column: str
    recorded: float
    found: float
    p: float = 0.0
    """p-value of the test; 0 if the numbers should have been equal."""


@dataclass
class RecordComparison:
    """What a comparison of some experiments found."""

    exact: int = 0
    """Numbers that had to be equal."""
    tested: int = 0
    """Numbers that were tested."""
    untested: int = 0
    """Numbers without a standard error, which cannot be tested with other seeds."""
    differences: list[Difference] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    """Why an experiment could not be compared."""


@dataclass(frozen=True)
class Pair:
    """A run, as it would be recorded, and the record of the same experiment, each with its numbers."""

    run: Record
    numbers: pd.DataFrame
    record: Record
    recorded: pd.DataFrame


def compare(pairs: Iterable[Pair]) -> RecordComparison:
    """Compare runs with their records."""
    comparison = RecordComparison()
    tests: list[Difference] = []
    for pair in pairs:
        run, record, name = pair.run, pair.record, pair.run.experiment
        if run.scale != record.scale:
            comparison.problems.append(f"{name}: run at scale {run.scale}, recorded at scale {record.scale}")
            continue
        same = run.identity == record.identity
        ours, recorded = _aligned(as_recorded(pair.numbers), same), _aligned(pair.recorded, same)
        rows = recorded.index.intersection(ours.index)
        if gone := len(recorded.index.difference(ours.index)):
            comparison.problems.append(f"{name}: {gone} of {len(recorded)} recorded rows are not among its numbers")
        ours, recorded = ours.loc[rows], recorded.loc[rows]
        columns = [column for column in recorded.columns if column in ours.columns and not is_time(column)]
        if lost := [column for column in recorded.columns if column not in ours.columns]:
            comparison.problems.append(f"{name}: without the recorded columns {', '.join(lost)}")
        exact = _repeated(pair, ours, recorded)
        comparison.exact += int(exact.sum()) * len(columns)
        comparison.differences += _unequal(name, ours[exact], recorded[exact], columns)
        if not exact.all():
            ours, recorded = ours[~exact], recorded[~exact]
            measured = [column for column in columns if f"{column}{ERROR}" in columns]
            tests += list(_tests(name, ours, recorded, measured, (run.trials, record.trials)))
            unknown = [c for c in columns if c not in (*measured, TRIALS) and not c.endswith(ERROR)]
            comparison.untested += len(ours) * len(unknown)
    comparison.tested = len(tests)
    comparison.differences += holm(tests, ALPHA)
    return comparison


def _repeated(pair: Pair, ours: pd.DataFrame, recorded: pd.DataFrame) -> pd.Series:
    """Which rows must be equal: those of the same settings, with the same seed and as many trials."""
    run, record = pair.run, pair.record
    if TRIALS in ours and TRIALS in recorded:
        return (ours[TRIALS] == recorded[TRIALS]) & (run.identity == record.identity)
    return pd.Series((run.identity, run.trials) == (record.identity, record.trials), index=ours.index)


def _aligned(numbers: pd.DataFrame, same: bool) -> pd.DataFrame:
    """The numeric columns, indexed by the labels and, if rows share them, by their order. Released words are labels only if
    seed, data and code are the `same`, so that they must be equal too."""
    if not same:
        numbers = numbers[[column for column in numbers.columns if not str(column).startswith(RELEASED)]]
    labels = [str(column) for column in numbers.columns if is_label(str(column))]
    labels += [c for c in numbers.columns if c not in labels and not pd.api.types.is_numeric_dtype(numbers[c])]
    text = {label: [f"{v:.9g}" if isinstance(v, float) else str(v) for v in numbers[label]] for label in labels}
    shown = pd.DataFrame(text, index=numbers.index)
    key = shown.agg(", ".join, axis=1) if labels else pd.Series("", index=numbers.index)
    turn = key.groupby(key).cumcount()
    values = numbers[[c for c in numbers.columns if c not in labels]].astype(float)
    return values.set_axis(pd.MultiIndex.from_arrays([key, turn]), axis=0)


def _unequal(name: str, ours: pd.DataFrame, recorded: pd.DataFrame, columns: list[str]) -> Iterator[Difference]:
    for column in columns:
        x, y = ours[column].to_numpy(), recorded[column].to_numpy()
        # Values near zero by cancellation are compared relative to the largest finite one of their column.
        size = np.max(np.abs(y[np.isfinite(y)]), initial=0.0)
        close = np.isclose(x, y, rtol=TOLERANCE, atol=TOLERANCE * size * 1e-3, equal_nan=True)
        for row in np.flatnonzero(~close):
            yield Difference(name, str(ours.index[row][0]), column, float(y[row]), float(x[row]))


def _tests(
    name: str, ours: pd.DataFrame, recorded: pd.DataFrame, columns: list[str], trials: tuple[int, int]
) -> Iterator[Difference]:
    for column in columns:
        for row in ours.index:
            x, y = ours.at[row, column], recorded.at[row, column]
            a, b = ours.at[row, column + ERROR], recorded.at[row, column + ERROR]
            n, m = (
                int(frame.at[row, TRIALS]) if TRIALS in frame.columns else count
                for frame, count in zip((ours, recorded), trials, strict=True)
            )
            p = difference_p(x, a, n, y, b, m)
            if not math.isnan(p):
                yield Difference(name, str(row[0]), column, float(y), float(x), p)


def difference_p(x: float, x_error: float, n: int, y: float, y_error: float, m: int) -> float:
    """Two-sided p-value of Welch's test, from means, standard errors and numbers of trials; nan if undecidable."""
    from scipy.stats import t

    if n < 2 or m < 2 or not np.isfinite([x, x_error, y, y_error]).all():
        return math.nan
    spread = math.hypot(x_error, y_error)
    if spread <= TOLERANCE * max(abs(x), abs(y)):
        # All trials equal: use the exact permutation test, do not assume certainty.
        return 1.0 if math.isclose(x, y, rel_tol=TOLERANCE, abs_tol=1e-300) else 2.0 / math.comb(n + m, n)
    if min(x_error, y_error) <= TOLERANCE * spread:
        # No spread in one of the samples does not mean certainty: a rare event may not have occurred in it. The spread is then
        # that of both together, as in Student's test.
        variance = (n * (n - 1) * x_error**2 + m * (m - 1) * y_error**2) / (n + m - 2)
        return float(2 * t.sf(abs(x - y) / math.sqrt(variance * (1 / n + 1 / m)), n + m - 2))
    freedom = spread**4 / (x_error**4 / (n - 1) + y_error**4 / (m - 1))
    return float(2 * t.sf(abs(x - y) / spread, freedom))
