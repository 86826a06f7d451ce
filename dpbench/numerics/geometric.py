"""The two-sided geometric distribution, P[x] = (1-α)/(1+α) α^|x| (sparse): whole-number noise for counts."""

from __future__ import annotations

import math
import sys


def decay(epsilon: float, sensitivity: float) -> float:
    """α = exp(-ε/Δ), kept above zero so that its logarithm exists at any ε."""
    return max(math.exp(-epsilon / sensitivity), sys.float_info.min)


def mean_abs(alpha: float) -> float:
    """E|x| = 2α/(1-α²)."""
    return 2 * alpha / (1 - alpha**2)


def variance(alpha: float) -> float:
    """E x² = 2α/(1-α)²."""
    return 2 * alpha / (1 - alpha) ** 2
