"""What moved, folded by cause: one line per mechanism, dataset or figure, with the cell that moved most and its own numbers.

A changed mechanism moves many columns of many experiments, and the figures made from them. Imported by `outcome`.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from dpbench.gate.baselines import FIGURE, ExperimentNumbers
from dpbench.gate.entries import GONE, NEW, ORDER, ColumnResult, UtilityComparison, relative
from dpbench.mechanisms.base import MECHANISMS


@dataclass(frozen=True)
class Fault:
    """All moves with one cause."""

    worst: ColumnResult
    """The cell that moved most, among the columns with the worst status."""
    status: str
    p: float
    """Of the column in which the worst cell is."""
    columns: int
    """Number of columns of mechanisms that moved."""
    experiments: tuple[str, ...]
    source: str = ""
    """File and line of the mechanism; empty for data and figures."""

    @property
    def also(self) -> str:
        """What else moved for the same reason."""
        parts = [f"{self.columns - 1} more columns"] if self.columns > 1 else []
        others = [name for name in self.experiments if name != self.worst.experiment]
        parts += [f"also in {', '.join(others[:3])}{f' and {len(others) - 3} more' if len(others) > 3 else ''}"] * bool(
            others
        )
        return "; ".join(parts)


def faults(comparison: UtilityComparison, new: Mapping[str, ExperimentNumbers]) -> list[Fault]:
    """One fault per cause, worst first. A figure of an experiment in which something else moved is a consequence."""
    moved = {group.experiment for group in comparison.groups if group.mechanism != FIGURE}
    causes: dict[tuple[str, ...], list[ColumnResult]] = {}
    for group in comparison.groups:
        if group.mechanism == FIGURE:
            if group.experiment not in moved:
                causes.setdefault((FIGURE, group.experiment), []).append(group)
        else:  # the data of a dataset, or a mechanism
            causes.setdefault((group.mechanism or group.metric,), []).append(group)
    folded = [_fault(comparison, groups, new) for groups in causes.values()]
    return sorted(folded, key=lambda fault: (ORDER.index(fault.status), fault.worst.experiment, fault.worst.mechanism))


def _fault(comparison: UtilityComparison, groups: list[ColumnResult], new: Mapping[str, ExperimentNumbers]) -> Fault:
    status = min((group.status for group in groups), key=ORDER.index)
    candidates = [
        (cell, group) for group in groups if group.status == status for cell in [*_cells(comparison, group)] or [group]
    ]
    worst, group = max(candidates, key=lambda pair: (bool(pair[0].effect), _size(pair[0])))
    experiments = tuple(dict.fromkeys(group.experiment for group in groups))
    return Fault(worst, status, group.p, len(groups), experiments, _source(worst, new))


def _cells(comparison: UtilityComparison, group: ColumnResult) -> Iterator[ColumnResult]:
    if group.mechanism == FIGURE or group.note or "dataset" in group.labels:
        return
    for entry in comparison.entries:
        if entry.group == group.group and entry.status not in (NEW, GONE):
            yield entry


def _size(cell: ColumnResult) -> float:
    moved = abs(relative(cell.old, cell.new))
    return moved if moved == moved else 0.0


def _source(worst: ColumnResult, new: Mapping[str, ExperimentNumbers]) -> str:
    """File and line of the mechanism's class, as an editor opens it."""
    run = new[worst.experiment].run if worst.experiment in new else None
    classes = {s.mechanism.name: s.mechanism.cls for s in run.settings} if run else {}
    if worst.mechanism not in classes:
        return ""
    try:
        cls = MECHANISMS.get(classes[worst.mechanism])
        file, (_, line) = Path(inspect.getsourcefile(cls) or ""), inspect.getsourcelines(cls)
    except (OSError, TypeError):  # a class without a file
        return ""
    return f"{file.relative_to(Path.cwd()) if file.is_relative_to(Path.cwd()) else file}:{line}"
