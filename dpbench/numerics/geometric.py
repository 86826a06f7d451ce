"""The two-sided geometric distribution, P[x] = (1-α)/(1+α) α^|x| (sparse): whole-number noise for counts."""

from __future__ import annotations

import math
import sys

import numpy as np

SURE = 50.0
"""Probabilities below e^-50 are nothing."""


def decay(epsilon: float, sensitivity: float) -> float:
    """α = exp(-ε/Δ), kept above zero so that its logarithm exists at any ε."""
    return max(math.exp(-epsilon / sensitivity), sys.float_info.min)


def mean_abs(alpha: float) -> float:
    """E|x| = 2α/(1-α²)."""
    return 2 * alpha / (1 - alpha**2)


def variance(alpha: float) -> float:
    """E x² = 2α/(1-α)²."""
    return 2 * alpha / (1 - alpha) ** 2


def mean_abs_sum(alpha: float, terms: int) -> float:
    """E|S| of the sum of so many independent draws, in every digit, from its characteristic function φ.

    |k| is the mean of (1 - cos kt)/(1 - cos t) over the N points t = 2πj/N for every whole |k| < N, with k² at t = 0. So
    E|S| = (E S² + Σ (1 - φ(t))/(1 - cos t))/N if |S| ≥ N has no probability, and Σ 1/(1 - cos t) = (N² - 1)/6. Only the t near
    0, where φ is not negligible, have to be summed.
    """
    if terms == 0:
        return 0.0
    spread = terms * variance(alpha)
    points = 2 * math.ceil((math.sqrt(2 * SURE * spread) + SURE / -math.log(alpha)) / 2) + 1  # N, odd
    ends = math.expm1(SURE / terms) * (1 - alpha) ** 2 / (4 * alpha) if terms > SURE / 600 else math.inf
    last = points // 2 if ends >= 1 else min(points // 2, math.ceil(points * math.asin(math.sqrt(ends)) / math.pi))
    near = np.sin(np.arange(1, last + 1) * (math.pi / points)) ** 2  # (1 - cos t)/2
    phi = np.exp(-terms * np.log1p(4 * alpha * near / (1 - alpha) ** 2))
    return float((spread + (points**2 - 1) / 6 - np.sum(phi / near)) / points)
