"""The budgets of a run as users write them: ε, a pair (ε, δ), or ρ of zCDP. `engine/budgets` makes an ε of each, per mechanism.

Imported by the schema and by the engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dpbench.errors import UserError
from dpbench.privacy.exchange import parse_epsilon, parse_rho


@dataclass(frozen=True)
class EpsilonDelta:
    """(ε, δ). A mechanism with a pure guarantee keeps its ε for every δ; others get this δ as their parameter."""

    epsilon: float
    delta: float

    def __str__(self) -> str:
        return f"({self.epsilon:.4g}, {self.delta:.4g})"


@dataclass(frozen=True)
class Rho:
    """ρ of zero-concentrated differential privacy. It is another ε for each kind of guarantee."""

    rho: float

    def __str__(self) -> str:
        return f"ρ={self.rho:.4g}"


StatedBudget = float | EpsilonDelta | Rho


def parse_budget(value: Any) -> StatedBudget:
    """The budget that `0.5`, `ln2`, `[0.5, 1e-6]`, `rho:0.1`, `rho=0.1` or `{rho: 0.1}` means."""
    rho = parse_rho(value.replace(":", "=", 1) if isinstance(value, str) else value)
    if rho is not None:
        return Rho(rho)
    if not isinstance(value, Sequence) or isinstance(value, str):
        return parse_epsilon(value)
    if len(value) != 2 or not isinstance(value[1], int | float) or not 0 < value[1] < 1:
        raise UserError(
            f"epsilon={value!r} is not valid: expected a pair (ε, δ) with δ between 0 and 1, such as [0.5,1e-6]"
        )
    return EpsilonDelta(parse_epsilon(value[0]), float(value[1]))


def budget_name(budget: StatedBudget) -> str:
    """As text, where all budgets of a run are listed."""
    return f"{budget:.4g}" if isinstance(budget, float) else str(budget)
