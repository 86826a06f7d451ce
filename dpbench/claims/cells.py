"""Stored trials by setting, as the claims see them: labels, and each metric's mean with draws around it.

Metrics that a task gives by the size of its queries (`abs_error/200`) are found under the label `part`, the share of the
domain. Imported by the claims; reads frames only.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

DRAWS = 9999
PART = "part"
TOLD = ("chosen.", "diagnostic.")


@dataclass(frozen=True)
class Cell:
    """The trials of one setting: its labels, and the values of each metric; none where none is stored yet."""

    id: str
    labels: Mapping[str, Any]
    values: Mapping[str, np.ndarray]

    @property
    def trials(self) -> int:
        return len(next(iter(self.values.values()), ()))

    def _weights(self) -> np.ndarray:
        """One row a draw: how much each trial's deviation moves the mean in it.

        The same rows serve every metric of the cell, which keeps their correlation. A mean's draws have Student's
        distribution around the estimate, so that its quantiles are exactly the t interval.
        """
        rng = np.random.default_rng(zlib.crc32(self.id.encode()))
        n = self.trials
        normal = rng.standard_normal((DRAWS, n))
        spread = np.sqrt((n - 1) / rng.chisquare(n - 1, DRAWS))
        return normal * (spread / math.sqrt(n * (n - 1)))[:, None]

    def draws(self, metric: str) -> np.ndarray:
        values = self.values[metric]
        mean = values.mean()
        if self.trials == 1 or np.ptp(values) == 0:
            return np.full(DRAWS + 1, mean)
        return np.concatenate([[mean], mean + self._weights() @ (values - mean)])


def cells_of(frame: pd.DataFrame) -> list[Cell]:
    """The cells of a frame of trials. Metrics go by their plain names, what a release told by `chosen.NAME` and so on."""
    from dpbench.results.frame import METRIC, SECONDS, SETTING, TRIAL, metric_names

    told = [c for c in frame.columns if c.startswith(TOLD)]
    columns = {METRIC + name: name for name in metric_names(frame)} | {c: c for c in (SECONDS, *told)}
    numeric = list(frame[list(columns)].select_dtypes("number").columns)
    apart = {*columns, SETTING, TRIAL}
    labels = [c for c in frame.columns if c not in apart and not c.startswith(METRIC)]
    found = []
    for name, rows in frame.groupby(SETTING, sort=False):
        first = rows.iloc[0]
        values = {columns[c]: rows[c].to_numpy(dtype=float) for c in numeric if rows[c].notna().all()}
        values[SECONDS] = _warm(values[SECONDS])
        cell = Cell(str(name), {c: first[c] for c in labels if _given(first[c])}, values)
        found += [cell, *_parts(cell)]
    return found


def _parts(cell: Cell) -> Iterator[Cell]:
    """The same trials once more for each size of query, as a cell of its own. The largest size is the task's `upto`."""
    sized = {name: name.rpartition("/") for name in cell.values if name.rpartition("/")[2].isdigit()}
    sizes = sorted({int(size) for _, _, size in sized.values()})
    for size in sizes:
        part = float(f"{size / sizes[-1] * float(cell.labels.get('task.upto', 1)):.3g}")
        values = {metric: cell.values[name] for name, (metric, _, end) in sized.items() if int(end) == size}
        yield Cell(cell.id, {**cell.labels, PART: part}, values)


def _warm(seconds: np.ndarray) -> np.ndarray:
    """A first trial in a process also loads compiled code: times far above the others are not the mechanism's."""
    typical = np.median(seconds)
    return np.where(seconds > 3 * typical, typical, seconds)


def _given(value: Any) -> bool:
    return not (isinstance(value, float) and math.isnan(value))
