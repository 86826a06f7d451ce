"""Compares the utility numbers of two code versions: what got worse, better, changed, is new or is gone.

With the same seed every trial must give the same numbers, up to a relative 1e-9 that libraries and processors may differ
by. What moved, and everything when the seeds differ, is judged statistically: worse or better needs both a significant
test, corrected over all tests made, and a minimum effect. Numbers in which noise has no part (statistics of the data, the
noise a calibration chooses) need no test: the effect alone decides. Knows numbers only; runs nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpbench.check.baselines import CellNumbers, Numbers
from dpbench.numerics.welch import ROUNDING, nearly_equal, welch
from dpbench.tasks.base import Metric

TOLERANCE = ROUNDING
ALPHA = 0.01
"""Chance that a comparison of equal code by fresh seeds says anything got worse or better at all."""
MIN_EFFECT = 0.05
"""Smallest relative move of a mean that counts as worse or better."""

SAME, CHANGED, BETTER, WORSE, NEW, GONE = "same", "changed", "better", "worse", "new", "gone"
ORDER = (WORSE, GONE, BETTER, CHANGED, NEW, SAME)


UNKNOWN = Metric("", "of a task that declares nothing")
Natures = Callable[[str, str], Metric | None]
"""What a metric is, by task and name; None where the task does not say."""


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

    @property
    def group(self) -> tuple[str, str, str, str]:
        """What its mechanism's cells have in common: they are judged together too."""
        return self.experiment, self.mechanism, str(self.labels.get("task", "")), self.metric


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


def compare(old: Mapping[str, Numbers], new: Mapping[str, Numbers], natures: Natures, *, same_seed: bool) -> Comparison:
    """Compare all experiments of `old` with `new`. `same_seed`: the noise was the same, so the numbers must be."""
    found = Comparison()
    moves: list[Move] = []
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
                moves += _moves(found, experiment, a, b, natures, same_seed)
    _judge(found, moves, same_seed)
    return found


@dataclass(frozen=True)
class Move:
    """A metric of a cell that may have moved: to be judged. `x` and `y` are its trials before and now."""

    entry: Entry
    x: np.ndarray
    y: np.ndarray
    nature: Metric


def _mechanism(cell: CellNumbers) -> str:
    return str(cell.labels.get("mechanism", ""))


def _moves(
    found: Comparison, experiment: str, a: CellNumbers, b: CellNumbers, natures: Natures, same_seed: bool
) -> Iterator[Move]:
    for metric in dict.fromkeys((*a.values, *b.values)):
        entry = Entry(experiment, _mechanism(a), metric, a.labels, SAME)
        found.entries.append(entry)
        if metric not in a.values or metric not in b.values:
            entry.status = NEW if metric not in a.values else GONE
            continue
        x, y = np.array(a.values[metric], dtype=float), np.array(b.values[metric], dtype=float)
        nature = natures(a.task, metric) or UNKNOWN
        if nature.noiseless and not same_seed:  # its one value, however many trials there were
            x = np.full(y.size, x[0])
        entry.old, entry.new = float(x.mean()), float(y.mean())
        if same_seed and x.size != y.size:
            entry.status, entry.note = GONE, f"{x.size} trials, now {y.size}"
            found.compared += x.size
        elif same_seed or nature.noiseless:
            found.compared += x.size
            if not close(x, y):
                yield Move(entry, x, y, nature)
        elif nature.direction and min(x.size, y.size) > 1:  # one trial under another seed says nothing
            found.compared += x.size
            yield Move(entry, x, y, nature)


def close(x: np.ndarray, y: np.ndarray) -> bool:
    """The same numbers but for the last digits. What is near zero is held against the largest trial."""
    both = np.isfinite(x) & np.isfinite(y)
    if not np.array_equal(x[~both], y[~both], equal_nan=True):
        return False
    size = np.abs(np.concatenate([x[both], y[both]])).max(initial=0.0)
    return bool(np.all(np.abs(x[both] - y[both]) <= TOLERANCE * size))


def _judge(found: Comparison, moves: list[Move], same_seed: bool) -> None:
    by_group: dict[tuple[str, ...], list[Move]] = {}
    tested: list[Entry] = []
    for move in moves:
        entry, way = move.entry, move.nature.direction
        entry.status = CHANGED if same_seed or move.nature.noiseless else SAME
        entry.effect = way * _relative(entry.old, entry.new)
        if _lost(move):
            entry.status, entry.note = WORSE if way else CHANGED, "no number any more"
        elif move.nature.noiseless:
            _decide(entry)
        elif way and np.isfinite([*move.x, *move.y]).all():
            entry.p = welch(move.x, move.y)
            tested.append(entry)
        by_group.setdefault(entry.group, []).append(move)
    for members in by_group.values():
        group = _group(members)
        found.groups.append(group)
        if members[0].nature.direction and not members[0].nature.noiseless:
            tested.append(group)
    for entry in holm(tested):
        _decide(entry)
    _inherit(found)


def _decide(entry: Entry) -> None:
    """What has surely moved is better or worse when it moved far enough."""
    if abs(entry.effect) >= MIN_EFFECT:
        entry.status = BETTER if entry.effect > 0 else WORSE


def _lost(move: Move) -> bool:
    """Whether there were numbers where there are none now: an error that is not even measurable is worse than any."""
    return bool(np.isfinite(move.x).all() and not np.isfinite(move.y).all())


def _group(members: list[Move]) -> Entry:
    """All cells of a mechanism together: far more power than one cell, where a fault is in all of them."""
    entries, nature = [move.entry for move in members], members[0].nature
    first = entries[0]
    pairs = np.concatenate([symmetric(move.x, move.y) for move in members])
    status = CHANGED if any(entry.status == CHANGED for entry in entries) else SAME
    labels = {"task": first.labels["task"]}
    group = Entry(first.experiment, first.mechanism, first.metric, labels, status, len(members))
    group.old = float(np.mean([entry.old for entry in entries]))
    group.new = float(np.mean([entry.new for entry in entries]))
    group.effect = nature.direction * float(pairs.mean()) if pairs.size else 0.0
    group.p = symmetric_test(pairs)
    return group


def _inherit(found: Comparison) -> None:
    """A group is no better than its worst cell, and is listed only when something moved in it."""
    worst: dict[tuple[str, ...], str] = {}
    for entry in found.entries:
        worst[entry.group] = min(worst.get(entry.group, SAME), entry.status, key=ORDER.index)
    for group in found.groups:
        group.status = min(group.status, worst[group.group], key=ORDER.index)
    found.groups = [group for group in found.groups if group.status != SAME]


def _relative(old: float, new: float) -> float:
    if old == new:
        return 0.0
    return (new - old) / abs(old) if old else math.copysign(math.inf, new)


def symmetric(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Relative differences of paired trials, between -2 and 2; symmetric around zero when both have one law. Pairs
    that are not both numbers say nothing here."""
    n = min(x.size, y.size)
    both = np.isfinite(x[:n]) & np.isfinite(y[:n])
    x, y = x[:n][both], y[:n][both]
    size = (np.abs(x) + np.abs(y)) / 2
    return np.divide(y - x, size, out=np.zeros(x.size), where=size > 0)


def symmetric_test(pairs: np.ndarray) -> float:
    """Two-sided p of the t test that the differences are around zero, at least the sign test's smallest p."""
    from scipy.stats import ttest_1samp

    if pairs.size < 2:
        return 1.0
    floor = 2.0 ** (1 - pairs.size)
    if np.ptp(pairs) == 0:
        return floor if pairs[0] else 1.0
    with nearly_equal():
        return max(float(ttest_1samp(pairs, 0.0).pvalue), floor)


def holm(entries: Iterable[Entry], alpha: float = ALPHA) -> Iterator[Entry]:
    """The entries that are significant together, by Holm's step-down rule."""
    ranked = sorted(entries, key=lambda entry: entry.p)
    for i, entry in enumerate(ranked):
        if entry.p > alpha / (len(ranked) - i):
            return
        yield entry
