"""The Gaussian mechanism's noise for (ε, δ), exactly (Balle and Wang, 2018)."""

from __future__ import annotations

import math


def delta_of(epsilon: float, sigma: float) -> float:
    """The smallest δ that noise N(0, σ²) gives at ε for sensitivity 1: Φ(1/2σ - εσ) - e^ε Φ(-1/2σ - εσ)."""
    from scipy.special import log_ndtr

    near, far = 0.5 / sigma - epsilon * sigma, -0.5 / sigma - epsilon * sigma
    return math.exp(log_ndtr(near)) - math.exp(epsilon + log_ndtr(far))


def analytic_sigma(epsilon: float, delta: float) -> float:
    """The smallest σ that is (ε, δ)-private for sensitivity 1: the root of the exact condition, no loose bound."""
    from scipy.optimize import brentq

    low, high = 1e-3, 1.0
    while delta_of(epsilon, low) < delta:
        low /= 2
    while delta_of(epsilon, high) > delta:
        high *= 2
    root = brentq(lambda log: delta_of(epsilon, math.exp(log)) - delta, math.log(low), math.log(high), xtol=1e-13)
    return math.exp(root)
