"""Priority sampling without the zeros: which zero cells have a priority |v|/r high enough, and how high.

For any τ, a cell has a priority of τ or more exactly if threshold sampling with τ chooses it, and its r is then
uniform on (0, min(|v|/τ, 1)]. So a guess of τ that lets more than s cells pass gives all that the s + 1 highest
priorities need. A guess may look at the other cells, whose noise is independent. If it lets too few pass, the next
lower layer of priorities is drawn too. Those found are kept, so the result has the distribution of one draw.
"""

from __future__ import annotations

import math

import numpy as np

from dpbench.mechanisms.sparse._zeros import sample_probability, sampled, upgraded
from dpbench.numerics import geometric

SLACK = 6.0
"""Standard deviations by which a guess exceeds s + 1: a second layer is needed once in 10^9 draws."""

STEPS = 64


def priorities(values: np.ndarray, rng: np.random.Generator, above: float = 0.0) -> np.ndarray:
    """|v|/r with r uniform on (0, 1], or restricted so that the priority is at least `above`."""
    size = np.abs(values)
    r = 1 - rng.random(size.size)
    if above > 0:
        r *= np.minimum(size / above, 1)
    return size / r


def top(priority: np.ndarray, s: int) -> tuple[np.ndarray, float]:
    """Which are the s highest, and the (s+1)th; all and 0 when there are no more than s."""
    if priority.size <= s:
        return np.ones(priority.size, dtype=bool), 0.0
    tau = float(np.partition(priority, priority.size - s - 1)[priority.size - s - 1])
    return priority > tau, tau


def zero_priorities(
    alpha: float, theta: float, zeros: int, values: np.ndarray, others: np.ndarray, s: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Noisy values and priorities of the zeros (|v| ≥ θ) that can be among the s + 1 highest priorities of all.

    `values` and `others` are the noisy values of the non-zero cells that passed θ, and their priorities.
    """
    lowest = max(1.0, math.ceil(theta))  # for τ up to this, every zero that passes has a priority of τ or more
    tau = _guess(alpha, lowest, zeros, values, others, s)
    layers = [np.empty(0, dtype=np.int64)]
    priority = [np.empty(0)]
    above, outside = math.inf, 0.0
    while True:
        inside = float(sample_probability(alpha, tau, theta))
        k = upgraded(zeros - sum(map(len, layers)), (inside - outside) / (1 - outside), rng)
        layer, its = _layer(alpha, theta, tau, above, k, rng)
        layers.append(layer)
        priority.append(its)
        if tau <= lowest or np.count_nonzero(others >= tau) + sum(map(len, layers)) > s:
            return np.concatenate(layers), np.concatenate(priority)
        above, outside, tau = tau, inside, max(lowest, tau / 2)


def _layer(
    alpha: float, theta: float, tau: float, above: float, k: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Values and priorities of k zeros given τ ≤ priority < above."""
    values = sampled(alpha, tau, theta, k, rng)
    priority = priorities(values, rng, tau)
    while (high := np.flatnonzero(priority >= above)).size:
        values[high] = sampled(alpha, tau, theta, high.size, rng)
        priority[high] = priorities(values[high], rng, tau)
    return values, priority


def _guess(alpha: float, lowest: float, zeros: int, values: np.ndarray, others: np.ndarray, s: int) -> float:
    """About the largest τ that almost certainly lets more than s cells pass: two rounds on a grid of τ."""
    ranked = np.sort(others)
    # The paper's τ for s + 1 entries takes min(|v|/τ, 1) for |v|/τ, so no good guess is much above it.
    total = float(np.abs(values).sum()) + zeros * geometric.mean_abs(alpha)
    low, high = lowest, max(2 * lowest, 2 * total / (s + 1))
    for _ in range(2):
        grid = np.geomspace(low, high, STEPS)
        expected = zeros * sample_probability(alpha, grid, lowest)
        through = ranked.size - np.searchsorted(ranked, grid) + expected - SLACK * np.sqrt(expected)
        enough = np.flatnonzero(through >= s + 1)
        if not enough.size:
            return low
        low, high = grid[enough[-1]], grid[min(enough[-1] + 1, STEPS - 1)]
    return float(low)
