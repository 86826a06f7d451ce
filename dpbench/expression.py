"""Small expressions over stored trials, such as `mae(mechanism=gs) / mae(mechanism=lpa)`: what a claim measures.

Read with Python's grammar and evaluated by a short list of rules; nothing else of Python is reachable. A metric's name
called with selectors is its mean over the trials of the one cell that they leave. Every value is a row of draws: the
first is the estimate, the others say how far it may be off, so that intervals pass through any arithmetic. Metrics that a
task gives by the size of its queries (`abs_error/200`) are found under the label `part`, the share of the domain.
"""

from __future__ import annotations

import ast
import functools
import math
import operator
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from dpbench.errors import UserError, nearest
from dpbench.mechanisms.base import parse_epsilon

if TYPE_CHECKING:
    import pandas as pd

DRAWS = 9999
PART = "part"

OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
COMPARE = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    name: getattr(np, name) for name in ("exp", "expm1", "log", "log10", "log1p", "sqrt", "abs")
}
EXTREMES: dict[str, Callable[[Any, Any], Any]] = {"max": np.maximum, "min": np.minimum}
# expression over an axis -> one value; the values of the axis come along for the two that return one of them
OVER: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "least": lambda rows, _: rows.min(axis=0),
    "most": lambda rows, _: rows.max(axis=0),
    "average": lambda rows, _: rows.mean(axis=0),
    "argmin": lambda rows, values: values[rows.argmin(axis=0)],
    "argmax": lambda rows, values: values[rows.argmax(axis=0)],
}


class Missing(Exception):
    """The results do not hold what the expression asks for."""


@dataclass(frozen=True)
class Cell:
    """The trials of one setting: its labels, and the values of each metric."""

    id: str
    labels: Mapping[str, Any]
    values: Mapping[str, np.ndarray]

    @property
    def trials(self) -> int:
        return len(next(iter(self.values.values())))

    def _weights(self) -> np.ndarray:
        """One row a draw: how much each trial's deviation moves the mean in it.

        The same rows serve every metric of the cell, which keeps their correlation. A mean's draws have Student's
        distribution around the estimate, so that its quantiles are exactly the t interval.
        """
        rng = np.random.default_rng(zlib.crc32(self.id.encode()))
        n = self.trials
        normal = rng.standard_normal((DRAWS, n))
        spread = np.sqrt((n - 1) / rng.chisquare(n - 1, DRAWS))
        return normal * (spread / math.sqrt(n * (n - 1)))[:, None]

    def draws(self, metric: str) -> np.ndarray:
        values = self.values[metric]
        mean = values.mean()
        if self.trials == 1 or np.ptp(values) == 0:
            return np.full(DRAWS + 1, mean)
        return np.concatenate([[mean], mean + self._weights() @ (values - mean)])


def cells_of(frame: pd.DataFrame) -> list[Cell]:
    """The cells of a frame of trials."""
    from dpbench.engine.frame import metric_names

    metrics = [*metric_names(frame), "seconds", *(c for c in frame.columns if c.startswith("info."))]
    numeric = set(frame[metrics].select_dtypes("number").columns)
    labels = [c for c in frame.columns if c not in metrics and c not in ("cell", "trial")]
    found = []
    for name, rows in frame.groupby("cell", sort=False):
        first = rows.iloc[0]
        values = {m: rows[m].to_numpy(dtype=float) for m in metrics if m in numeric and rows[m].notna().all()}
        values["seconds"] = _warm(values["seconds"])
        cell = Cell(str(name), {c: first[c] for c in labels if _given(first[c])}, values)
        found += [cell, *_parts(cell)]
    return found


def _parts(cell: Cell) -> Iterator[Cell]:
    """The same trials once more for each size of query, as a cell of its own. The largest size is the task's `upto`."""
    sized = {name: name.rpartition("/") for name in cell.values if name.rpartition("/")[2].isdigit()}
    sizes = sorted({int(size) for _, _, size in sized.values()})
    for size in sizes:
        part = float(f"{size / sizes[-1] * float(cell.labels.get('task.upto', 1)):.3g}")
        values = {metric: cell.values[name] for name, (metric, _, end) in sized.items() if int(end) == size}
        yield Cell(cell.id, {**cell.labels, PART: part}, values)


def _warm(seconds: np.ndarray) -> np.ndarray:
    """A first trial in a process also loads compiled code: times far above the others are not the mechanism's."""
    typical = np.median(seconds)
    return np.where(seconds > 3 * typical, typical, seconds)


def _given(value: Any) -> bool:
    return not (isinstance(value, float) and math.isnan(value))


@dataclass
class Scope:
    """What an expression is evaluated in: the cells that are left, named numbers, and a record of what was used."""

    cells: list[Cell]
    numbers: Mapping[str, float] = field(default_factory=dict)
    used: dict[str, Cell] = field(default_factory=dict)

    def where(self, selectors: Mapping[str, Any]) -> Scope:
        """The same with fewer cells; what is used is recorded in one place."""
        left = [cell for cell in self.cells if all(_matches(cell, key, value) for key, value in selectors.items())]
        if not left:
            for key in selectors:
                if self.cells and all(_label(cell, key) is None for cell in self.cells):
                    raise Missing(f"no cell has a parameter {key!r}")
            raise Missing("no trials of " + ", ".join(f"{key}={value}" for key, value in selectors.items()))
        return Scope(left, self.numbers, self.used)

    def values(self, axis: str) -> list[Any]:
        """The distinct values of a label among the cells, in the plan's order; numbers alone where there are any."""
        found = {label: None for cell in self.cells if (label := _label(cell, axis)) is not None}
        if not found:
            raise Missing(f"no cell has a parameter {axis!r}")
        numbers = [v for v in found if not isinstance(v, str)]
        return numbers or list(found)

    def groups(self, axes: Iterable[str]) -> Iterator[dict[str, Any]]:
        """The distinct combinations of some labels among the cells."""
        seen: dict[tuple[Any, ...], None] = {}
        for cell in self.cells:
            values = tuple(_label(cell, axis) for axis in axes)
            if None not in values:
                seen[values] = None
        for values in seen:
            yield dict(zip(axes, values, strict=True))

    def mean(self, metric: str) -> np.ndarray:
        """A metric's mean in the one cell that is left."""
        with_it = [cell for cell in self.cells if metric in cell.values]
        if not with_it:
            known = {name for cell in self.cells for name in cell.values}
            raise Missing(f"no metric {metric!r} was stored: {nearest(metric, known)}")
        with_it = [cell for cell in with_it if PART not in cell.labels] or with_it
        if len(with_it) > 1:
            raise UserError(f"{metric}: {len(with_it)} cells are left, which differ in {', '.join(_differ(with_it))}")
        (cell,) = with_it
        self.used[cell.id] = cell
        return cell.draws(metric)


def _is(short: str, name: str) -> bool:
    """`l` stands for `mechanism.l`, `dataset.l` or `task.l`."""
    return name == short or name.partition(".")[2] == short


def _label(cell: Cell, key: str) -> Any:
    """A label, or else a metric that is the same in all trials: a fact about the data, such as `items`."""
    found = next((value for name, value in cell.labels.items() if _is(key, name)), None)
    if found is None and key in cell.values and np.ptp(cell.values[key]) == 0:
        return float(cell.values[key][0])
    return found


def _matches(cell: Cell, key: str, wanted: Any) -> bool:
    label = _label(cell, key)
    choices = wanted if isinstance(wanted, list | tuple) else [wanted]
    return label is not None and any(_fits(label, parse_epsilon(c) if key == "epsilon" else c) for c in choices)


def _fits(label: Any, wanted: Any) -> bool:
    """The same, or, for `>= 0.05` and its like, on the right side."""
    if isinstance(wanted, str) and (found := re.fullmatch(r"(<=|>=|<|>) *([-+.\de]+)", wanted)):
        return not isinstance(label, str) and COMPARE[found[1]](float(label), float(found[2]))
    return same(label, wanted)


def same(a: Any, b: Any) -> bool:
    """Equal as labels: numbers up to rounding, words by letter."""
    if isinstance(a, str) or isinstance(b, str):
        return str(a) == str(b)
    return math.isclose(float(a), float(b), rel_tol=1e-9)


def _differ(cells: list[Cell]) -> list[str]:
    names = dict.fromkeys(name for cell in cells for name in cell.labels)
    return [name for name in names if len({str(cell.labels.get(name)) for cell in cells}) > 1]


def evaluate(text: str, scope: Scope) -> np.ndarray:
    """The draws of an expression's value. UserError: it is not well formed; Missing: the results lack something."""
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except SyntaxError as error:
        raise UserError(f"cannot read the measure {text!r}: {error.msg}") from None
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.broadcast_to(np.asarray(_value(tree, scope), dtype=float), (DRAWS + 1,))


def _value(node: ast.expr, scope: Scope) -> Any:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return float(node.value)
    if isinstance(node, ast.Name):
        if node.id not in scope.numbers:
            raise UserError(f"unknown number {node.id!r}: {nearest(node.id, scope.numbers)}")
        return float(scope.numbers[node.id])
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_value(node.operand, scope)
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        return OPERATORS[type(node.op)](_value(node.left, scope), _value(node.right, scope))
    if isinstance(node, ast.Call):
        return _call(node, scope)
    raise UserError(f"{ast.unparse(node)!r} has no place in a measure")


def _call(node: ast.Call, scope: Scope) -> Any:
    name = ast.unparse(node.func)
    options = {k.arg: _word(k.value) for k in node.keywords if k.arg}
    if name in FUNCTIONS and len(node.args) == 1 and not options:
        return FUNCTIONS[name](_value(node.args[0], scope))
    if name in EXTREMES and node.args and not options:
        return functools.reduce(EXTREMES[name], [_value(argument, scope) for argument in node.args])
    if name in OVER and len(node.args) == 1 and set(options) == {"over"}:
        axis = scope.values(options["over"])
        if name.startswith("arg") and isinstance(axis[0], str):
            raise Missing(f"{options['over']} has no numbers here")
        rows = [_value(node.args[0], scope.where({options["over"]: value})) for value in axis]
        numbers = np.array(axis) if name.startswith("arg") else np.empty(0)
        return OVER[name](np.stack(rows), numbers)
    if name == "private" and len(node.args) == 1:
        return float(not _not_private(_word(node.args[0]), options))
    if name == "metric" and len(node.args) == 1:  # for names that are no Python names, such as abs_error/0.01
        name = str(_word(node.args[0]))
    elif node.args or not isinstance(node.func, ast.Name | ast.Attribute):
        raise UserError(
            f"{ast.unparse(node)!r}: expected METRIC(label=value, ...) or one of {', '.join((*FUNCTIONS, *OVER))}"
        )
    return scope.where(options).mean(name)


def _word(node: ast.expr) -> Any:
    """A selector's value: a bare word, a quoted one, a number."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return {"true": True, "false": False}.get(node.id, node.id)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
        return -node.operand.value  # type: ignore[operator]
    raise UserError(f"{ast.unparse(node)!r} is no label: expected a word or a number")


def _not_private(name: str, parameters: dict[str, Any]) -> str:
    """What a mechanism itself declares: why it is not private with these parameters."""
    from dpbench.mechanisms.base import MECHANISMS

    return str(MECHANISMS.make(name, **parameters).not_private())
