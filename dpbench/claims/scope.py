"""Which cells a measure is about: selection by labels, and the one cell that remains. Imported by the expressions and the judge.

A selector is a value, a list of values, `>= 0.05` and its like, or null for cells without that label.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dpbench.claims.cells import PART, CellTrials
from dpbench.errors import UserError, nearest
from dpbench.mechanisms.base import parse_epsilon

COMPARE = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


class MissingResults(Exception):
    """The results lack what the expression needs."""


@dataclass
class Scope:
    """The context of an expression: the remaining cells, named numbers, and a record of what was used."""

    cells: list[CellTrials]
    numbers: Mapping[str, float] = field(default_factory=dict)
    used: dict[str, CellTrials] = field(default_factory=dict)
    noisy: dict[str, int] = field(default_factory=dict)
    """The number of trials of the used cells whose interval assumes that trials show what may happen."""
    expected: dict[str, None] = field(default_factory=dict)
    """The metrics of which expected values were used."""
    widened: dict[str, int] = field(default_factory=dict)
    """The number of trials of the used cells whose interval allows for a rare disaster that trials do not show."""

    def where(self, selectors: Mapping[str, Any]) -> Scope:
        """The same with fewer cells; the record of what was used is shared."""
        return self.any_of([selectors])

    def any_of(self, alternatives: Sequence[Mapping[str, Any]]) -> Scope:
        """The same with the cells that fit one of several alternatives."""
        left = [cell for cell in self.cells if any(fits(cell, choice) for choice in alternatives)]
        if not left:
            for key in dict.fromkeys(key for choice in alternatives for key in choice):
                if self.cells and all(_label(cell, key) is None for cell in self.cells):
                    raise MissingResults(f"no cell has a parameter {key!r}")
            raise MissingResults("no trials of " + " or ".join(map(_spelled, alternatives)))
        return replace(self, cells=left)

    def values(self, axis: str) -> list[Any]:
        """The distinct values of a label among the cells, in the plan's order; only numbers if there are any."""
        labels = {label: None for cell in self.cells if (label := _label(cell, axis)) is not None}
        if not labels:
            raise MissingResults(f"no cell has a parameter {axis!r}")
        numbers = [v for v in labels if not isinstance(v, str)]
        return numbers or list(labels)

    def groups(self, axes: Iterable[str]) -> Iterator[dict[str, Any]]:
        """The distinct combinations of some labels among the cells."""
        seen: dict[tuple[Any, ...], None] = {}
        for cell in self.cells:
            values = tuple(_label(cell, axis) for axis in axes)
            if None not in values:
                seen[values] = None
        for values in seen:
            yield dict(zip(axes, values, strict=True))

    def only(self, metric: str) -> CellTrials:
        """The only remaining cell that has a metric."""
        with_it = [cell for cell in self.cells if metric in cell.values]
        if not with_it and any(not cell.values for cell in self.cells):
            raise MissingResults("planned, and no trial is stored yet")
        if not with_it:
            known = {name for cell in self.cells for name in cell.values}
            raise MissingResults(f"no metric {metric!r} was stored: {nearest(metric, known)}")
        with_it = [cell for cell in with_it if PART not in cell.labels] or with_it
        if len(with_it) > 1:
            raise UserError(f"{metric}: {len(with_it)} cells are left, which differ in {', '.join(_differ(with_it))}")
        (cell,) = with_it
        self.used[cell.id] = cell
        return cell


def _is(short: str, name: str) -> bool:
    """`l` stands for `mechanism.l`, `dataset.l` or `task.l`."""
    return name == short or name.partition(".")[2] == short


def _label(cell: CellTrials, key: str) -> Any:
    """A label, or a metric that is equal in all trials: a fact about the data, such as `items`."""
    label = next((value for name, value in cell.labels.items() if _is(key, name)), None)
    if label is None and key in cell.values and np.ptp(cell.values[key]) == 0:
        return float(cell.values[key][0])
    return label


def fits(cell: CellTrials, selectors: Mapping[str, Any]) -> bool:
    """Whether a cell has all these labels; if a list is given for a label, one value of the list is enough."""
    return all(_matches(cell, key, value) for key, value in selectors.items())


def choices(wanted: Any) -> list[Any]:
    """The values a selector allows."""
    return list(wanted) if isinstance(wanted, list | tuple) else [wanted]


def _spelled(selectors: Mapping[str, Any]) -> str:
    return ", ".join(f"{key}={value}" for key, value in selectors.items())


def _matches(cell: CellTrials, key: str, wanted: Any) -> bool:
    label = _label(cell, key)
    if key == PART and not cell.values:
        return True  # a cell without trials is not yet split into parts
    if label is None:
        return None in choices(wanted)  # for mechanisms without this parameter
    given = [c for c in choices(wanted) if c is not None]
    return any(_fits(label, parse_epsilon(c) if key == "epsilon" else c) for c in given)


def _fits(label: Any, wanted: Any) -> bool:
    """Whether a label equals a value or, for `>= 0.05` and similar, satisfies it."""
    if isinstance(wanted, str) and (match := re.fullmatch(r"(<=|>=|<|>) *([-+.\de]+)", wanted)):
        try:
            bound = float(match[2])
        except ValueError:
            raise UserError(f"{wanted!r} is not valid: expected a number after {match[1]}") from None
        return not isinstance(label, str) and COMPARE[match[1]](float(label), bound)
    return same(label, wanted)


def same(a: Any, b: Any) -> bool:
    """Equal as labels: numbers up to rounding, words exactly."""
    if isinstance(a, str) or isinstance(b, str):
        return str(a) == str(b)
    return math.isclose(float(a), float(b), rel_tol=1e-9)


def _differ(cells: list[CellTrials]) -> list[str]:
    names = dict.fromkeys(name for cell in cells for name in cell.labels)
    return [name for name in names if len({str(cell.labels.get(name)) for cell in cells}) > 1]
