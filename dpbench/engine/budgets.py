"""What each budget of a run is for one mechanism: its ε, and its δ where the budget states one. Imported by the plan."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from dpbench.config.schema import EpsilonDelta, Rho, StatedBudget
from dpbench.data import Data
from dpbench.errors import UserError
from dpbench.mechanisms.base import MECHANISMS
from dpbench.model.run import Variant
from dpbench.numerics.gaussian import zcdp_rho
from dpbench.privacy.exchange import epsilon_of_rho, pure_rho

PURE = "ε"
ROUNDING = 1e-15  # of doubles: 0.2 * 0.2 / 2 is 0.020000000000000004
Made = tuple[Variant, Any]
"""A mechanism with its parameters, and the object itself."""


def spend(
    budgets: Sequence[StatedBudget], chosen: Made, data: Data | None
) -> tuple[list[tuple[Made, dict[float, StatedBudget]]], dict[StatedBudget, str]]:
    """The mechanism with the ε that each budget is for it, once more for every δ that a budget states; and the budgets that it
    cannot use, with the reasons. `data` is None while the dataset is not built."""
    groups: dict[float | None, tuple[Made, dict[float, StatedBudget]]] = {}
    refused: dict[StatedBudget, str] = {}
    for budget in budgets:
        try:
            delta = budget.delta if isinstance(budget, EpsilonDelta) and _guarantee(chosen[1]) != PURE else None
            if delta not in groups:
                groups[delta] = (chosen if delta is None else _with_delta(chosen, delta)), {}
            (_, mechanism), epsilons = groups[delta]
            epsilons.setdefault(budget if isinstance(budget, float) else _epsilon(budget, mechanism, data), budget)
        except UserError as reason:
            refused[budget] = str(reason)
    return [*groups.values()], refused


def _guarantee(mechanism: Any) -> str:
    return str(getattr(mechanism, "privacy", ""))


def _epsilon(budget: EpsilonDelta | Rho, mechanism: Any, data: Data | None) -> float:
    if isinstance(budget, EpsilonDelta):
        return budget.epsilon
    pure, declared = _guarantee(mechanism) == PURE, getattr(mechanism, "zcdp", None)
    if not pure and callable(declared) and data is None:
        raise UserError("its ε is known when the dataset is built")

    def cost(epsilon: float) -> float:
        return pure_rho(epsilon) if pure else declared(data, epsilon) if callable(declared) else math.nan

    epsilon = epsilon_of_rho(budget.rho, cost)
    if math.isnan(epsilon):
        raise UserError(f"no ρ of zCDP is known for it{_promised(budget.rho, mechanism)}")
    # ρ = 0.02 is ε = 0.2 for a pure guarantee, not 0.19999999999999998: then its trials are those of epsilon=0.2.
    short, most = float(f"{epsilon:.12g}"), budget.rho * (1 + ROUNDING)
    return short if cost(short) <= most else epsilon


def _promised(rho: float, mechanism: Any) -> str:
    """Which ε at the mechanism's δ every release of zCDP with this ρ has, as advice."""
    delta = getattr(mechanism, "delta", None)
    if not isinstance(delta, float) or not 0 < delta < 1:
        return ""
    try:
        epsilon = epsilon_of_rho(rho, lambda value: zcdp_rho(value, delta))
    except UserError:  # so small a ρ needs a smaller δ
        return ""
    return f"; what has ρ={rho:g} is also ({epsilon:.4g}, {delta:g})-private: give epsilon=[[{epsilon:.4g},{delta:g}]]"


def _with_delta(chosen: Made, delta: float) -> Made:
    variant, mechanism = chosen
    if not dataclasses.is_dataclass(mechanism) or "delta" not in {f.name for f in dataclasses.fields(mechanism)}:
        raise UserError("it has no parameter `delta`")
    variant = replace(variant, params={**variant.params, "delta": delta})
    if variant.instance is None:
        return variant, MECHANISMS.shared(variant.cls, **variant.params)
    own = replace(mechanism, delta=delta)  # type: ignore[type-var]
    return replace(variant, instance=own), own
