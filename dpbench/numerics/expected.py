"""Expected errors of numbers under noise of a known law, as sums in one pass over them. Used by `dpbench.data.last_step`."""

from __future__ import annotations

import math

import numpy as np

from dpbench.numerics.compiled import kernel

FAR = 40.0
"""At this distance, in scales of the noise, E|s + noise| is |s| in every digit."""


@kernel()
def laplace_sums(
    before: np.ndarray, truth: np.ndarray, weights: np.ndarray, scale: float
) -> tuple[float, float, float]:
    """Σ E|s + Lap(b)|, the same with weights, and Σ s², where s = before - truth and E|s + Lap(b)| = |s| + b exp(-|s|/b)."""
    total = weighted = squares = 0.0
    for j in range(truth.size):
        off = before[j] - truth[j]
        size = abs(off)
        squares += off * off
        if size < FAR * scale:
            size += scale * math.exp(-size / scale)
        total += size
        weighted += weights[j] * size
    return total, weighted, squares


@kernel()
def normal_sums(before: np.ndarray, truth: np.ndarray, weights: np.ndarray, sigma: float) -> tuple[float, float, float]:
    """The same for N(0, σ²): E|s + N| = σ √(2/π) exp(-s²/2σ²) + s erf(s/σ√2)."""
    total = weighted = squares = 0.0
    for j in range(truth.size):
        off = before[j] - truth[j]
        size = abs(off)
        squares += off * off
        if size < FAR * sigma:
            ratio = size / (sigma * math.sqrt(2.0))
            size = sigma * math.sqrt(2.0 / math.pi) * math.exp(-ratio * ratio) + size * math.erf(ratio)
        total += size
        weighted += weights[j] * size
    return total, weighted, squares
