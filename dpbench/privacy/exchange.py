"""Budgets as users write them, and in other currencies: (ε, δ), ρ of zCDP, and k releases of one budget.

Imported by mechanisms, tables and `compare`.
A pure ε costs at most ρ = ε²/2 (Bun and Steinke, 2016). k releases are composed by their privacy loss distribution, with
Google's dp-accounting, which the extra `accounting` installs.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Mapping
from numbers import Real

from dpbench.errors import UserError, positive
from dpbench.numerics.gaussian import analytic_sigma, delta_of

DELTA = 1e-6
"""The δ at which releases without a δ are composed, and the default of the mechanisms that have one."""
SMALLEST, LARGEST = 1e-50, 1e50
"""Limits of epsilon: beyond them noise, or the spread of its mean square over trials, leaves the range of doubles."""
FINEST = 1e-4  # the width of the cells of a loss distribution, if ε is not large
CELLS = 10_000


def parse_epsilon(value: object) -> float:
    """A privacy budget as users write it: a positive number, or `ln2`, `ln3` ..."""
    number = math.nan
    if isinstance(value, Real) and not isinstance(value, bool):
        number = float(value)
    elif isinstance(value, str):
        text = value.strip().lower()
        logarithm = text.startswith("ln")
        try:
            number = float(text.removeprefix("ln").strip("() "))
            number = math.log(number) if logarithm else number
        except ValueError:
            number = math.nan
    if not 0 < number < math.inf:
        raise UserError(f"epsilon={value!r} is not valid: expected a positive number, ln2 or ln3")
    if not SMALLEST <= number <= LARGEST:
        extreme = "small" if number < SMALLEST else "large"
        raise UserError(f"epsilon={value!r} is too {extreme}: expected a number from {SMALLEST:g} to {LARGEST:g}")
    return number


def parse_rho(value: object) -> float | None:
    """ρ from `rho=0.1` or {"rho": 0.1}; None if the value is no budget of zCDP."""
    given: object = None
    if isinstance(value, Mapping) and [*value] == ["rho"]:
        given = value["rho"]
    elif isinstance(value, str) and (match := re.fullmatch(r"\s*rho\s*[= ]\s*([0-9.eE+-]+)\s*", value)):
        try:
            given = float(match[1])
        except ValueError:
            given = match[1]
    else:
        return None
    positive("rho", given)
    return float(str(given))


def epsilon_of_rho(rho: float, cost: Callable[[float], float]) -> float:
    """The largest ε whose cost in ρ is at most `rho`; nan if the cost is not known. The cost grows with ε, from more than zero
    if δ alone costs something."""
    low, high = -60.0, 60.0  # powers of e
    if math.isnan(cost(1.0)):
        return math.nan
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if cost(math.exp(middle)) <= rho else (low, middle)
    epsilon = math.exp(low)
    if (least := cost(epsilon)) > rho:
        raise UserError(f"rho={rho:g} is too small: no ε costs so little, because its δ costs at least ρ={least:.3g}")
    return epsilon


def pure_rho(epsilon: float) -> float:
    """ρ of a release that is ε-private, at most."""
    return epsilon * epsilon / 2


def gaussian_rho(epsilon: float, delta: float) -> float:
    """ρ of Gaussian noise that is calibrated exactly to (ε, δ)."""
    return 1 / (2 * analytic_sigma(epsilon, delta) ** 2)


def gaussian_epsilon(sigma: float, delta: float) -> float:
    """The smallest ε of noise N(0, σ²) at δ, for sensitivity 1: the inverse of `delta_of`."""
    low, high = 0.0, 1.0
    while delta_of(high, sigma) > delta:
        high *= 2
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (low, middle) if delta_of(middle, sigma) <= delta else (middle, high)
    return high


@functools.lru_cache(maxsize=4096)
def composed(epsilon: float, delta: float, releases: int, gaussian: bool = False) -> tuple[float, float]:
    """The (ε, δ) of several releases that are (epsilon, delta)-private each, whatever they publish.

    `gaussian`: all of it is Gaussian noise calibrated to (ε, δ). k of these are one with σ/√k, for which the exact ε is known.
    δ is 1e-6 for pure ones; otherwise twice the sum of theirs, because the sum alone leaves nothing for ε.
    """
    at = DELTA if not delta else min(0.5, 2 * releases * delta)
    if releases == 1:
        return epsilon, delta
    if gaussian:
        return gaussian_epsilon(analytic_sigma(epsilon, delta) / math.sqrt(releases), at), at
    try:
        from dp_accounting.pld import common, privacy_loss_distribution
    except ImportError:
        raise UserError(
            "several releases are composed by dp-accounting: pip install 'dpbench-repro[accounting]'"
        ) from None
    width = max(FINEST, epsilon / CELLS)
    one = common.DifferentialPrivacyParameters(epsilon, delta)
    loss = privacy_loss_distribution.from_privacy_parameters(one, value_discretization_interval=width)
    return min(releases * epsilon, float(loss.self_compose(releases).get_epsilon_for_delta(at))), at


def exchange(epsilon: float) -> str:
    """How much one ε is in ρ on the two private boards, in words."""
    gaussian = gaussian_rho(epsilon, DELTA)
    return (
        f"Exchange at ε = {epsilon:.4g}: a pure ε is at most ρ = {pure_rho(epsilon):.3g} of zCDP, "
        f"Gaussian noise with δ = {DELTA:g} is ρ = {gaussian:.3g}; so equal ε is not an equal price"
    )
