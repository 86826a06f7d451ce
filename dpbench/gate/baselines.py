"""Utility numbers of one code version, and their files under results/baselines, made to be read as diffs.

`<experiment>.json` holds the trials, with one line per metric, `chosen` or `diagnostic` of a cell; `<experiment>.csv` holds the
numbers of the figure. Neither holds times. Imported by the rest of `check` and by its verb; runs nothing.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dpbench.errors import UserError
from dpbench.model.run import Run
from dpbench.storage.files import read_whole

DIGITS = 11
"""Significant digits of a trial's number: two more than the comparison needs."""
MOST_TRIALS = 1_000_000
"""Trials per cell: a file that states more is not ours, and would fill the memory."""
FIGURE_DIGITS = 7
"""Significant digits of a figure's number: more than any reader sees."""


@dataclass(frozen=True)
class CellNumbers:
    """The trials of one cell: its labels, the class that declares its metrics, and the trials of every column.

    A metric is stored under its own name, other columns as `chosen.NAME` and `diagnostic.NAME`. There is one number per trial, or
    one per pair of trials for metrics of pairs.
    """

    labels: Mapping[str, Any]
    task: str
    values: Mapping[str, list[float]]
    words: Mapping[str, list[str]] = field(default_factory=dict)
    """The columns that hold text, such as the titles in a ranking."""
    seconds: float = 0.0
    """Total time of its trials; never stored."""


@dataclass(frozen=True)
class FigureNumbers:
    """The table behind a figure, as text: numbers have seven digits."""

    columns: list[str]
    rows: list[list[str]]


@dataclass(frozen=True)
class ExperimentNumbers:
    """All cells of one experiment, and the numbers of its figure."""

    experiment: str
    cells: Mapping[str, CellNumbers]
    data: Mapping[str, str] = field(default_factory=dict)
    """Fingerprint of each dataset: distinguishes changed data from changed mechanisms."""
    figure: FigureNumbers | None = None
    trials: int = 0
    """Number of trials per cell."""
    failures: Mapping[str, str] = field(default_factory=dict)
    """Cells with failed trials, or FIGURE, and why; never stored."""
    run: Run | None = field(default=None, compare=False, repr=False)
    """The run, for scripts that need more than the trials; never stored."""


FIGURE = "figure"
"""Marks the figure in places where other entries name cells and mechanisms."""


# Reading.


PAPER_CELLS = "paper-cells"
"""The numbers of paper size, which only `--paper-cells` measures."""


def names(folder: Path) -> list[str]:
    """The experiments with stored numbers, without the cells of paper size."""
    stored = [path.relative_to(folder).with_suffix("").as_posix() for path in sorted(folder.glob("**/*.json"))]
    return [name for name in stored if name != PAPER_CELLS]


def load(folder: Path, experiments: Iterable[str] | None = None) -> dict[str, ExperimentNumbers]:
    """The stored numbers of these experiments (default: all)."""
    return {name: load_one(folder, name) for name in (names(folder) if experiments is None else experiments)}


def load_one(folder: Path, experiment: str) -> ExperimentNumbers:
    path = folder / f"{experiment}.json"
    try:
        body = json.loads(read_whole(path, links=True))
        trials = body["trials"]
        if type(trials) is not int or not 1 <= trials <= MOST_TRIALS:
            raise ValueError(f"trials is {trials!r}, not a number of trials")
        cells = {key: _cell(key, cell, trials) for key, cell in body["cells"].items()}
        data = dict(body["data"].items())
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError) as error:
        raise _no_baseline(path, error, experiment) from None
    return ExperimentNumbers(experiment, cells, data, _load_figure(folder, experiment), trials)


def _cell(key: str, body: Any, trials: int) -> CellNumbers:
    """Read a cell strictly: a baseline that was edited by hand must not pass as valid."""
    labels, task = body["labels"], body["task"]
    if not isinstance(labels, dict) or "task" not in labels or not isinstance(task, str):
        raise ValueError(f"cell {key} lacks its labels")
    if not isinstance(body["values"], dict) or not body["values"]:
        raise ValueError(f"cell {key} has no metrics")
    values = {name: _spread(key, name, given, trials, (int, float)) for name, given in body["values"].items()}
    words = {name: _spread(key, name, given, trials, (str,)) for name, given in body.get("words", {}).items()}
    return CellNumbers(labels, task, values, words)


def _spread(key: str, name: str, given: Any, trials: int, types: tuple[type, ...]) -> list[Any]:
    """One value per trial; a single stored value stands for all of them."""
    count = per_cell(name, trials)
    values = given if isinstance(given, list) else [given] * count
    # type() and not isinstance: bool is an int in Python, but not a metric.
    if len(values) != count or any(type(value) not in types for value in values):
        what = "numbers" if float in types else "words"
        raise ValueError(f"{name} of cell {key} is not a list of {count} {what}")
    if float in types:
        sum(map(float, values))  # OverflowError: a number that is no float
    return values


def per_cell(name: str, trials: int) -> int:
    """How many numbers a column has: one per trial, or one per complete pair of trials."""
    return trials // 2 if name.startswith("pair_") else trials


def _load_figure(folder: Path, experiment: str) -> FigureNumbers | None:
    path = folder / f"{experiment}.csv"
    if not path.is_file():
        return None
    try:
        columns, *rows = csv.reader(io.StringIO(read_whole(path, links=True).decode()), strict=True)
        if any(len(row) != len(columns) for row in rows):
            raise ValueError(f"expected {len(columns)} columns in every line")
    except (ValueError, csv.Error) as error:
        raise _no_baseline(path, error, experiment) from None
    return FigureNumbers(columns, rows)


def _no_baseline(path: Path, error: Exception, experiment: str) -> UserError:
    problem = f"{path} is not a baseline ({type(error).__name__}: {error})"
    return UserError(f"{problem}: restore it from git, or make it anew with check {experiment} --update")


# Writing.


def save(folder: Path, numbers: ExperimentNumbers) -> Path:
    """Written so that a changed column of a cell, or a changed row of a figure, is one changed line."""
    cells = []
    for key, cell in numbers.cells.items():
        parts = [f'"labels": {json.dumps(cell.labels, ensure_ascii=False)}', f'"task": {json.dumps(cell.task)}']
        parts.append(_columns("values", cell.values, _number))
        parts += (
            [_columns("words", cell.words, lambda word: json.dumps(word, ensure_ascii=False))] if cell.words else []
        )
        cells.append(f'  "{key}": {{{", ".join(parts)}}}')
    head = f'{{"trials": {numbers.trials},\n "data": {json.dumps(numbers.data)},\n "cells": {{\n'
    path = folder / f"{numbers.experiment}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(head + ",\n".join(cells) + "}}\n")
    table = folder / f"{numbers.experiment}.csv"
    if numbers.figure is None:
        table.unlink(missing_ok=True)
    else:
        with table.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([numbers.figure.columns, *numbers.figure.rows])
    return path


def _columns(title: str, columns: Mapping[str, Sequence[Any]], shown: Any) -> str:
    lines = []
    for name, values in columns.items():
        texts = [shown(value) for value in values]
        constant = texts and all(text == texts[0] for text in texts)
        lines.append(f"   {json.dumps(name)}: {texts[0] if constant else '[' + ', '.join(texts) + ']'}")
    return f'"{title}": {{\n' + ",\n".join(lines) + "}"


def _number(value: float) -> str:
    # NaN and Infinity as Python's json reads them back.
    return f"{value:.{DIGITS}g}".replace("inf", "Infinity") if value == value else "NaN"


def forget(folder: Path, known: set[str]) -> list[str]:
    """Remove the files of experiments that no longer exist."""
    gone = [name for name in names(folder) if name not in known]
    for name in gone:
        (folder / f"{name}.json").unlink()
        (folder / f"{name}.csv").unlink(missing_ok=True)
    return gone
