"""The Gaussian mechanism's noise for (ε, δ), exactly (Balle and Wang, 2018), and a closed form of its error."""

from __future__ import annotations

import math

import numpy as np


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


def mean_abs_normal(offset: np.ndarray, deviation: float) -> np.ndarray:
    """E|s + N(0, σ²)|: the absolute error of a value off by s under noise that is a sum of many terms."""
    from scipy.special import erf

    ratio = offset / (deviation * 2**0.5)
    return deviation * (2 / np.pi) ** 0.5 * np.exp(-(ratio**2)) + offset * erf(ratio)
