"""Compares the utility numbers of two code versions: what got worse, better, changed, is new or is gone.

With the same seed every trial must give the same numbers (`repeated`); with another seed the distributions must be the same
(`fresh`). In both cases the data and the numbers of every figure must be the same. Works on numbers only; runs nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from dpbench.check.baselines import FIGURE, CellNumbers, FigureNumbers, Numbers
from dpbench.check.closeness import as_number, moved_rows
from dpbench.check.entries import CHANGED, GONE, NEW, Comparison, Entry, Natures, relative
from dpbench.check.figure import CannotMake, figure_numbers
from dpbench.check.fresh import compare_fresh
from dpbench.check.repeated import compare_repeated


def compare(old: Mapping[str, Numbers], new: Mapping[str, Numbers], natures: Natures, *, same_seed: bool) -> Comparison:
    """Compare all experiments of `old` with `new`. `same_seed`: both had the same noise, so their numbers must be equal."""
    found = Comparison()
    cells: list[tuple[str, str, CellNumbers, CellNumbers]] = []
    for experiment in dict.fromkeys((*old, *new)):
        before, after = old.get(experiment), new.get(experiment)
        common = list(_cells(found, experiment, before, after))
        cells += common
        if before and after and common:  # without common cells, the figures show different things
            _compare_data(found, before, after)
            _compare_figure(found, before, after, same_seed)
    if same_seed:
        compare_repeated(found, ((experiment, a, b) for experiment, _, a, b in cells), natures)
    else:
        compare_fresh(found, cells, natures)
    return found


def _cells(
    found: Comparison, experiment: str, before: Numbers | None, after: Numbers | None
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
        found.entries.append(Entry(experiment, mechanism, "", known.labels, status, note=failure))


def _compare_data(found: Comparison, before: Numbers, after: Numbers) -> None:
    for name, mark in after.data.items():
        if before.data.get(name, mark) != mark:
            note = "the data is not that of the baseline"
            found.groups.append(Entry(after.experiment, "", f"data of {name}", {}, CHANGED, cells=0, note=note))


def _compare_figure(found: Comparison, before: Numbers, after: Numbers, same_seed: bool) -> None:
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
            found.entries.append(Entry(after.experiment, FIGURE, "", {FIGURE: "all numbers"}, status, note=problem))
        return
    found.compared += len(old.columns) * len(old.rows)
    if len(old.rows) != len(new.rows):
        note = f"{len(old.rows)} rows, now {len(new.rows)}"
        found.groups.append(Entry(after.experiment, FIGURE, "rows", {}, CHANGED, len(new.rows), note=note))
    for name in dict.fromkeys((*old.columns, *new.columns)):
        if name not in old.columns or name not in new.columns:
            status = NEW if name not in old.columns else GONE
            found.entries.append(Entry(after.experiment, FIGURE, name, {FIGURE: name}, status))
        elif len(old.rows) == len(new.rows) and (rows := moved_rows(name, old, new)):
            found.groups.append(_moved_column(after.experiment, name, old, new, rows))


def _moved_column(experiment: str, name: str, old: FigureNumbers, new: FigureNumbers, rows: list[int]) -> Entry:
    """The entry of a figure's column that moved; its note shows the row that moved most."""
    at, to = old.columns.index(name), new.columns.index(name)
    pairs = [(old.rows[i][at], new.rows[i][to]) for i in rows]
    numbers = [(as_number(x), as_number(y)) for x, y in pairs]
    most = max(range(len(rows)), key=lambda i: abs(relative(*numbers[i])) if numbers[i][0] == numbers[i][0] else 0.0)
    note = f"row {rows[most] + 1}: {pairs[most][0] or 'nothing'} -> {pairs[most][1] or 'nothing'}"
    entry = Entry(experiment, FIGURE, name, {}, CHANGED, len(rows), note=note)
    entry.old, entry.new = numbers[most]
    return entry
