"""Compares the utility numbers of two code versions: what got worse, better, changed, is new or is gone.

With the same seed every trial must give the same numbers, up to a relative 1e-9 that libraries and processors may differ
by. What moved, and everything when the seeds differ, is judged statistically: worse or better needs both a significant
test, corrected over all tests made, and a minimum effect. Knows numbers only; runs nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpbench.numerics.welch import welch
from dpbench.utility import CellNumbers, Numbers

TOLERANCE = 1e-9
ALPHA = 0.01
"""Chance that a comparison of equal code by fresh seeds says anything got worse or better at all."""
MIN_EFFECT = 0.05
"""Smallest relative move of a mean that counts as worse or better."""

SAME, CHANGED, BETTER, WORSE, NEW, GONE = "same", "changed", "better", "worse", "new", "gone"
ORDER = (WORSE, GONE, BETTER, CHANGED, NEW, SAME)

Direction = Callable[[str, str], int]
"""(task, metric) -> -1, 0 or 1: which way is better."""


@dataclass
class Entry:
    """One metric of one cell, or of all cells of a mechanism in an experiment (`cells` of them)."""

    experiment: str
    mechanism: str
    metric: str
    labels: Mapping[str, Any]
    status: str
    cells: int = 1
    old: float = math.nan
    new: float = math.nan
    effect: float = 0.0
    """Relative move, positive when it is an improvement."""
    p: float = 1.0
    note: str = ""


@dataclass
class Comparison:
    """All that was compared."""

    entries: list[Entry] = field(default_factory=list)
    """One a metric of a cell, or one for a cell that is new or gone."""
    groups: list[Entry] = field(default_factory=list)
    """One a metric of a mechanism in an experiment, where something moved."""
    compared: int = 0

    def count(self, status: str) -> int:
        return sum(entry.status == status for entry in self.entries)

    @property
    def moved(self) -> set[str]:
        """The statuses that occur besides `same`."""
        return {entry.status for entry in (*self.entries, *self.groups)} - {SAME}


def compare(
    old: Mapping[str, Numbers], new: Mapping[str, Numbers], direction: Direction, *, same_seed: bool
) -> Comparison:
    """Compare all experiments of `old` with `new`. `same_seed`: the noise was the same, so the numbers must be."""
    found = Comparison()
    tests: list[tuple[Entry, np.ndarray, np.ndarray]] = []
    for experiment in dict.fromkeys((*old, *new)):
        before, after = old.get(experiment), new.get(experiment)
        keys = dict.fromkeys((*(before.cells if before else ()), *(after.cells if after else ())))
        for key in keys:
            a = before.cells.get(key) if before else None
            b = after.cells.get(key) if after else None
            failure = after.failures.get(key, "") if after else ""
            if a is None or b is None or failure:
                known = b if a is None else a
                assert known is not None
                status = NEW if a is None and not failure else GONE
                found.entries.append(Entry(experiment, _mechanism(known), "", known.labels, status, note=failure))
            else:
                tests += list(_cell(found, experiment, a, b, same_seed))
    _judge(found, tests, direction_of(old, new, direction), same_seed)
    return found


def direction_of(
    old: Mapping[str, Numbers], new: Mapping[str, Numbers], direction: Direction
) -> Callable[[Entry], int]:
    """The direction of an entry's metric, by the task of its cells."""
    tasks = {
        (name, str(cell.labels["task"])): cell.task
        for numbers in (old, new)
        for name, body in numbers.items()
        for cell in body.cells.values()
    }
    return lambda entry: direction(tasks[entry.experiment, str(entry.labels["task"])], entry.metric)


def _mechanism(cell: CellNumbers) -> str:
    return str(cell.labels.get("mechanism", ""))


def _cell(
    found: Comparison, experiment: str, a: CellNumbers, b: CellNumbers, same_seed: bool
) -> Iterator[tuple[Entry, np.ndarray, np.ndarray]]:
    for metric in dict.fromkeys((*a.values, *b.values)):
        entry = Entry(experiment, _mechanism(a), metric, a.labels, SAME)
        found.entries.append(entry)
        if metric not in a.values or metric not in b.values:
            entry.status = NEW if metric not in a.values else GONE
            continue
        x, y = np.array(a.values[metric], dtype=float), np.array(b.values[metric], dtype=float)
        found.compared += x.size
        entry.old, entry.new = float(x.mean()), float(y.mean())
        if same_seed and x.size != y.size:
            entry.status, entry.note = GONE, f"{x.size} trials, now {y.size}"
        elif not (close(x, y) if same_seed else False):
            yield entry, x, y


def close(x: np.ndarray, y: np.ndarray) -> bool:
    """The same numbers but for the last digits. What is near zero is held against the largest trial."""
    both = np.isfinite(x) & np.isfinite(y)
    if not np.array_equal(x[~both], y[~both], equal_nan=True):
        return False
    size = np.abs(np.concatenate([x[both], y[both]])).max(initial=0.0)
    return bool(np.all(np.abs(x[both] - y[both]) <= TOLERANCE * size))


def _judge(
    found: Comparison,
    tests: list[tuple[Entry, np.ndarray, np.ndarray]],
    direction: Callable[[Entry], int],
    same_seed: bool,
) -> None:
    by_group: dict[tuple[str, str, str, str], list[tuple[Entry, np.ndarray, np.ndarray]]] = {}
    tested: list[Entry] = []
    for test in tests:
        entry, x, y = test
        if not same_seed and x.size == y.size == 1:
            continue  # one trial under another seed says nothing
        entry.status = CHANGED if same_seed else SAME
        way = direction(entry)
        entry.effect = way * _relative(entry.old, entry.new)
        if way == 0:
            if np.ptp(x) == np.ptp(y) == 0 and not close(x[:1], y[:1]):
                entry.status = CHANGED
            if entry.status == SAME:
                continue
        else:
            entry.p = welch(x, y)
            tested.append(entry)
        task = str(entry.labels["task"])
        by_group.setdefault((entry.experiment, entry.mechanism, task, entry.metric), []).append(test)
    for members in by_group.values():
        group = _group(members, direction)
        found.groups.append(group)
        if direction(group):
            tested.append(group)
    for entry in holm(tested):
        if abs(entry.effect) >= MIN_EFFECT:
            entry.status = BETTER if entry.effect > 0 else WORSE
    _inherit(found)


def _group(members: list[tuple[Entry, np.ndarray, np.ndarray]], direction: Callable[[Entry], int]) -> Entry:
    """All cells of a mechanism together: far more power than one cell, where a fault is in all of them."""
    first = members[0][0]
    pairs = np.concatenate([symmetric(x, y) for _, x, y in members])
    status = CHANGED if any(entry.status == CHANGED for entry, _, _ in members) else SAME
    labels = {"task": first.labels["task"]}
    group = Entry(first.experiment, first.mechanism, first.metric, labels, status, len(members))
    group.old = float(np.mean([entry.old for entry, _, _ in members]))
    group.new = float(np.mean([entry.new for entry, _, _ in members]))
    group.effect = direction(group) * float(pairs.mean())
    group.p = symmetric_test(pairs)
    return group


def _inherit(found: Comparison) -> None:
    """A group is no better than its worst cell, and is listed only when something moved in it."""
    worst: dict[tuple[str, str, str], str] = {}
    for entry in found.entries:
        key = (entry.experiment, entry.mechanism, entry.metric)
        worst[key] = min(worst.get(key, SAME), entry.status, key=ORDER.index)
    for group in found.groups:
        group.status = min(group.status, worst[group.experiment, group.mechanism, group.metric], key=ORDER.index)
    found.groups = [group for group in found.groups if group.status != SAME]


def _relative(old: float, new: float) -> float:
    if old == new:
        return 0.0
    return (new - old) / abs(old) if old else math.copysign(math.inf, new)


def symmetric(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Relative differences of paired trials, between -2 and 2; symmetric around zero when both have one law."""
    n = min(x.size, y.size)
    x, y = x[:n], y[:n]
    size = (np.abs(x) + np.abs(y)) / 2
    return np.divide(y - x, size, out=np.zeros(n), where=size > 0)


def symmetric_test(pairs: np.ndarray) -> float:
    """Two-sided p of the t test that the differences are around zero, at least the sign test's smallest p."""
    from scipy.special import stdtr

    n = pairs.size
    if n < 2:
        return 1.0
    mean, spread = float(pairs.mean()), float(pairs.std(ddof=1)) / math.sqrt(n)
    floor = 2.0 ** (1 - n)
    if spread == 0:
        return floor if mean else 1.0
    return max(float(2 * stdtr(n - 1, -abs(mean) / spread)), floor)


def holm(entries: Iterable[Entry], alpha: float = ALPHA) -> Iterator[Entry]:
    """The entries that are significant together, by Holm's step-down rule."""
    ranked = sorted(entries, key=lambda entry: entry.p)
    for i, entry in enumerate(ranked):
        if entry.p > alpha / (len(ranked) - i):
            return
        yield entry
