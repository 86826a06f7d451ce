"""The zero cells under noise and a summary: how likely each is chosen, and with which value.

The closed forms of sparse (Algorithms filter and threshold, and their combination), for integer and for real τ: noise is
integer, so a real θ acts as ⌈θ⌉, and a real τ splits the series between ⌊τ⌋ and ⌊τ⌋ + 1 while the factor 1/τ stays real.
The paper's forms are these for integer τ.
"""

from __future__ import annotations

import math

import numpy as np

TINY = 1e-8
"""Below this p a binomial count is drawn as Poisson: the two differ by at most p, while 1 - p has lost the digits of p."""

GRID = 4096


def upgraded(zeros: int, probability: float, rng: np.random.Generator) -> int:
    """k ~ Binomial(m - n, p), the number of zero cells that are chosen (Remark 1)."""
    if probability < TINY:
        return min(zeros, int(rng.poisson(zeros * probability)))
    return int(rng.binomial(zeros, probability))


# Filter: |x| ≥ θ, or x ≥ θ when one-sided.


def pass_probability(alpha: float, theta: float, two_sided: bool = True) -> float:
    """p_θ = α^θ/(1+α), twice that when two-sided."""
    return (2 if two_sided else 1) * alpha ** math.ceil(theta) / (1 + alpha)


def passed(alpha: float, theta: float, two_sided: bool, size: int, rng: np.random.Generator) -> np.ndarray:
    """Values of zeros that pass: P[X ≤ x] = 1 - α^(x-θ+1), with a fair sign when two-sided."""
    values = rng.geometric(1 - alpha, size) + (math.ceil(theta) - 1)
    return _fair_sign(values, rng) if two_sided else values


def mean_stopped(alpha: float, theta: float) -> float:
    """E[x | x < θ] of noise, negative: the overall mean is 0, and Σ_{x≥θ} x P[x] = p_θ (θ + α/(1-α))."""
    least, p = math.ceil(theta), pass_probability(alpha, theta, two_sided=False)
    return -p * (least + alpha / (1 - alpha)) / (1 - p)


def theta_for(alpha: float, target: float, size: int, two_sided: bool = True) -> float:
    """θ from which about `target` zeros of `size` pass: ln(t(1+α)/m)/ln α one-sided. At least 1: below that, all pass."""
    share = target * (1 + alpha) / size / (2 if two_sided else 1)
    return max(1.0, math.log(share) / math.log(alpha))


# Threshold: |x| ≥ θ and chosen with probability min(|x|/τ, 1). A zero is never chosen, so θ = 1 is threshold alone.


def sample_probability(alpha: float, tau: float | np.ndarray, theta: float = 1) -> np.ndarray:
    """p_{θ,τ}; at whole τ 2/(τ(1-α²)) (θ α^θ - (θ-1) α^(θ+1) - α^(τ+1)), and 2α(1-α^τ)/(τ(1-α²)) at θ = 1."""
    return 2 * (1 - alpha) / (1 + alpha) * _weight_above(alpha, tau, _lowest(theta))


def sample_cdf(alpha: float, tau: float, value: np.ndarray | float, theta: float = 1) -> np.ndarray:
    """P[X ≤ v] of a chosen zero, of mass C τ (1-α)² α^|v| min(|v|/τ, 1): the paper's four pieces, by symmetry."""
    v = np.floor(np.asarray(value, dtype=np.float64))
    magnitude = np.where(v < 0, -v, v + 1)
    upper = sample_tail(alpha, tau, np.maximum(magnitude, _lowest(theta)), theta) / 2
    return np.where(v < 0, upper, 1 - upper)


def sample_tail(alpha: float, tau: float, magnitude: np.ndarray, theta: float = 1) -> np.ndarray:
    """P[|X| ≥ x] of a chosen zero, for x ≥ θ."""
    low = _lowest(theta)
    # The common factor α^θ is left out of both sums, so that a high θ does not make them 0/0.
    return _weight_above(alpha, tau, magnitude, low) / _weight_above(alpha, tau, low, low)


def sampled(alpha: float, tau: float, theta: float, size: int, rng: np.random.Generator) -> np.ndarray:
    """Values of chosen zeros, by inverting the distribution of the magnitude; the sign is fair."""
    low = _lowest(theta)
    # u ≥ 2^-53, and the tail at θ + i is at most α^i (1 + i): below e^-45 from i = -50/ln α on.
    reach = math.ceil(50 / -math.log(alpha)) + 2
    step = -(-reach // GRID)
    grid = low + step * np.arange(-(-reach // step) + 1)
    tails = sample_tail(alpha, tau, grid, theta)
    u = 1 - rng.random(size)
    # The value is the last x with P[|X| ≥ x] ≥ u: between grid points `at` and `at + 1`, then by halving.
    at = np.searchsorted(-tails, -u, side="right") - 1
    below, above = grid[at], grid[at] + step
    while step > 1:
        step = -(-step // 2)
        middle = (below + above) // 2
        high = (sample_tail(alpha, tau, middle, theta) >= u) & (middle > below)
        below, above = np.where(high, middle, below), np.where(high, above, middle)
    return _fair_sign(below, rng)


def tau_for(alpha: float, target: float, size: int, total: float) -> float:
    """τ from which about `target` cells are sampled: (‖M‖₁ + 2mα/(1-α²))/t."""
    return (total + size * 2 * alpha / (1 - alpha**2)) / target


def _lowest(theta: float) -> int:
    return max(1, math.ceil(theta))


def _weight_above(alpha: float, tau: float | np.ndarray, x: np.ndarray | int, origin: int = 0) -> np.ndarray:
    """Σ_{j ≥ x} α^(j-origin) min(j/τ, 1), whole x ≥ 1: the linear part up to ⌊τ⌋, then the geometric tail."""
    x = np.asarray(x, dtype=np.float64)
    length = np.maximum(np.floor(tau) + 1 - x, 0)
    gap = 1 - alpha
    kept = -np.expm1(length * math.log(alpha))  # 1 - α^L without cancellation
    power = 1 - kept
    linear = x * kept / gap + (alpha * kept - length * power * gap) / gap**2  # Σ_{i<L} (x + i) α^i
    return alpha ** (x - origin) * (linear / tau + power / gap)


def _fair_sign(values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.where(rng.integers(0, 2, values.size, dtype=np.int8) == 1, values, -values)
