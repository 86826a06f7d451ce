"""Compares the utility numbers of two code versions: what got worse, better, changed, is new or is gone.

With the same seed every trial must give the same numbers (`same_seed`); with another seed the distributions must be the same
(`new_seed`). In both cases the data and the numbers of every figure must be the same. Works on numbers only; runs nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from dpbench.gate.baselines import FIGURE, CellNumbers, ExperimentNumbers, FigureNumbers
from dpbench.gate.closeness import as_number, moved_rows
from dpbench.gate.entries import CHANGED, GONE, NEW, ColumnResult, MetricLookup, UtilityComparison, relative
from dpbench.gate.figure import CannotMake, figure_numbers
from dpbench.gate.new_seed import compare_new_seed
from dpbench.gate.same_seed import compare_same_seed


def compare(
    old: Mapping[str, ExperimentNumbers],
    new: Mapping[str, ExperimentNumbers],
    metrics_of: MetricLookup,
    *,
    same_seed: bool,
) -> UtilityComparison:
    """Compare all experiments of `old` with `new`. `same_seed`: both had the same noise, so their numbers must be equal."""
    comparison = UtilityComparison()
    cells: list[tuple[str, str, CellNumbers, CellNumbers]] = []
    for experiment in dict.fromkeys((*old, *new)):
        before, after = old.get(experiment), new.get(experiment)
        common = list(_cells(comparison, experiment, before, after))
        cells += common
        if before and after and common:  # without common cells, the figures show different things
            _compare_data(comparison, before, after)
            _compare_figure(comparison, before, after, same_seed)
    if same_seed:
        compare_same_seed(comparison, ((experiment, a, b) for experiment, _, a, b in cells), metrics_of)
    else:
        compare_new_seed(comparison, cells, metrics_of)
    return comparison


def _cells(
    comparison: UtilityComparison, experiment: str, before: ExperimentNumbers | None, after: ExperimentNumbers | None
) -> Iterator[tuple[str, str, CellNumbers, CellNumbers]]:
    """The cells that both have, with experiment and key; those that are new, gone or failed become entries."""
    keys = dict.fromkeys((*(before.cells if before else ()), *(after.cells if after else ())))
    for key in keys:
        a = before.cells.get(key) if before else None
        b = after.cells.get(key) if after else None
        failure = after.failures.get(key, "") if after else ""
        if a is not None and b is not None and not failure:
            yield experiment, key, a, b
            continue
        known = b if a is None else a
        assert known is not None
        status = NEW if a is None and not failure else GONE
        mechanism = str(known.labels.get("mechanism", ""))
        comparison.entries.append(ColumnResult(experiment, mechanism, "", known.labels, status, note=failure))


def _compare_data(comparison: UtilityComparison, before: ExperimentNumbers, after: ExperimentNumbers) -> None:
    for name, mark in after.data.items():
        if before.data.get(name, mark) != mark:
            note = "the data is not that of the baseline"
            comparison.groups.append(
                ColumnResult(after.experiment, "", f"data of {name}", {}, CHANGED, cells=0, note=note)
            )


def _compare_figure(
    comparison: UtilityComparison, before: ExperimentNumbers, after: ExperimentNumbers, same_seed: bool
) -> None:
    """With another seed, the current script is given the baseline's trials and must produce the same numbers."""
    old, new, problem = before.figure, after.figure, after.failures.get(FIGURE, "")
    if not same_seed and old is not None:
        try:
            new = figure_numbers(replace(before, run=after.run))
        except CannotMake as error:
            new, problem = None, str(error)
    if old is None and new is None and not problem:
        return
    if old is None or new is None:
        status = GONE if problem or new is None else NEW
        # Failed cells are reported separately. The figure needs them, so it is not compared.
        if status == NEW or problem or not after.failures:
            comparison.entries.append(
                ColumnResult(after.experiment, FIGURE, "", {FIGURE: "all numbers"}, status, note=problem)
            )
        return
    comparison.compared += len(old.columns) * len(old.rows)
    if len(old.rows) != len(new.rows):
        note = f"{len(old.rows)} rows, now {len(new.rows)}"
        comparison.groups.append(ColumnResult(after.experiment, FIGURE, "rows", {}, CHANGED, len(new.rows), note=note))
    for name in dict.fromkeys((*old.columns, *new.columns)):
        if name not in old.columns or name not in new.columns:
            status = NEW if name not in old.columns else GONE
            comparison.entries.append(ColumnResult(after.experiment, FIGURE, name, {FIGURE: name}, status))
        elif len(old.rows) == len(new.rows) and (rows := moved_rows(name, old, new)):
            comparison.groups.append(_moved_column(after.experiment, name, old, new, rows))


def _moved_column(experiment: str, name: str, old: FigureNumbers, new: FigureNumbers, rows: list[int]) -> ColumnResult:
    """The entry of a figure's column that moved; its note shows the row that moved most."""
    at, to = old.columns.index(name), new.columns.index(name)
    pairs = [(old.rows[i][at], new.rows[i][to]) for i in rows]
    numbers = [(as_number(x), as_number(y)) for x, y in pairs]
    most = max(range(len(rows)), key=lambda i: abs(relative(*numbers[i])) if numbers[i][0] == numbers[i][0] else 0.0)
    note = f"row {rows[most] + 1}: {pairs[most][0] or 'nothing'} -> {pairs[most][1] or 'nothing'}"
    entry = ColumnResult(experiment, FIGURE, name, {}, CHANGED, len(rows), note=note)
    entry.old, entry.new = numbers[most]
    return entry
