"""A run or a record as a table for a paper: LaTeX with booktabs, or Markdown. Best values are bold within their board.

Imported by `Run.to_latex`, `Run.to_markdown` and the verb `figures`. Results only: directions of metrics are looked up among the
installed tasks, by name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpbench.figures import style
from dpbench.figures.draw import CannotDraw, notes, record_notes
from dpbench.model.record import Record
from dpbench.model.run import Run
from dpbench.registry import registry_of
from dpbench.storage import commands
from dpbench.storage.frame import PAIRS, metric_names
from dpbench.storage.numbers import MARK, plain, with_error

if TYPE_CHECKING:
    import pandas as pd

SHOWN = 2  # metrics, if the run does not say which
TEX = {
    "\\": r"\textbackslash{}",
    "ε": r"$\varepsilon$",
    "±": r"$\pm$",
    MARK: r"$^\dagger$",
    "√": r"$\surd$",
    "²": "$^2$",
}
TEX |= {letter: rf"\{letter}" for letter in "&%$#_{}"} | {"~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
TEX |= {
    "δ": r"$\delta$",
    "Δ": r"$\Delta$",
    "ρ": r"$\rho$",
    "θ": r"$\theta$",
    "≥": r"$\geq$",
    "≤": r"$\leq$",
    "₁": "$_1$",
}


@dataclass(frozen=True)
class TextTable:
    """Cells as they are read. `bold` holds the positions of the best values, `breaks` the rows before which a group begins."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    bold: frozenset[tuple[int, int]]
    breaks: frozenset[int]
    numbers: int
    """How many of the last columns hold numbers."""
    notes: tuple[str, ...]

    def latex(self) -> str:
        """A `table` environment; needs the package booktabs."""
        lines = [r"% \usepackage{booktabs}", r"\begin{table}", r"\centering", rf"\caption{{{_tex(self.title)}}}"]
        lines += [rf"\begin{{tabular}}{{{'l' * (len(self.heads) - self.numbers)}{'r' * self.numbers}}}", r"\toprule"]
        lines += [" & ".join(map(_tex, self.heads)) + r" \\", r"\midrule"]
        for number, row in enumerate(self.rows):
            lines += [r"\addlinespace"] if number in self.breaks else []
            cells = [rf"\textbf{{{_tex(c)}}}" if (number, i) in self.bold else _tex(c) for i, c in enumerate(row)]
            lines.append(" & ".join(cells) + r" \\")
        lines += [r"\bottomrule", r"\end{tabular}", r"\par\smallskip"]
        lines += [rf"{{\footnotesize {_tex(note)}\par}}" for note in self.notes]
        return "\n".join([*lines, r"\end{table}", ""])

    def markdown(self) -> str:
        """A table of GitHub's Markdown."""
        marks = ["---"] * (len(self.heads) - self.numbers) + ["---:"] * self.numbers
        lines = [f"**{self.title}**", "", _line(self.heads), _line(marks)]
        for number, row in enumerate(self.rows):
            lines.append(_line([f"**{c}**" if (number, i) in self.bold else c for i, c in enumerate(row)]))
        return "\n".join([*lines, "", *(f"{note}\n" for note in self.notes)])


def table_of(run: Run) -> TextTable:
    """The table of a run: one row per setting, the metrics that it shows."""
    summary = run.summary()
    if summary.empty:
        raise CannotDraw("no trial of it is finished")
    labels = [name for name in dict.fromkeys(n for s in run.settings for n in s.labels()) if name in summary]
    known = {_key(setting.labels(), labels): setting for setting in run.settings}
    settings = [known[_key(row, labels)] for row in summary.to_dict("records")]
    measured = [name for name in metric_names(run.trials()) if name in summary and name not in PAIRS]
    metrics = [name for name in run.metrics if name in summary] or measured[:SHOWN]
    boards = [f"{s.guarantee} {s.private}" for s in settings]
    marked = [bool(s.caveat) for s in settings]
    better = {name: _better([s.task.cls for s in settings], name) for name in metrics}
    if summary["task"].nunique() == 1:
        labels.remove("task")
    told = [*notes(run)[int(run.name != run.experiment) :], *commands.remarks(run)]
    return _table(run.title or run.name, summary, labels, metrics, boards, marked, better, told)


def table_of_record(record: Record, numbers: pd.DataFrame) -> TextTable:
    """The table of recorded numbers. Those without mechanisms, as from some scripts, are written as they are."""
    told = record_notes(record)
    title = record.title or record.experiment
    if not {"dataset", "mechanism", "epsilon"} <= {*numbers}:
        rows = tuple(tuple(_text(value) for value in row) for row in numbers.itertuples(index=False))
        return TextTable(title, tuple(numbers.columns), rows, frozenset(), frozenset(), 0, tuple(told))
    names = [str(name) for name in numbers["mechanism"]]
    metrics = [name for name in numbers if f"{name}_se" in numbers][:SHOWN]
    labels = [name for name in numbers if name in ("dataset", "mechanism", "epsilon") or "." in name]
    boards = [f"{getattr(style.mechanism(name), 'privacy', '')} {name in record.not_private}" for name in names]
    tasks = list(record.classes.get("task", ()))
    better = {name: _better(tasks, name) for name in metrics}
    marked = [name in record.not_private for name in names]
    return _table(title, numbers, labels, metrics, boards, marked, better, told)


def _table(
    title: str,
    frame: pd.DataFrame,
    labels: Sequence[str],
    metrics: Sequence[str],
    boards: Sequence[str],
    marked: Sequence[bool],
    better: dict[str, int],
    told: Sequence[str],
) -> TextTable:
    rows, groups = [], []
    for row, mark, board in zip(frame.to_dict("records"), marked, boards, strict=True):
        cells = [_text(row[name]) + (MARK if name == "mechanism" and mark else "") for name in labels]
        rows.append((*cells, *(with_error(row[name], row.get(f"{name}_se")) for name in metrics)))
        same = [_text(row[name]) for name in labels if not name.startswith("mechanism")]
        groups.append((board, *same))
    bold = set()
    for column, name in enumerate(metrics, start=len(labels)):
        values = frame[name].to_numpy()
        for group in set(groups):
            members = [i for i, other in enumerate(groups) if other == group and values[i] == values[i]]
            if len(members) > 1 and better[name]:
                best = max(members, key=lambda i: better[name] * values[i])
                bold |= {(i, column) for i in members if rows[i][column] == rows[best][column]}
    heads = [{"epsilon": "ε"}.get(name, name.rpartition(".")[2].replace("_", " ")) for name in (*labels, *metrics)]
    data = labels.index("dataset") if "dataset" in labels else 0
    breaks = {i for i in range(1, len(rows)) if rows[i][data] != rows[i - 1][data]}
    told = [*told, "bold: the best of those with the same guarantee"] if bold else told
    return TextTable(title, tuple(heads), tuple(rows), frozenset(bold), frozenset(breaks), len(metrics), tuple(told))


def _better(tasks: Sequence[str], metric: str) -> int:
    """-1: lower is better, 1: higher is better, 0: neither, or not known."""
    for task in tasks:
        declared = getattr(registry_of("dpbench.tasks").installed(task), "metric", None)
        if callable(declared) and (found := declared(metric)) is not None:
            return int(found.direction)
    return 0


def _key(row: Any, labels: Sequence[str]) -> tuple[str, ...]:
    return tuple(_text(row.get(name)) for name in labels)


def _text(value: Any) -> str:
    if value is None or value != value:
        return ""
    return plain(float(value), 4) if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


def _tex(text: str) -> str:
    code = re.sub(r"`([^`]*)`", r"\1", text)
    return "".join(TEX.get(letter, letter) for letter in code)


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"
