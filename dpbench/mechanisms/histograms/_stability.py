"""Noise on the non-zero counts only: how much of it, and the threshold above which a noisy count may be shown.

F is the probability that a count of one stays hidden. Of the k counts of one individual, a are new: nobody else is in them.
The other k - a move by one each, under noise. Used by stable.py.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbench.numerics.gaussian import analytic_sigma

SLACK = 1e-9
"""Relative precision with which σ is found as the root of an equation."""


def hidden(delta: float, k: int) -> float:
    """F = (1-δ)^(1/k): all of k new counts stay hidden with probability 1 - δ."""
    return math.exp(math.log1p(-delta) / k)


def shown(delta: float, k: int) -> float:
    """1 - F, to full precision where δ is small."""
    return -math.expm1(math.log1p(-delta) / k)


def gaussian_delta(epsilon: float, sigma: float, tau: float, k: int) -> float:
    """The exact δ of Gaussian noise σ on non-zero counts, shown above 1 + τ (Wilkins et al. 2024).

    The largest of: all counts are new; a are new and the individual is in the data; a are new and the individual is not.
    """
    from scipy.special import log_ndtr, ndtr

    log_f = float(log_ndtr(tau / sigma))
    a = np.arange(k)
    mu = np.sqrt(k - a) / sigma
    some_shown = -np.expm1(a * log_f)
    entered = some_shown + np.exp(a * log_f) * _excess(epsilon - a * log_f, mu, log_ndtr, ndtr)
    left = _excess(epsilon + a * log_f, mu, log_ndtr, ndtr)
    return float(max(-math.expm1(k * log_f), entered.max(), left.max()))


def _excess(e: NDArray[Any], mu: NDArray[Any], log_ndtr: Any, ndtr: Any) -> NDArray[Any]:
    """B(e, μ) = Φ(μ/2 - e/μ) - exp(e) Φ(-μ/2 - e/μ): δ at e of a Gaussian whose mean moves by μ standard deviations."""
    return ndtr(mu / 2 - e / mu) - np.exp(e + log_ndtr(-mu / 2 - e / mu))


def gaussian_noise(epsilon: float, delta: float, k: int) -> tuple[float, float]:
    """σ and τ of gshm: what the Gaussian mechanism needs for k counts, and what hides k new ones.

    Each alone uses all of δ. Together they stayed within it in all of 1925 combinations of ε (0.0001 to 20), δ (1e-12 to
    0.99) and k (2 to 3000). This is not proved, so if they exceed it, both are enlarged until the exact δ holds.
    """
    from scipy.special import ndtri

    sigma = analytic_sigma(epsilon, delta) * math.sqrt(k)
    width = max(0.0, -float(ndtri(shown(delta, k))))
    while gaussian_delta(epsilon, sigma, width * sigma, k) > delta * (1 + SLACK):
        sigma, width = 1.01 * sigma, width + 0.01
    return sigma, width * sigma


def laplace_noise(epsilon: float, delta: float, k: int, form: str = "float") -> tuple[float, float]:
    """Scale b = k/ε and τ = b ln(1/(2(1-F))) of stability_laplace; the threshold is never below one, however large δ is.

    Exact noise is integer, P[X ≥ t] = e^(-t/b)/(1 + e^(-1/b)) for t ≥ 1: τ is one below the least t that keeps δ.
    """
    scale = k / epsilon
    if form == "exact":
        least = -scale * (math.log1p(math.exp(-1 / scale)) + math.log(shown(delta, k)))
        # The scale used for drawing is slightly larger, by less than one part in 10^10.
        return scale, max(0.0, math.ceil(least * (1 + 1e-9) + 1e-9) - 1.0)
    return scale, max(0.0, -scale * math.log(2 * shown(delta, k)))


def gaussian_error(counts: NDArray[Any], sigma: float, least: float) -> NDArray[np.float64]:
    """E|published - count|: the error of a hidden count is the count itself, that of a shown count is its noise."""
    from scipy.special import ndtr

    t = (least - counts) / sigma
    density = np.exp(-(t**2) / 2) / math.sqrt(2 * math.pi)
    noise = np.where(t >= 0, density, math.sqrt(2 / math.pi) - density)  # E[|Z|; Z > t]
    return counts * ndtr(t) + sigma * noise


def laplace_error(counts: NDArray[Any], scale: float, least: float) -> NDArray[np.float64]:
    """The same with Laplace noise."""
    t = (least - counts) / scale
    tail = np.exp(-np.abs(t)) / 2
    below = np.where(t >= 0, 1 - tail, tail)
    part = (np.abs(t) + 1) * tail
    return counts * below + scale * np.where(t >= 0, part, 1 - part)
