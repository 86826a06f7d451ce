"""The cost of one step: the largest log ratio of its output's densities on two neighbours, in closed form.

Pure losses add up. Gaussian noise has no pure loss: its steps add up as squared distances, in standard deviations, and are
converted to an ε for the stated δ at the end. Imported by the audit by replay.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbench.audit.recording import Step


@dataclass(frozen=True, eq=False)
class Cost:
    """The loss of one step between two neighbours, over all outputs and both directions."""

    pure: float = 0.0
    squared: float = 0.0
    """For Gaussian noise: the squared distance of the two means, in standard deviations."""
    laws: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None
    """For an enumerated draw: the probability of each outcome on both neighbours."""
    sure: bool = True
    """Whether the cost is exact, not only an upper bound."""


def cost(one: Step, other: Step) -> Cost:
    """The cost of a step of any kind except `draw` and `rows`. Both steps have the same kind, size and parameters."""
    if one.kind in ("rows", "draw"):
        raise ValueError(f"{one.kind} has no cost in closed form")
    apart = other.exact.astype(np.float64) - one.exact.astype(np.float64)
    scale = {name: value.astype(np.float64) for name, value in one.parameters.items() if value.dtype.kind in "fiu"}
    if not np.all(np.isfinite(apart)):
        return Cost(math.inf)
    if one.kind == "laplace":
        return Cost(_moved(np.abs(apart), scale["scale"]))
    if one.kind == "geometric":
        # Integer noise does not hide fractions.
        whole = bool(np.all(apart == np.round(apart)))
        return Cost(float(np.abs(apart).sum() * -math.log(scale["alpha"])) if whole else math.inf)
    if one.kind == "ball":
        return Cost(float(scale["epsilon"]) * _norm(apart, str(one.parameters["norm"])))
    if one.kind == "choose":
        return Cost(_choice(one.exact, other.exact, float(scale["exponent"])))
    return Cost(squared=_distance(apart.reshape(-1), float(scale["sigma"]), float(scale["shared"])))


def _moved(apart: NDArray[np.float64], scale: NDArray[np.float64]) -> float:
    """Σ |q - q'| / scale; a value without noise must not move at all."""
    moved = apart > 0
    scales = np.broadcast_to(scale, apart.shape)[moved]
    return float((apart[moved] / scales).sum()) if np.all(scales > 0) else math.inf


def _norm(apart: NDArray[np.float64], norm: str) -> float:
    if norm == "inf":
        return float(np.abs(apart).max(initial=0.0))
    return float(np.maximum(apart, 0).max(initial=0.0) + np.maximum(-apart, 0).max(initial=0.0))


def _choice(scores: NDArray[Any], others: NDArray[Any], exponent: float) -> float:
    """max |g - L|: g the change of an exponent, L that of the logarithm of their sum."""
    one, other = (exponent * s.reshape(-1).astype(np.float64) for s in (scores, others))
    g = other - one
    shift = float(np.logaddexp.reduce(other) - np.logaddexp.reduce(one))
    return float(max(g.max() - shift, shift - g.min())) if g.size else 0.0


def _distance(apart: NDArray[np.float64], sigma: float, shared: float) -> float:
    """x^T Σ^-1 x for Σ = σ² I + τ² 1 1^T, by the Sherman-Morrison formula."""
    if not apart.any():
        return 0.0
    if sigma == 0:
        # Only the common part is hidden, and only if all values move equally.
        alike = bool(np.all(apart == apart[0])) and shared > 0
        return float(apart[0] / shared) ** 2 if alike else math.inf
    ratio = shared**2 / (sigma**2 + apart.size * shared**2)
    return float((apart @ apart - ratio * apart.sum() ** 2) / sigma**2)


def total(costs: Sequence[Cost], delta: float) -> float:
    """The smallest ε at which the steps together are (ε, δ)-private on this pair, with worst-case pure losses."""
    pure = sum(each.pure for each in costs)
    squared = sum(each.squared for each in costs)
    laws = [each.laws for each in costs if each.laws is not None]
    if squared:
        # δ is used once: for the Gaussian steps, with worst-case draws.
        return pure + sum(worst_ratio(*law) for law in laws) + gaussian_epsilon(squared, delta)
    if len(laws) == 1 and delta > 0:
        return pure + max(law_epsilon(*laws[0], delta), law_epsilon(*laws[0][::-1], delta))
    return pure + sum(worst_ratio(*law) for law in laws)


def gaussian_delta(epsilon: float, squared: float) -> float:
    """The smallest δ at ε for two Gaussians whose squared distance is `squared`, in deviations (Balle and Wang, 2018)."""
    from dpbench.numerics.gaussian import delta_of

    return delta_of(epsilon, 1 / math.sqrt(squared))


@functools.lru_cache(maxsize=4096)
def gaussian_epsilon(squared: float, delta: float) -> float:
    """The smallest ε at which two Gaussians with squared distance `squared` are (ε, δ)-close."""
    from scipy.optimize import brentq

    if delta <= 0 or not math.isfinite(squared):
        return math.inf
    if gaussian_delta(0.0, squared) <= delta:
        return 0.0
    high = 1.0
    while gaussian_delta(high, squared) > delta:
        high *= 2
    return float(brentq(lambda epsilon: gaussian_delta(epsilon, squared) - delta, 0.0, high, xtol=1e-13))


def worst_ratio(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """The largest |ln p/q| over the outcomes of either distribution."""
    both = (one > 0) | (other > 0)
    with np.errstate(divide="ignore"):
        return float(np.abs(np.log(one[both]) - np.log(other[both])).max(initial=0.0))


def parts_ratio(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """The largest ln p/q of outcomes with independent parts, in one direction: the worst case of every part."""
    moved = np.any(one != other, axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(one[moved] > 0, np.log(one[moved]) - np.log(other[moved]), -np.inf)
    return float(ratios.max(axis=1).sum()) if moved.any() else 0.0


def law_epsilon(one: NDArray[np.float64], other: NDArray[np.float64], delta: float) -> float:
    """The least ε with Σ max(0, p - e^ε q) ≤ δ: exact, from the outcomes sorted by descending ratio."""
    impossible = other <= 0
    left = delta - float(one[impossible].sum())
    if left < 0:
        return math.inf
    p, q = one[~impossible], other[~impossible]
    order = np.argsort(-(p / q))
    p, q = np.cumsum(p[order]), np.cumsum(q[order])
    # With the first j outcomes in the sum, e^ε = (P_j - δ)/Q_j; the largest of these is the root.
    best = float(((p - left) / q).max(initial=0.0))
    return max(0.0, math.log(best)) if best > 0 else 0.0


def amplified(out: float, inside: float, rate: float) -> float:
    """ln((1 - rate) e^out + rate e^inside): the loss of a sample that contains the new row with probability `rate`."""
    if math.isinf(inside):
        return math.inf if rate > 0 else out
    high = max(out, inside)
    return high + math.log((1 - rate) * math.exp(out - high) + rate * math.exp(inside - high)) if rate > 0 else out
