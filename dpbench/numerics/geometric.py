"""The two-sided geometric distribution, P[x] = (1-α)/(1+α) α^|x| (sparse): whole-number noise for counts."""

from __future__ import annotations

import math
import sys

import numpy as np


def decay(epsilon: float, sensitivity: float) -> float:
    """α = exp(-ε/Δ), kept above zero so that its logarithm exists at any ε."""
    return max(math.exp(-epsilon / sensitivity), sys.float_info.min)


def noise(alpha: float, size: int, rng: np.random.Generator) -> np.ndarray:
    """`size` draws, as the difference of two one-sided geometric ones."""
    drawn = rng.geometric(1 - alpha, size)
    drawn -= rng.geometric(1 - alpha, size)
    return drawn


def mean_abs(alpha: float) -> float:
    """E|x| = 2α/(1-α²)."""
    return 2 * alpha / (1 - alpha**2)


def variance(alpha: float) -> float:
    """E x² = 2α/(1-α)²."""
    return 2 * alpha / (1 - alpha) ** 2
