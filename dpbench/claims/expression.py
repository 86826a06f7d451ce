"""Small expressions over stored trials, such as `mae(mechanism=gs) / mae(mechanism=lpa)`: what a claim measures.

Read with Python's grammar and evaluated by a short list of rules; nothing else of Python is reachable. A metric's name
called with selectors is its mean over the trials of the one cell that they leave. Every value is a row of draws: the
first is the estimate, the others say how far it may be off, so that intervals pass through any arithmetic.
`loss(lpa, epsilon=1)` is no stored number: it audits the mechanism, and gives the least privacy loss it certainly has.
"""

from __future__ import annotations

import ast
import functools
import math
import operator
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpbench.claims.cells import DRAWS, PART, Cell
from dpbench.errors import UserError, nearest, unknown
from dpbench.mechanisms.base import parse_epsilon

OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
MOST_LETTERS, MOST_DEPTH = 1000, 40  # the longest measure of the papers has 110 letters
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


@dataclass
class Scope:
    """What an expression is evaluated in: the cells that are left, named numbers, and a record of what was used."""

    cells: list[Cell]
    numbers: Mapping[str, float] = field(default_factory=dict)
    used: dict[str, Cell] = field(default_factory=dict)

    def where(self, selectors: Mapping[str, Any]) -> Scope:
        """The same with fewer cells; what is used is recorded in one place."""
        return self.any_of([selectors])

    def any_of(self, alternatives: Sequence[Mapping[str, Any]]) -> Scope:
        """The same with the cells that fit one of several choices."""
        left = [cell for cell in self.cells if any(fits(cell, choice) for choice in alternatives)]
        if not left:
            for key in dict.fromkeys(key for choice in alternatives for key in choice):
                if self.cells and all(_label(cell, key) is None for cell in self.cells):
                    raise Missing(f"no cell has a parameter {key!r}")
            raise Missing("no trials of " + " or ".join(map(_spelled, alternatives)))
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
        if not with_it and any(not cell.values for cell in self.cells):
            raise Missing("planned, and no trial is stored yet")
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


def fits(cell: Cell, selectors: Mapping[str, Any]) -> bool:
    """Whether a cell has all these labels; one of several where a list is given."""
    return all(_matches(cell, key, value) for key, value in selectors.items())


def choices(wanted: Any) -> list[Any]:
    """The values a selector allows."""
    return list(wanted) if isinstance(wanted, list | tuple) else [wanted]


def _spelled(selectors: Mapping[str, Any]) -> str:
    return ", ".join(f"{key}={value}" for key, value in selectors.items())


def _matches(cell: Cell, key: str, wanted: Any) -> bool:
    label = _label(cell, key)
    if key == PART and not cell.values:
        return True  # a cell without trials has not been cut into its parts
    if label is None:
        return None in choices(wanted)  # for mechanisms that have no such parameter
    given = [c for c in choices(wanted) if c is not None]
    return any(_fits(label, parse_epsilon(c) if key == "epsilon" else c) for c in given)


def _fits(label: Any, wanted: Any) -> bool:
    """The same, or, for `>= 0.05` and its like, on the right side."""
    if isinstance(wanted, str) and (found := re.fullmatch(r"(<=|>=|<|>) *([-+.\de]+)", wanted)):
        try:
            bound = float(found[2])
        except ValueError:
            raise UserError(f"{wanted!r} is not valid: expected a number after {found[1]}") from None
        return not isinstance(label, str) and COMPARE[found[1]](float(label), bound)
    return same(label, wanted)


def same(a: Any, b: Any) -> bool:
    """Equal as labels: numbers up to rounding, words by letter."""
    if isinstance(a, str) or isinstance(b, str):
        return str(a) == str(b)
    return math.isclose(float(a), float(b), rel_tol=1e-9)


def _differ(cells: list[Cell]) -> list[str]:
    names = dict.fromkeys(name for cell in cells for name in cell.labels)
    return [name for name in names if len({str(cell.labels.get(name)) for cell in cells}) > 1]


def parse(text: str) -> ast.expr:
    """The tree of a measure, of bounded size. UserError: it is not well formed, or too large to be one."""
    if not isinstance(text, str):
        raise UserError(f"the measure {text!r} is not valid: expected an expression such as mae() / 2")
    if len(text) > MOST_LETTERS:
        raise UserError(f"the measure {text[:30]!r}... is too long: expected at most {MOST_LETTERS} letters")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what Python thinks of `1 is 1` as a program
            tree = ast.parse(text.strip(), mode="eval").body
    except SyntaxError as error:
        raise UserError(f"cannot read the measure {text!r}: {error.msg}") from None
    except (ValueError, RecursionError, MemoryError):
        raise UserError(f"cannot read the measure {text[:30]!r}...: it is nested too deeply") from None
    level, depth = [tree], 0
    while level:  # not by recursion, which it could exhaust
        depth += 1
        if depth > MOST_DEPTH:
            raise UserError(f"the measure {text[:30]!r}... is nested too deeply: expected at most {MOST_DEPTH} levels")
        level = [child for node in level for child in ast.iter_child_nodes(node)]  # type: ignore[misc]
    return tree


def evaluate(text: str, scope: Scope) -> np.ndarray:
    """The draws of an expression's value. UserError: it is not well formed; Missing: the results lack something."""
    tree = parse(text)
    # Of stored numbers, what has no value stays infinite or undefined, and decides nothing.
    with np.errstate(all="ignore"):
        return np.broadcast_to(np.asarray(_value(tree, scope), dtype=float), (DRAWS + 1,))


def _value(node: ast.expr, scope: Scope) -> Any:
    """A number, or a row of draws."""
    if isinstance(node, ast.Constant):
        return _number(node)
    if isinstance(node, ast.Name):
        if node.id not in scope.numbers:
            raise unknown("number", node.id, scope.numbers)
        return float(scope.numbers[node.id])
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_value(node.operand, scope)
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        left, right = _value(node.left, scope), _value(node.right, scope)
        return _finite(node, lambda: OPERATORS[type(node.op)](left, right))
    if isinstance(node, ast.Call):
        return _finite(node, lambda: _call(node, scope))
    raise UserError(f"{_shown(node)} has no place in a measure")


def _number(node: ast.Constant) -> float:
    if not isinstance(node.value, int | float) or isinstance(node.value, bool):
        raise UserError(f"{_shown(node)} is not valid: expected a number")
    return _finite(node, lambda: float(node.value))  # type: ignore[arg-type]


def _finite(node: ast.expr, compute: Callable[[], Any]) -> Any:
    """What `compute` gives. Arithmetic on plain numbers alone must have a value: 1/0 is a mistake in the claim."""
    try:
        value = compute()
    except ArithmeticError as error:
        raise UserError(f"cannot compute {_shown(node)}: {error}") from None
    if isinstance(value, np.ndarray) and value.ndim:
        return value
    if isinstance(value, complex) or not math.isfinite(value):
        raise UserError(f"cannot compute {_shown(node)}: it has no finite value")
    return float(value)


def _shown(node: ast.expr) -> str:
    text = ast.unparse(node)
    return repr(text if len(text) <= 60 else f"{text[:60]}...")


def _call(node: ast.Call, scope: Scope) -> Any:
    name = ast.unparse(node.func)
    if any(keyword.arg is None for keyword in node.keywords):
        raise UserError(f"{_shown(node)}: ** has no place in a measure")
    options = {str(k.arg): _word(k.value) for k in node.keywords}
    if name in FUNCTIONS and len(node.args) == 1 and not options:
        return FUNCTIONS[name](_value(node.args[0], scope))
    if name in EXTREMES and node.args and not options:
        return functools.reduce(EXTREMES[name], [_value(argument, scope) for argument in node.args])
    if name in OVER and len(node.args) == 1 and set(options) == {"over"}:
        return _over(name, node.args[0], str(options["over"]), scope)
    if name == "loss" and len(node.args) == 1:
        if "epsilon" not in options:
            raise UserError(f"{_shown(node)}: expected loss(MECHANISM, epsilon=NUMBER)")
        return _loss(str(_word(node.args[0])), tuple(sorted(options.items())))
    if name == "metric" and len(node.args) == 1:  # for names that are no Python names, such as abs_error/0.01
        name = str(_word(node.args[0]))
    elif node.args or not isinstance(node.func, ast.Name | ast.Attribute):
        raise UserError(f"{_shown(node)}: expected METRIC(label=value, ...) or one of {', '.join((*FUNCTIONS, *OVER))}")
    return scope.where(options).mean(name)


def _over(name: str, argument: ast.expr, label: str, scope: Scope) -> np.ndarray:
    axis = scope.values(label)
    if name.startswith("arg") and isinstance(axis[0], str):
        raise Missing(f"{label} has no numbers here")
    rows = [
        np.broadcast_to(np.asarray(_value(argument, scope.where({label: value})), dtype=float), (DRAWS + 1,))
        for value in axis
    ]
    numbers = np.array(axis) if name.startswith("arg") else np.empty(0)
    return OVER[name](np.stack(rows), numbers)


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
    raise UserError(f"{_shown(node)} is no label: expected a word or a number")


@functools.cache
def _loss(mechanism: str, options: tuple[tuple[str, Any], ...]) -> np.ndarray:
    """The privacy loss that a mechanism certainly has. An audit bounds it from below only: half the draws are infinite."""
    from dpbench.audit.certain import certain_loss

    parameters = dict(options)
    bound = certain_loss(mechanism, parse_epsilon(parameters.pop("epsilon")), **parameters)
    draws = np.full(DRAWS + 1, bound)
    draws[1 + DRAWS // 2 :] = np.inf
    return draws
