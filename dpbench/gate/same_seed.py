"""Judges cells that were run again with the same noise: every number must be the same.

A move is called worse or better if a test, corrected over all tests made, and a minimum effect say so; otherwise changed.
Numbers without noise need no test: the effect alone decides. Imported by `comparison`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np

from dpbench.gate.baselines import CellNumbers
from dpbench.gate.closeness import close, size_beside
from dpbench.gate.entries import (
    CHANGED,
    GONE,
    NEW,
    ORDER,
    SAME,
    WORSE,
    ColumnResult,
    MetricLookup,
    UtilityComparison,
    metric_of,
    relative,
)
from dpbench.model.metric import Metric
from dpbench.numerics.welch import nearly_equal, welch

ALPHA = 0.01
"""Probability that anything is called worse or better although the noise is only drawn in another order."""


@dataclass(frozen=True)
class Move:
    """A column of a cell that moved: to be judged. `x` and `y` are its trials before and now."""

    entry: ColumnResult
    x: np.ndarray
    y: np.ndarray
    declared: Metric


def compare_same_seed(
    comparison: UtilityComparison, cells: Iterable[tuple[str, CellNumbers, CellNumbers]], metrics_of: MetricLookup
) -> None:
    """Add the results of the cells (experiment, before, now) to a comparison."""
    judge(comparison, [move for experiment, a, b in cells for move in _moves(comparison, experiment, a, b, metrics_of)])


def _moves(
    comparison: UtilityComparison, experiment: str, a: CellNumbers, b: CellNumbers, metrics_of: MetricLookup
) -> Iterator[Move]:
    for entry in columns(comparison, experiment, a, b):
        metric = entry.metric
        if metric in a.words and metric in b.words:
            comparison.compared += len(a.words[metric])
            entry.status = SAME if a.words[metric] == b.words[metric] else CHANGED
            continue
        x, y = np.array(a.values[metric], dtype=float), np.array(b.values[metric], dtype=float)
        declared = metric_of(metrics_of, a.task, metric)
        comparison.compared += x.size
        if x.size != y.size:
            entry.status, entry.note = GONE, f"{x.size} numbers, now {y.size}"
            continue
        if x.size:
            entry.old, entry.new = float(x.mean()), float(y.mean())
        if not close(x, y, size_beside(declared, a, b)):
            yield Move(entry, x, y, declared)


def columns(comparison: UtilityComparison, experiment: str, a: CellNumbers, b: CellNumbers) -> Iterator[ColumnResult]:
    """Add an entry for every column, including new and vanished ones; yields those that both have."""
    for metric in dict.fromkeys((*a.values, *a.words, *b.values, *b.words)):
        entry = ColumnResult(experiment, str(a.labels.get("mechanism", "")), metric, a.labels, SAME)
        comparison.entries.append(entry)
        for kind, other in (("values", "words"), ("words", "values")):
            if metric in getattr(a, kind) and metric in getattr(b, other):
                entry.status, entry.note = CHANGED, f"was {kind}, now {other}"
        if entry.status != SAME:
            continue
        before, now = (metric in cell.values or metric in cell.words for cell in (a, b))
        if before and now:
            yield entry
        else:
            entry.status = GONE if before else NEW


def judge(comparison: UtilityComparison, moves: list[Move]) -> None:
    """Judge each move, and the moves of a mechanism together."""
    by_group: dict[tuple[str, ...], list[Move]] = {}
    tested: list[ColumnResult] = []
    for move in moves:
        entry, way = move.entry, move.declared.direction
        entry.status = CHANGED
        entry.effect = way * relative(entry.old, entry.new)
        if np.isfinite(move.x).all() and not np.isfinite(move.y).all():
            # An error that cannot be measured is worse than any other.
            entry.status, entry.note = WORSE if way else CHANGED, "no longer a number"
        elif move.declared.noiseless:
            entry.decide()
        elif way and np.isfinite([*move.x, *move.y]).all():
            entry.p = welch(move.x, move.y)
            tested.append(entry)
        by_group.setdefault(entry.group, []).append(move)
    groups = [_group(members) for members in by_group.values()]
    for group, members in zip(groups, by_group.values(), strict=True):
        if members[0].declared.direction and not members[0].declared.noiseless:
            tested.append(group)
    for entry in holm(tested, ALPHA):
        entry.decide()
    for group, members in zip(groups, by_group.values(), strict=True):
        worst = min((move.entry.status for move in members), key=ORDER.index)
        group.status = min(group.status, worst, key=ORDER.index)
    comparison.groups += groups


def _group(members: list[Move]) -> ColumnResult:
    """All cells of a mechanism together: far more power than one cell if a fault is in all of them."""
    entries, declared = [move.entry for move in members], members[0].declared
    first = entries[0]
    pairs = np.concatenate([symmetric(move.x, move.y) for move in members])
    labels = {"task": first.labels["task"]}
    group = ColumnResult(first.experiment, first.mechanism, first.metric, labels, CHANGED, len(members))
    group.old = float(np.mean([entry.old for entry in entries]))
    group.new = float(np.mean([entry.new for entry in entries]))
    group.effect = declared.direction * float(pairs.mean()) if pairs.size else 0.0
    group.p = symmetric_test(pairs)
    return group


def symmetric(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Relative differences of paired trials, between -2 and 2; symmetric around zero if both have the same distribution. Pairs
    that are not both numbers are ignored."""
    n = min(x.size, y.size)
    both = np.isfinite(x[:n]) & np.isfinite(y[:n])
    x, y = x[:n][both], y[:n][both]
    size = (np.abs(x) + np.abs(y)) / 2
    return np.divide(y - x, size, out=np.zeros(x.size), where=size > 0)


def symmetric_test(pairs: np.ndarray) -> float:
    """Two-sided p-value of the t test that the differences have mean zero; never below the smallest one of the sign test."""
    from scipy.stats import ttest_1samp

    if pairs.size < 2:
        return 1.0
    floor = 2.0 ** (1 - pairs.size)
    if np.ptp(pairs) == 0:
        return floor if pairs[0] else 1.0
    with nearly_equal():
        return max(float(ttest_1samp(pairs, 0.0).pvalue), floor)


class HasP(Protocol):
    """Anything with a p value."""

    @property
    def p(self) -> float: ...


T = TypeVar("T", bound=HasP)


def holm(tested: Iterable[T], alpha: float) -> Iterator[T]:
    """The significant ones, by Holm's step-down rule."""
    ranked = sorted(tested, key=lambda test: test.p)
    for i, test in enumerate(ranked):
        if test.p > alpha / (len(ranked) - i):
            return
        yield test
