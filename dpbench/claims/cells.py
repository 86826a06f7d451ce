"""Stored trials by setting, as the claims use them: labels, and what the trials say about the mean of each metric.

A metric that a task stores once per query size (`abs_error/200`) gets the label `part`: the query's share of the domain.
Settings that differ only in the seed of their generated data form one cell. Imported by the claims; reads frames only.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dpbench.claims import laws
from dpbench.claims.laws import DRAWS, ConfidenceDistribution

if TYPE_CHECKING:
    import pandas as pd

    from dpbench.model.metric import Metric

PART = "part"
SECONDS = "seconds"
TOLD = ("chosen.", "diagnostic.")
CALM = 0.5
"""Expected values that vary by more than this share of their mean are treated like sampled ones."""
BATCHES = 32
"""The trials of a cell are averaged in at most this many batches, to see how its metrics vary together."""


@dataclass(frozen=True)
class CellTrials:
    """The trials of one setting: its labels, and the values of each metric; empty if none is stored yet."""

    id: str
    labels: Mapping[str, Any]
    values: Mapping[str, np.ndarray]
    seeds: np.ndarray | None = None
    """The data seed of each trial, if the data was generated with several seeds."""
    on_draws: Mapping[str, int] = field(default_factory=dict)
    """For a cell on several draws of the data: the number of trials on each draw, by the id of the setting."""
    expected: frozenset[str] = frozenset()
    """The metrics whose values are expected ones, given all but the last noise of a release."""

    @property
    def stored(self) -> Mapping[str, int]:
        """How many trials are stored, by the id of the setting."""
        return self.on_draws or {self.id: self.trials}

    @property
    def trials(self) -> int:
        """Number of trials per draw of the data; the smallest if they differ."""
        return min(self.on_draws.values(), default=len(next(iter(self.values.values()), ())))

    @property
    def total(self) -> int:
        """Number of trials on all draws of the data."""
        return len(next(iter(self.values.values()), ()))

    @property
    def data_seeds(self) -> int:
        return 1 if self.seeds is None else len(np.unique(self.seeds))

    def law(self, metric: str, certain: bool = False, enough: int = 0) -> ConfidenceDistribution:
        """Where the mean of a metric may lie. `certain`: values that are equal in all trials have no noise.

        `enough`: with fewer trials, an error that was sampled may have disasters which none of them shows.
        """
        law = self._law(metric, certain)
        few = self.total < enough and not self.calm(metric) and not (law.certain or law.exact)
        return laws.unseen(law) if few and self._may_have_disasters(metric) else law

    def calm(self, metric: str) -> bool:
        """Whether rare disasters are not to be feared: the last noise is averaged out, and earlier choices matter little."""
        values = self.values[metric]
        return metric in self.expected and float(values.std()) <= CALM * abs(float(values.mean()))

    def _may_have_disasters(self, metric: str) -> bool:
        """Whether a metric is an error without a largest value. Times have no outliers here."""
        about = self._about(metric)
        if about is None:
            return metric != SECONDS and not metric.startswith(TOLD)
        return about.better == "lower" and about.largest is None and not about.noiseless

    def _law(self, metric: str, certain: bool) -> ConfidenceDistribution:
        values = self.values[metric]
        if len(values) == 1:
            return laws.known(float(values[0]))
        about = self._about(metric)
        largest = self._largest(about)
        if np.ptp(values) == 0:
            # Equal values do not prove certainty if only a few values are possible.
            if certain or metric in self.expected or (about is not None and about.noiseless):
                return laws.known(float(values[0]))
            return laws.unbounded(float(values[0])) if largest is None else laws.of_steps(values, largest)
        steps = laws.of_steps(values, largest) if largest is not None and laws.coarse(values) else None
        # An error is at least 0, and so is its mean: a ratio of two errors is never negative.
        error = metric == SECONDS or (about is not None and about.better == "lower")
        least = 0.0 if largest is not None or error else None
        if self.seeds is None:
            return steps or laws.of_mean(values, least, largest)
        spread = laws.of_mean(self.units(metric), least, largest, averaged=True)
        return laws.hull(spread, steps) if steps else spread

    def units(self, metric: str) -> np.ndarray:
        """The independent values: one per trial or, if the data was drawn several times, one mean per draw of the data."""
        values = self.values[metric]
        if self.seeds is None:
            return values
        return np.array([values[self.seeds == seed].mean() for seed in np.unique(self.seeds)])

    def _about(self, metric: str) -> Metric | None:
        from dpbench.tasks.base import TASKS

        task = self.labels.get("task")
        return TASKS.get(str(task)).metric(metric) if task is not None and str(task) in TASKS.names() else None

    def _largest(self, about: Metric | None) -> float | None:
        from dpbench.tasks.base import TASKS

        largest = None if about is None else about.largest
        if isinstance(largest, str):  # the name of a task's parameter; labels omit defaults
            given = self.labels.get(f"task.{largest}")
            largest = getattr(TASKS.get(str(self.labels["task"])), largest) if given is None else given
        return None if largest is None else float(largest)

    def ranks(self, metric: str, together: bool) -> np.ndarray:
        """The order of a metric's draws. `together`: in the order of the trials, so that metrics of one cell stay paired.

        Cells of one dataset share the seeds of their data, and therefore also this order.
        """
        seeded = self.seeds is not None
        if not (together or seeded):
            return _generator(f"{self.id}/{self.labels.get(PART)}/{metric}").permutation(DRAWS)
        units = self.units(metric)
        parts = np.array([part.mean() for part in np.array_split(units, min(len(units), BATCHES))])
        source = f"{self.labels.get('dataset')} by seed" if seeded else self.id
        weights = _generator(source).standard_normal((DRAWS, len(parts)))
        return np.argsort(np.argsort(weights @ (parts - parts.mean())))


def _generator(name: str) -> np.random.Generator:
    return np.random.default_rng(zlib.crc32(name.encode()))


def cells_of(frame: pd.DataFrame) -> list[CellTrials]:
    """The cells of a frame of trials. Metrics have their plain names, parameters of a release `chosen.NAME` and so on.

    The values of a metric are its expectations given all but the last noise, if every trial of the cell has them.
    """
    from dpbench.storage.frame import DATA_SEED, EXPECTED, METRIC, NAMED, SETTING, TRIAL, metric_names

    released = [c for c in frame.columns if c.startswith(TOLD)]
    columns = {METRIC + name: name for name in metric_names(frame)} | {c: c for c in (SECONDS, *released)}
    numeric = list(frame[list(columns)].select_dtypes("number").columns)
    apart = {*columns, SETTING, TRIAL, DATA_SEED}
    labels = [c for c in frame.columns if c not in apart and not c.startswith((METRIC, EXPECTED))]
    expected = {EXPECTED + name: name for name in metric_names(frame) if EXPECTED + name in frame}
    several = DATA_SEED in frame and frame[DATA_SEED].nunique() > 1
    cells = []
    by = labels if several else [column for column in NAMED if column in frame]
    for _, rows in frame.groupby(by, sort=False, dropna=False):
        first = rows.iloc[0]
        values = {columns[c]: rows[c].to_numpy(dtype=float) for c in numeric if rows[c].notna().all()}
        known = [c for c in expected if rows[c].notna().all()]
        values |= {expected[c]: rows[c].to_numpy(dtype=float) for c in known}
        values[SECONDS] = _warm(values[SECONDS])
        stored = {str(name): len(trials) for name, trials in rows.groupby(SETTING, sort=False)}
        given = {c: _plain(first[c]) for c in labels if _given(first[c])}
        cell = CellTrials(next(iter(stored)), given, values, expected=frozenset(expected[c] for c in known))
        if len(stored) > 1:
            cell = replace(cell, seeds=rows[DATA_SEED].to_numpy(), on_draws=stored)
        cells += [cell, *_parts(cell)]
    return cells


def _plain(label: Any) -> Any:
    """A label as Python's own type, which JSON knows."""
    return label.item() if isinstance(label, np.generic) else label


def _parts(cell: CellTrials) -> Iterator[CellTrials]:
    """The same trials once more for each size of query, as a separate cell. The largest size is the task's `upto`."""
    sized = {name: name.rpartition("/") for name in cell.values if name.rpartition("/")[2].isdigit()}
    sizes = sorted({int(size) for _, _, size in sized.values()})
    for size in sizes:
        part = float(f"{size / sizes[-1] * float(cell.labels.get('task.upto', 1)):.3g}")
        values = {metric: cell.values[name] for name, (metric, _, end) in sized.items() if int(end) == size}
        known = frozenset(
            metric for name, (metric, _, end) in sized.items() if int(end) == size and name in cell.expected
        )
        yield CellTrials(cell.id, {**cell.labels, PART: part}, values, cell.seeds, cell.on_draws, known)


def _warm(seconds: np.ndarray) -> np.ndarray:
    """Times without outliers: the first trial in a process also loads compiled code, which is not the mechanism's time."""
    typical = np.median(seconds)
    return np.where(seconds > 3 * typical, typical, seconds)


def _given(value: Any) -> bool:
    return not (isinstance(value, float) and math.isnan(value))
