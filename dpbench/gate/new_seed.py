"""Judges cells that were run with different noise: their numbers differ, but their distributions must not.

Columns without noise must be equal. All others are tested by `permutation`, which is exact for any distribution: for a shift
and for a change of spread, in all cells of a mechanism together, in those of one experiment and in those of one dataset.
Cells must not share their noise, and trials must not repeat each other. A column with a significant result has moved; it is
worse or better if its metric has a direction and it moved far enough. Imported by `comparison`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from dpbench.gate.baselines import CellNumbers
from dpbench.gate.closeness import close, size_beside
from dpbench.gate.entries import (
    BETTER,
    CHANGED,
    ORDER,
    SAME,
    WORSE,
    ColumnResult,
    MetricLookup,
    UtilityComparison,
    metric_of,
    relative,
)
from dpbench.gate.permutation import FAR, PooledScores, dispersion, location, log_moments, p_value, shared_noise
from dpbench.gate.same_seed import columns, holm
from dpbench.model.metric import Metric
from dpbench.numerics.arrays import Floats
from dpbench.numerics.welch import ROUNDING
from dpbench.storage.frame import CHOSEN, DIAGNOSTIC, EXPECTED

ALPHA = 0.01
"""Bound of the probability that a comparison of unchanged code with fresh seeds reports any move. The p-values are upper
bounds too, about ten times the exact ones, so the actual probability is far smaller."""
TIMES_AS_MANY = 4
"""Trials of a fresh run for each trial of the baseline. A difference of means then has 0.79 times the standard deviation that
equal numbers of trials would give. More fresh trials never bring it below 0.71, because the baseline keeps its trials."""
FEWEST = 3
"""A chosen parameter that is constant in at least this many cells counts as free of noise."""
ENOUGH = 8
"""Smallest number of cells for a test of common noise."""

CellPair = tuple[str, str, CellNumbers, CellNumbers]
"""Experiment, key, before, now."""


@dataclass(frozen=True)
class TestedColumn:
    """One noisy column of one cell, with the scores of its trials."""

    entry: ColumnResult
    key: str
    declared: Metric
    x: Floats
    y: Floats
    sample: PooledScores
    kind: str
    """`mean` or `spread`: what the scores detect."""

    @property
    def column(self) -> tuple[str, ...]:
        """The column of the mechanism, over all experiments."""
        return self.entry.group[1:]


def compare_new_seed(comparison: UtilityComparison, cells: Iterable[CellPair], metrics_of: MetricLookup) -> None:
    """Add the results of the cells to a comparison."""
    cells = list(cells)
    fixed = _fixed(cells)
    tested: list[TestedColumn] = []
    for experiment, key, a, b in cells:
        for entry in columns(comparison, experiment, a, b):
            declared = metric_of(metrics_of, a.task, entry.metric)
            if entry.metric in a.words:
                if entry.group[1:] in fixed:
                    comparison.compared += 1
                    entry.status = SAME if a.words[entry.metric][0] == b.words[entry.metric][0] else CHANGED
                continue
            x, y = np.array(a.values[entry.metric], dtype=float), np.array(b.values[entry.metric], dtype=float)
            if x.size and y.size:
                entry.old, entry.new = float(x.mean()), float(y.mean())
            if declared.noiseless or entry.group[1:] in fixed:
                comparison.compared += 1
                _without_noise(entry, declared, x, y, size_beside(declared, a, b))
            else:
                tested += _prepared(entry, key, declared, x, y)
    unlike = [entry for entry in comparison.entries if entry.status in (CHANGED, WORSE, BETTER) and entry.metric]
    comparison.compared += sum(sample.x.size for sample in tested if sample.kind == "mean")
    comparison.groups += _first_of_each([*_together(tested), *_repeating(tested), *_common_noise(tested)])
    comparison.groups += _groups_of(unlike)


def _fixed(cells: list[CellPair]) -> set[tuple[str, ...]]:
    """The columns of `expected`, `chosen` and `diagnostic` that do not depend on noise: equal in all trials of every cell.

    A column that depends on noise varies in some cell. Integers may be equal by chance, so it takes several cells to tell;
    for other numbers one cell is enough.
    """
    counts: dict[tuple[str, ...], list[bool]] = {}
    for _, _, a, b in cells:
        mechanism_and_task = str(a.labels.get("mechanism", "")), str(a.labels.get("task", ""))
        for name in (*a.values, *a.words):
            if not name.startswith((EXPECTED, CHOSEN, DIAGNOSTIC)):
                continue
            pair = [cell.values.get(name) or cell.words.get(name) or [] for cell in (a, b)]
            if all(pair):
                whole = isinstance(pair[0][0], str) or float(pair[0][0]).is_integer()
                state = counts.setdefault((*mechanism_and_task, name), [])
                state += [_constant(pair[0]) and _constant(pair[1])] * (1 if whole else FEWEST)
    return {column for column, states in counts.items() if all(states) and len(states) >= FEWEST}


def _constant(values: list[float] | list[str]) -> bool:
    if isinstance(values[0], str):
        return len(set(values)) == 1
    numbers = np.array(values, dtype=float)
    return bool(np.isfinite(numbers).all()) and close(numbers, np.full(numbers.size, numbers[0]))


def _without_noise(entry: ColumnResult, declared: Metric, x: Floats, y: Floats, beside: float) -> None:
    """Compare a column that has the same value in all trials."""
    if not close(np.full(y.size, x[0]), y, beside):
        entry.effect = declared.direction * relative(float(x[0]), entry.new)
        entry.decide()


def _prepared(entry: ColumnResult, key: str, declared: Metric, x: Floats, y: Floats) -> list[TestedColumn]:
    if np.isfinite(x).all() and not np.isfinite(y).all():
        entry.status, entry.note = WORSE if declared.direction else CHANGED, "no longer a number"
    if min(x.size, y.size) < 2 or not np.isfinite([*x, *y]).all():
        return []  # one trial with another seed says nothing
    tested = [TestedColumn(entry, key, declared, x, y, location(x, y), "mean")]
    if not entry.metric.startswith((EXPECTED, CHOSEN, DIAGNOSTIC)):
        tested.append(TestedColumn(entry, key, declared, x, y, dispersion(x, y), "spread"))
    return tested


# Tests of several cells together.


def _together(tested: list[TestedColumn]) -> list[ColumnResult]:
    """The significant moves in all cells of a mechanism, of one experiment, of one dataset, or in a single cell."""
    moments = log_moments([sample.sample for sample in tested])
    families: dict[str, dict[tuple[str, ...], dict[str, int]]] = {}
    for i, sample in enumerate(tested):
        experiment, dataset = sample.entry.experiment, str(sample.entry.labels.get("dataset", ""))
        for family, member in (("", ""), ("experiment", experiment), ("dataset", dataset), ("cell", sample.key)):
            places = families.setdefault(family, {}).setdefault((*sample.column, sample.kind, member), {})
            places.setdefault(sample.key, i)  # a cell that several experiments share counts once
    significant: list[ColumnResult] = []
    for family, columns_of in families.items():
        judged = [_judged(tested, list(members.values()), moments) for members in columns_of.values()]
        for group in holm(judged, ALPHA / (len(families) + 1)):
            entry = _entry(group.members, family)
            entry.p = group.p
            entry.decide()
            significant.append(entry)
    return significant


@dataclass
class JudgedGroup:
    """Some cells of one column, and their joint p-value."""

    members: list[TestedColumn]
    p: float


def _judged(tested: list[TestedColumn], places: list[int], moments: Floats) -> JudgedGroup:
    members = [tested[i] for i in places]
    return JudgedGroup(members, p_value([sample.sample for sample in members], moments[places]))


def _entry(members: list[TestedColumn], family: str) -> ColumnResult:
    """The group of some cells of one column, before it is judged."""
    first = members[0]
    experiments = list(dict.fromkeys(sample.entry.experiment for sample in members))
    name = experiments[0] if len(experiments) == 1 else f"{len(experiments)} experiments"
    kept = {"dataset": ("task", "dataset"), "cell": tuple(first.entry.labels)}.get(family, ("task",))
    labels = {key: value for key, value in first.entry.labels.items() if key in kept}
    entry = ColumnResult(name, first.entry.mechanism, first.entry.metric, labels, SAME, len(members))
    entry.old = float(np.mean([sample.x.mean() for sample in members]))
    entry.new = float(np.mean([sample.y.mean() for sample in members]))
    if first.kind == "spread":
        entry.note = "the spread over trials"
        entry.old, entry.new = (float(np.mean([v.std(ddof=1) for v in side])) for side in _sides(members))
    else:
        entry.effect = first.declared.direction * _shift(members)
    return entry


def _sides(members: list[TestedColumn]) -> tuple[list[Floats], list[Floats]]:
    return [sample.x for sample in members], [sample.y for sample in members]


def _shift(members: list[TestedColumn]) -> float:
    """The relative move of the mean over cells, weighted towards cells with little spread."""
    moves, weights = [], []
    for sample in members:
        pooled = np.concatenate([sample.x, sample.y])
        if (pooled > 0).all():
            moves.append(float(np.log(sample.y).mean() - np.log(sample.x).mean()))
            weights.append(1.0 / max(FAR, float(np.log(pooled).std())) ** 2)
        elif np.abs(pooled).any():
            moves.append(float((sample.y.mean() - sample.x.mean()) / np.abs(pooled).mean()))
            weights.append(1.0)
    return math.expm1(float(np.average(moves, weights=weights))) if moves else 0.0


def _repeating(tested: list[TestedColumn]) -> list[ColumnResult]:
    """Errors that never repeated between trials, and now do in every cell: trials share their noise. (A precision has few
    values, which may repeat by chance.)"""
    repeated = []
    for members in _by_column(tested).values():
        continuous = members[0].declared.better == "lower" and not any(_tied(sample.x) for sample in members)
        if continuous and len(members) >= FEWEST and all(_tied(sample.y[: sample.x.size]) for sample in members):
            entry = _entry(members, "")
            entry.status, entry.p, entry.note = CHANGED, 0.0, "trials repeat each other"
            repeated.append(entry)
    return repeated


def _tied(values: Floats) -> bool:
    ranked = np.sort(values)
    return bool((np.diff(ranked) <= ROUNDING * np.abs(ranked).max()).any())


def _common_noise(tested: list[TestedColumn]) -> list[ColumnResult]:
    """Columns whose cells now rise and fall together, which they did not before: they share their noise."""
    groups = []
    for members in _by_column(tested).values():
        sizes = [(sample.x.size, sample.y.size) for sample in members]
        most = max(set(sizes), key=sizes.count)
        alike = [sample for sample, size in zip(members, sizes, strict=True) if size == most]
        if len(alike) >= ENOUGH:
            before, now = (shared_noise(np.stack(side)) for side in _sides(alike))
            groups.append(JudgedGroup(alike, 1.0 if before < ALPHA else now))
    shared = []
    for group in holm(groups, ALPHA / 5):
        entry = _entry(group.members, "")
        entry.status, entry.p, entry.effect, entry.note = CHANGED, group.p, 0.0, "cells share their noise"
        shared.append(entry)
    return shared


def _by_column(tested: list[TestedColumn]) -> Mapping[tuple[str, ...], list[TestedColumn]]:
    """The cells of each column; a cell that several experiments share is listed once."""
    by_column: dict[tuple[str, ...], dict[str, TestedColumn]] = {}
    for sample in tested:
        if sample.kind == "mean":
            by_column.setdefault(sample.column, {}).setdefault(sample.key, sample)
    return {column: list(cells.values()) for column, cells in by_column.items()}


# What is shown.


def _first_of_each(entries: list[ColumnResult]) -> list[ColumnResult]:
    """One finding per column of a mechanism: the worst and, among equally bad ones, the most significant."""
    best: dict[tuple[str, ...], ColumnResult] = {}
    for entry in sorted(entries, key=lambda entry: (ORDER.index(entry.status), entry.p)):
        best.setdefault(entry.group[1:], entry)
    return list(best.values())


def _groups_of(entries: list[ColumnResult]) -> list[ColumnResult]:
    """The cells of a column without noise, or without numbers, as one line."""
    groups: dict[tuple[str, ...], list[ColumnResult]] = {}
    for entry in entries:
        groups.setdefault(entry.group, []).append(entry)
    lines = []
    for members in groups.values():
        worst = min(members, key=lambda entry: ORDER.index(entry.status))
        labels = {"task": worst.labels.get("task", "")}
        group = ColumnResult(worst.experiment, worst.mechanism, worst.metric, labels, worst.status, len(members))
        group.old, group.new = (float(np.mean([getattr(e, side) for e in members])) for side in ("old", "new"))
        group.effect, group.note = worst.effect, worst.note
        lines.append(group)
    return lines
