"""The Gaussian mechanism's noise for (ε, δ), exactly (Balle and Wang, 2018), and a closed form of its error."""

from __future__ import annotations

import math

import numpy as np

LARGE = 500.0
"""From this ε on, e^ε must be computed with care."""


def delta_of(epsilon: float, sigma: float) -> float:
    """The smallest δ that noise N(0, σ²) gives at ε for sensitivity 1: Φ(1/2σ - εσ) - e^ε Φ(-1/2σ - εσ)."""
    from scipy.special import erfcx, log_ndtr, ndtr

    near, far = 0.5 / sigma - epsilon * sigma, -0.5 / sigma - epsilon * sigma
    if epsilon > LARGE:  # far² = near² + 2 ε cancels e^ε before it overflows
        return float(ndtr(near) - math.exp(-(near**2) / 2) * erfcx(-far / math.sqrt(2)) / 2)
    return math.exp(log_ndtr(near)) - math.exp(epsilon + log_ndtr(far))


def analytic_sigma(epsilon: float, delta: float) -> float:
    """The smallest σ that is (ε, δ)-private for sensitivity 1: the root of the exact condition, not a loose bound."""
    from scipy.optimize import brentq

    low, high = 1e-3, 1.0
    while delta_of(epsilon, low) < delta:
        low /= 2
    while delta_of(epsilon, high) > delta:
        high *= 2
    root = brentq(lambda log: delta_of(epsilon, math.exp(log)) - delta, math.log(low), math.log(high), xtol=1e-13)
    return math.exp(root)


def zcdp_rho(epsilon: float, delta: float) -> float:
    """The largest ρ for which every ρ-zCDP mechanism is (ε, δ)-private by Corollary 13 of Canonne, Kamath and Steinke, 2020.

    δ = exp((α-1)(αρ-ε)) (1-1/α)^α / (α-1) holds for every α > 1; solved for ρ and maximised over α. Any α is valid.
    """
    from scipy.optimize import minimize_scalar

    def rho(log: float) -> float:
        less = math.exp(log)  # α - 1
        spent = (math.log(delta) + math.log1p(less) - less * (log - math.log1p(less))) / less
        return (spent + epsilon) / (1 + less)

    optimum = minimize_scalar(lambda log: -rho(log), bounds=(-20.0, 40.0), method="bounded", options={"xatol": 1e-10})
    best = max(rho(float(optimum.x)), *(rho(log / 8) for log in range(-160, 321)))
    return best * (1 - 1e-12)


def discrete_sigma(epsilon: float, delta: float) -> float:
    """The σ of the discrete Gaussian that is (ε, δ)-private for L2 sensitivity 1, by its zCDP: ρ = 1/2σ²."""
    return 1 / math.sqrt(2 * zcdp_rho(epsilon, delta))


def mean_abs_normal(offset: np.ndarray, deviation: float) -> np.ndarray:
    """E|s + N(0, σ²)|: the mean absolute error of a value with bias s under normal noise."""
    from scipy.special import erf

    ratio = offset / (deviation * 2**0.5)
    return deviation * (2 / np.pi) ** 0.5 * np.exp(-(ratio**2)) + offset * erf(ratio)
