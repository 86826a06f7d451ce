"""A comparison in words and numbers: what moved, whether the build fails, and what to put into a commit message.

Imported by the verb `check` and by the writers of JUnit and Markdown, so that all of them say the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dpbench import __version__
from dpbench.gate.baselines import FIGURE, ExperimentNumbers
from dpbench.gate.entries import BETTER, CHANGED, GONE, NEW, ORDER, SAME, WORSE, ColumnResult, UtilityComparison
from dpbench.gate.faults import Fault, faults
from dpbench.model.verdict import describe

HEAD = (
    "",
    "mechanism",
    "experiment",
    "column",
    "worst cell",
    "baseline",
    "now",
    "change",
    "p",
    "also, and where it is",
)
MOST_LISTED = 20
"""Largest number of lines about what is new or gone in one experiment."""


@dataclass(frozen=True)
class GateOutcome:
    """A comparison, what it was made from, and what fails the build."""

    comparison: UtilityComparison
    old: Mapping[str, ExperimentNumbers]
    new: Mapping[str, ExperimentNumbers]
    bad: frozenset[str]
    """The statuses that fail the check."""
    seed: int | None = None
    """Seed of fresh noise; None: the noise of the baselines."""
    seconds: float = 0.0

    @property
    def wrong(self) -> list[str]:
        """The failing statuses that occur in this comparison, worst first."""
        return [status for status in ORDER if status in self.comparison.moved & self.bad]

    @property
    def passes(self) -> bool:
        """Whether the build passes. A check that compared nothing fails."""
        return bool(self.comparison.compared) and not self.wrong

    @property
    def verdict(self) -> str:
        if not self.comparison.compared:
            return "Nothing was measured that can be compared with the baselines: the check fails."
        return f"The check fails: {', '.join(self.wrong)}." if self.wrong else "The check passes."

    @property
    def moves(self) -> list[ColumnResult]:
        """What moved, worst first."""
        return sorted(self.comparison.groups, key=lambda g: (ORDER.index(g.status), g.experiment, g.mechanism))

    @property
    def counted(self) -> str:
        """How much was compared, and the result."""
        statuses = ", ".join(f"{self.comparison.count(s)} {s}" for s in (SAME, *ORDER[:-1]))
        cells = sum(len(body.cells) for body in self.new.values())
        experiments = "1 experiment" if len(self.new) == 1 else f"{len(self.new)} experiments"
        numbers = f"{cells} cells of {experiments}, {self.comparison.compared} numbers compared"
        return f"{numbers}; columns of cells: {statuses}."

    def listed(self, status: str) -> list[str]:
        """What is gone or new; a whole experiment is one line."""
        lines = []
        entries = [entry for entry in self.comparison.entries if entry.status == status]
        for experiment in dict.fromkeys(entry.experiment for entry in entries):
            mine = [entry for entry in entries if entry.experiment == experiment]
            if (experiment in self.old) != (experiment in self.new):
                lines.append(f"{experiment}, {len(mine)} cells")
                continue
            lines += [f"{experiment}: {_named(entry)}" for entry in mine[:MOST_LISTED]]
            lines += [f"{experiment}: and {len(mine) - MOST_LISTED} more"] if len(mine) > MOST_LISTED else []
        return lines

    @property
    def faults(self) -> list[Fault]:
        """What moved, folded by cause, worst first."""
        return faults(self.comparison, self.new)

    def rows(self) -> list[tuple[str, ...]]:
        """The table of faults: one row per cause, with the numbers of the cell that moved most. HEAD names the columns."""
        return [
            (
                fault.status,
                fault.worst.mechanism,
                fault.worst.experiment,
                fault.worst.metric,
                fault.worst.note or _shown(fault.worst.labels),
                shown_number(fault.worst.old),
                shown_number(fault.worst.new),
                shown_change(fault.worst),
                f"{fault.p:.1g}" if fault.p < 1 else "",
                "; ".join(filter(None, [fault.also, fault.source])),
            )
            for fault in self.faults
        ]

    def message(self, removed: Sequence[str] = ()) -> list[str]:
        """A template for the commit message: the largest moves, and a place for the reason."""
        lines = ["Baselines: <why the numbers moved>", ""]
        groups = sorted(self.comparison.groups, key=lambda g: (-abs(change(g)), g.experiment, g.mechanism, g.metric))
        lines += [_line(group) for group in groups[:MOST_LISTED]]
        lines += [f"and {len(groups) - MOST_LISTED} more"] if len(groups) > MOST_LISTED else []
        first = [name for name in self.new if name not in self.old]
        lines += [f"first numbers of {', '.join(first)}"] if first else []
        for status, word in ((NEW, "new"), (GONE, "no more")):
            entries = [e for e in self.comparison.entries if e.status == status and e.experiment not in first]
            lines += _by_experiment(word, [e for e in entries if e.experiment not in removed])
        lines += [f"removed: {', '.join(removed)}"] if removed else []
        return lines if len(lines) > 2 else ["Baselines: nothing moved"]


def as_json(outcome: GateOutcome) -> dict[str, Any]:
    """For programs. `moved`: one entry per column of a mechanism; `cells`: one per column of a cell."""
    comparison = outcome.comparison
    return {
        "version": __version__,
        "passes": outcome.passes,
        "verdict": outcome.verdict,
        "fails_on": [status for status in ORDER if status in outcome.bad],
        "seed": outcome.seed,
        "seconds": round(outcome.seconds, 3),
        "compared": comparison.compared,
        "columns": {status: comparison.count(status) for status in ORDER},
        "experiments": [
            {
                "experiment": name,
                "cells": len(body.cells),
                "trials": body.trials,
                "seconds": round(sum(cell.seconds for cell in body.cells.values()), 3),
                "failures": dict(body.failures),
            }
            for name, body in outcome.new.items()
        ],
        "moved": outcome.moves,
        "cells": [entry for entry in comparison.entries if entry.status != SAME],
    }


def failing(*, strict: bool, allow_better: bool) -> frozenset[str]:
    """The statuses that fail a check: every move; with `allow_better` only worse and gone; with `strict` also new numbers."""
    if allow_better:
        return frozenset({WORSE, GONE})
    return frozenset({WORSE, GONE, BETTER, CHANGED} | ({NEW} if strict else set()))


def change(entry: ColumnResult) -> float:
    """The relative move; 0 if there are no two numbers to compare, for example because the data changed."""
    moved = (entry.new - entry.old) / abs(entry.old) if entry.old else 0.0
    return moved if moved == moved else 0.0


def shown_change(entry: ColumnResult) -> str:
    if entry.old != entry.old or entry.new != entry.new:
        return ""
    if not entry.old:
        return "from 0" if entry.new else ""
    return f"{change(entry):+.2%}" if abs(change(entry)) < 10 else f"x{entry.new / entry.old:.3g}"


def shown_number(value: float, form: str = ".5g") -> str:
    return "" if value != value else format(value, form)


def _line(group: ColumnResult) -> str:
    numbers = f" {group.old:.4g} -> {group.new:.4g}" if group.old == group.old else ""
    counted = f"{group.cells} {'rows' if group.mechanism == FIGURE else 'cells'}" if group.cells else ""
    said = ", ".join(filter(None, [shown_change(group), group.status, counted]))
    words = " ".join(filter(None, [f"{group.experiment}:", group.mechanism, group.metric]))
    return f"{words}{numbers} ({said})"


def _by_experiment(word: str, entries: Sequence[ColumnResult]) -> list[str]:
    """New or vanished columns, by experiment: the names of a few, or the number of whole cells."""
    lines = []
    for experiment in dict.fromkeys(entry.experiment for entry in entries):
        mine = [entry for entry in entries if entry.experiment == experiment]
        names = list(dict.fromkeys(entry.metric for entry in mine if entry.metric))
        cells = sum(not entry.metric for entry in mine)
        parts = [f"{cells} cells"] if cells else []
        parts += (
            [", ".join(names[:6]) + (f" and {len(names) - 6} more columns" if len(names) > 6 else "")] if names else []
        )
        lines.append(f"{experiment}: {word}: {'; '.join(parts)}")
    return lines


def _named(entry: ColumnResult) -> str:
    more = f", {entry.metric}" if entry.metric and entry.metric not in entry.labels.values() else ""
    return f"{describe(entry.labels)}{more}{f' ({entry.note})' if entry.note else ''}"


def _shown(labels: Mapping[str, object]) -> str:
    return describe({k.rpartition(".")[2]: v for k, v in labels.items() if k not in ("mechanism", "task")})
