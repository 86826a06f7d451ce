"""The cost of the steps of a release together; the cost of one step is computed by its class.

Pure losses add up. Gaussian noise has no pure loss: its steps add up as squared distances, in standard deviations, and are
converted to an ε for the stated δ at the end. Many small choices beside Gaussian noise add up as Rényi divergences, too, which
is how mechanisms with zCDP count them. Imported by the audit by replay.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpbench.auditing.recording import Step
from dpbench.privacy import STEPS, Cost
from dpbench.privacy.laplace import LaplaceStep

HUGE = 2.0**31
"""From here on, rounding errors of real numbers may exceed the tolerance of a loss."""


def cost(step: Step, other: Step) -> Cost:
    """The cost of a step of any kind except `draw` and `rows`. Both steps have the same kind, size and parameters."""
    values, others = step.exact.astype(np.float64), other.exact.astype(np.float64)
    if step.kind not in ("draw", "rows") and not np.all(np.isfinite(others - values)):
        return Cost(math.inf)
    if issubclass(STEPS[step.kind], LaplaceStep):
        values, others = np.zeros_like(values), _moved(values, others)
    return STEPS[step.kind].cost(values, others, step.parameters)


def _moved(values: NDArray[np.float64], others: NDArray[np.float64]) -> NDArray[np.float64]:
    """How far values move. Of huge real numbers, without what the rounding of doubles may add: it is no loss of the mechanism."""
    apart = others - values
    size = np.maximum(np.abs(values), np.abs(others))
    real = (size >= HUGE) & ((values % 1 != 0) | (others % 1 != 0))
    kept = np.maximum(np.abs(apart) - size * 2.0**-50, 0)
    return np.where(real, np.copysign(kept, apart), apart)


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


def choice(step: Step, other: Step) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The log probabilities of the outcomes of `choose` on both neighbours."""
    exponent = float(step.parameters["exponent"])
    one, two = (exponent * each.exact.astype(np.float64).reshape(-1) for each in (step, other))
    return one - np.logaddexp.reduce(one), two - np.logaddexp.reduce(two)


def renyi_total(
    choices: Sequence[tuple[NDArray[np.float64], NDArray[np.float64]]], squared: float, delta: float
) -> float:
    """The smallest ε at δ that follows from the Rényi divergences of choices and Gaussian steps together, in either direction.

    The divergence of order α, D, gives ε = D + ln(α-1) - (α ln α + ln δ)/(α-1) for every α > 1 (Canonne, Kamath, Steinke 2020).
    """
    from scipy.optimize import minimize_scalar

    def epsilon(log: float, back: int) -> float:
        less = math.exp(log)  # α - 1
        divergence = (1 + less) * squared / 2
        for pair in choices:
            p, q = pair[back], pair[1 - back]
            divergence += float(np.logaddexp.reduce(p + less * (p - q))) / less
        return divergence + log - ((1 + less) * math.log1p(less) + math.log(delta)) / less

    found = []
    for back in (0, 1):
        start = min(range(-20, 41), key=lambda log: epsilon(log, back))
        near = minimize_scalar(
            epsilon, bounds=(start - 1, start + 1), args=(back,), method="bounded", options={"xatol": 1e-9}
        )
        found.append(min(float(near.fun), epsilon(start, back)))
    return max(0.0, *found)


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
    with np.errstate(over="ignore"):  # of a tiny Q_j: far below zero, or really without bound
        best = float(((p - left) / q).max(initial=0.0))
    return max(0.0, math.log(best)) if best > 0 else 0.0


def amplified(out: float, inside: float, rate: float) -> float:
    """ln((1 - rate) e^out + rate e^inside): the loss of a sample that contains the new row with probability `rate`."""
    if math.isinf(inside):
        return math.inf if rate > 0 else out
    high = max(out, inside)
    return high + math.log((1 - rate) * math.exp(out - high) + rate * math.exp(inside - high)) if rate > 0 else out
