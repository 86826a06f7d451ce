"""Small expressions over stored trials, such as `mae(mechanism=gs) / mae(mechanism=lpa)`: what a claim measures.

Parsed with Python's grammar and evaluated by a short list of rules; nothing else of Python is reachable. A metric's name
called with selectors is its mean over the trials of the one cell that they select. Imported by the ledger and the judge.
"""

from __future__ import annotations

import ast
import math
import operator
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpbench.claims import laws
from dpbench.claims.cells import PART
from dpbench.claims.scope import MissingResults, Scope
from dpbench.claims.values import Spending, UncertainNumber, average, combine, extreme, folded, place
from dpbench.errors import UserError, unknown

OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
MOST_LETTERS, MOST_DEPTH = 1000, 40  # the longest measure in our ledger has 110 letters
RISING: dict[str, Callable[[Any], Any]] = {
    name: getattr(np, name) for name in ("exp", "expm1", "log", "log10", "log1p", "sqrt")
}
EXTREMES: dict[str, Callable[[Any], Any]] = {"max": np.max, "min": np.min}
TAIL = "tail"
OVER = ("least", "most", "average", "argmin", "argmax")
ERROR = 0.05
"""Error probability of an interval."""

Leaf = tuple[str, Any, str]
"""Identifies a mean that a measure uses: the cell, the part of the domain, and the metric."""


@dataclass(frozen=True)
class Interval:
    """A measure and its interval."""

    value: float
    low: float
    high: float


@dataclass
class _Reading:
    """One evaluation of a measure: its error budget, and which means it has used."""

    spend: Spending
    leaves: set[Leaf]
    certain: frozenset[str]
    enough: int
    """With fewer trials, a sampled error may have a tail that they do not show."""
    final: bool = False


def parse(text: str) -> ast.expr:
    """The tree of a measure, of bounded size. UserError if it is malformed or too large."""
    if not isinstance(text, str):
        raise UserError(f"the measure {text!r} is not valid: expected an expression such as mae() / 2")
    if len(text) > MOST_LETTERS:
        raise UserError(f"the measure {text[:30]!r}... is too long: expected at most {MOST_LETTERS} letters")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python's warnings about code such as `1 is 1`
            tree = ast.parse(text.strip(), mode="eval").body
    except SyntaxError as error:
        raise UserError(f"cannot read the measure {text!r}: {error.msg}") from None
    except (ValueError, RecursionError, MemoryError):
        raise UserError(f"cannot read the measure {text[:30]!r}...: it is nested too deeply") from None
    level, depth = [tree], 0
    while level:  # a loop, because deep nesting would exceed Python's recursion limit
        depth += 1
        if depth > MOST_DEPTH:
            raise UserError(f"the measure {text[:30]!r}... is nested too deeply: expected at most {MOST_DEPTH} levels")
        level = [child for node in level for child in ast.iter_child_nodes(node)]  # type: ignore[misc]
    return tree


def evaluate_at(
    text: str, scope: Scope, errors: Sequence[float], certain: frozenset[str] = frozenset(), enough: int = 0
) -> list[Interval]:
    """The intervals of an expression's value, one per allowed error. UserError: it is malformed. MissingResults: the results lack
    something.

    `certain`: the metrics that have no noise if they are equal in all trials. `enough`: see `CellTrials.law`.
    """
    tree = parse(text)
    # Stored numbers may be infinite or undefined; such a number decides nothing.
    with np.errstate(all="ignore"):
        first = _Reading(Spending(errors[0]), set(), certain, enough)
        value = _value(tree, scope, first)
        if not isinstance(value, UncertainNumber):
            return [Interval(value, value, value) for _ in errors]
        choices = first.spend.count
        intervals: list[Interval] = []
        for error in errors:
            if not intervals or choices:  # if the measure chooses nothing, the same draws serve every error
                spend = Spending(error, max(1, choices))
                value = _value(tree, scope, _Reading(spend, first.leaves, certain, enough, final=True))
            intervals.append(Interval(value.point, *value.interval(error)))
        return intervals


def _value(node: ast.expr, scope: Scope, reading: _Reading) -> Any:
    """A plain number, or an `UncertainNumber` if it depends on stored trials."""
    if isinstance(node, ast.Constant):
        return _number(node)
    if isinstance(node, ast.Name):
        if node.id not in scope.numbers:
            raise unknown("number", node.id, scope.numbers)
        return float(scope.numbers[node.id])
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        operand = _value(node.operand, scope, reading)
        return (
            combine(operator.sub, UncertainNumber.of(0.0), operand, reading.spend)
            if isinstance(operand, UncertainNumber)
            else -operand
        )
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        symbol = OPERATORS[type(node.op)]
        left, right = (_value(side, scope, reading) for side in (node.left, node.right))
        if isinstance(left, UncertainNumber) or isinstance(right, UncertainNumber):
            return combine(symbol, _as_value(left), _as_value(right), reading.spend)
        return _finite(node, lambda: symbol(left, right))
    if isinstance(node, ast.Call):
        return _finite(node, lambda: _call(node, scope, reading))
    raise UserError(f"{_shown(node)} is not allowed in a measure")


def _as_value(number: Any) -> UncertainNumber:
    return number if isinstance(number, UncertainNumber) else UncertainNumber.of(number)


def _number(node: ast.Constant) -> float:
    if not isinstance(node.value, int | float) or isinstance(node.value, bool):
        raise UserError(f"{_shown(node)} is not valid: expected a number")
    return _finite(node, lambda: float(node.value))  # type: ignore[arg-type]


def _finite(node: ast.expr, compute: Callable[[], Any]) -> Any:
    """The result of `compute`. Arithmetic on plain numbers must have a value: 1/0 is a mistake in the claim."""
    try:
        value = compute()
    except ArithmeticError as error:
        raise UserError(f"cannot compute {_shown(node)}: {error}") from None
    if isinstance(value, UncertainNumber):
        return value
    if isinstance(value, complex) or not math.isfinite(value):
        raise UserError(f"cannot compute {_shown(node)}: it has no finite value")
    return float(value)


def _shown(node: ast.expr) -> str:
    text = ast.unparse(node)
    return repr(text if len(text) <= 60 else f"{text[:60]}...")


def _call(node: ast.Call, scope: Scope, reading: _Reading) -> Any:
    name = ast.unparse(node.func)
    if any(keyword.arg is None for keyword in node.keywords):
        raise UserError(f"{_shown(node)}: ** is not allowed in a measure")
    options = {str(k.arg): _word(k.value) for k in node.keywords}
    if (name in RISING or name == "abs") and len(node.args) == 1 and not options:
        operand = _value(node.args[0], scope, reading)
        if not isinstance(operand, UncertainNumber):
            return abs(operand) if name == "abs" else RISING[name](operand)
        return folded(reading.spend.settle(operand)) if name == "abs" else operand.rising(RISING[name])
    if name in EXTREMES and node.args and not options:
        values = [_value(argument, scope, reading) for argument in node.args]
        if not any(isinstance(value, UncertainNumber) for value in values):
            return EXTREMES[name](values)
        return extreme(EXTREMES[name], [_as_value(value) for value in values], reading.spend)
    if name in OVER and len(node.args) == 1 and set(options) == {"over"}:
        return _over(name, node.args[0], str(options["over"]), scope, reading)
    if name == TAIL and len(node.args) == 2 and isinstance(node.args[0], ast.Call) and not options:
        printed = _value(node.args[1], scope, reading)
        if isinstance(printed, UncertainNumber):
            raise UserError(f"{_shown(node)}: expected {TAIL}(METRIC(label=value, ...), NUMBER)")
        return _mean(*_metric(node.args[0]), scope, reading, printed)
    return _mean(*_metric(node), scope, reading)


def _metric(node: ast.Call) -> tuple[str, dict[str, Any]]:
    """The name of a metric and its selectors."""
    name = ast.unparse(node.func)
    if name == "metric" and len(node.args) == 1:  # for names that are not Python names, such as abs_error/0.01
        name = str(_word(node.args[0]))
    elif node.args or not isinstance(node.func, ast.Name | ast.Attribute):
        functions = ", ".join((*RISING, "abs", *OVER, TAIL))
        raise UserError(f"{_shown(node)}: expected METRIC(label=value, ...) or one of {functions}")
    return name, {str(k.arg): _word(k.value) for k in node.keywords}


def _mean(
    metric: str, selectors: dict[str, Any], scope: Scope, reading: _Reading, printed: float | None = None
) -> UncertainNumber:
    """The mean of a metric; or, for a number that was `printed` of a single run, the probability of a run at least as extreme."""
    scope = scope.where(selectors)
    cell = scope.only(metric)
    reading.leaves.add((cell.id, cell.labels.get(PART), metric))
    law = (
        cell.law(metric, metric in reading.certain, reading.enough)
        if printed is None
        else laws.of_tail(cell.values[metric], printed)
    )
    if metric in cell.expected and printed is None:
        scope.expected[metric] = None
    if law.certain:
        return UncertainNumber.of(law.mean)
    if not law.exact and not (cell.calm(metric) and cell.total >= laws.FEWEST_EXPECTED):
        scope.noisy[cell.id] = cell.total
    if law.widened:
        scope.widened[cell.id] = cell.total
    if not reading.final:  # counting needs no draws
        row = law.points(2)
    else:
        together = sum(name == cell.id for name, _, _ in reading.leaves) > 1
        row = law.points()[cell.ranks(metric, together)]
    return UncertainNumber(law.mean, row, row, law)


def _over(name: str, argument: ast.expr, label: str, scope: Scope, reading: _Reading) -> UncertainNumber:
    axis = scope.values(label)
    if name.startswith("arg") and isinstance(axis[0], str):
        raise MissingResults(f"{label} has no numbers here")
    values = [_as_value(_value(argument, scope.where({label: value}), reading)) for value in axis]
    if name == "average":
        return average(values, reading.spend)
    if name.startswith("arg"):
        return place(name == "argmin", values, np.array(axis, dtype=float), reading.spend)
    return extreme(np.min if name == "least" else np.max, values, reading.spend)


def _word(node: ast.expr) -> Any:
    """A selector's value: a bare word, a quoted one, a number."""
    if isinstance(node, ast.Constant) and (node.value is None or isinstance(node.value, str | bool)):
        return node.value
    if isinstance(node, ast.Constant):
        _number(node)  # neither bytes, nor too large to be compared
        return node.value
    if isinstance(node, ast.Name):
        return {"true": True, "false": False}.get(node.id, node.id)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
        _number(node.operand)
        return -node.operand.value  # type: ignore[operator]
    raise UserError(f"{_shown(node)} is not a label: expected a word or a number")
