"""Naive versions of sparse's algorithms, from the text alone: loops over every cell, dictionaries, no shortcut.

A summary is a dictionary place -> noisy value, with the threshold that weighs it where there is one.
"""

from __future__ import annotations

import itertools
import math

import numpy as np


def noise(alpha: float, rng: np.random.Generator) -> int:
    """One draw of P[x] = (1-α)/(1+α) α^|x|, by walking up the distribution: 0, then ±1, ±2, ..."""
    u = rng.random()
    x, mass = 0, (1 - alpha) / (1 + alpha)
    while u >= mass * (1 if x == 0 else 2):
        u -= mass * (1 if x == 0 else 2)
        x, mass = x + 1, mass * alpha
        if mass < 1e-300:
            break
    return x if rng.random() < 0.5 else -x


def noisy_table(table: dict[int, int], size: int, alpha: float, rng: np.random.Generator) -> dict[int, int]:
    return {place: table.get(place, 0) + noise(alpha, rng) for place in range(size)}


def filter_(table, size, alpha, rng, theta, two_sided=True):
    full = noisy_table(table, size, alpha, rng)
    return {i: v for i, v in full.items() if (abs(v) if two_sided else v) >= theta}, 0.0


def threshold(table, size, alpha, rng, tau):
    chosen = {}
    for i, v in noisy_table(table, size, alpha, rng).items():
        if rng.random() < min(abs(v) / tau, 1):
            chosen[i] = v
    return chosen, tau


def priority(table, size, alpha, rng, s, theta=0.0):
    """The s largest of |v|/r; the next one is the threshold. Cells below θ are zero, and zeros come last in any order."""
    ranked = []
    for i, v in noisy_table(table, size, alpha, rng).items():
        if abs(v) >= theta:
            ranked.append((abs(v) / (1 - rng.random()), rng.random(), i, v))
    ranked.sort(reverse=True)
    tau = ranked[s][0] if len(ranked) > s else 0.0
    return {i: v for _, _, i, v in ranked[:s]}, tau


def weight(value: float, tau: float) -> float:
    return math.copysign(max(abs(value), tau), value)


def levels(size: int) -> int:
    """Height of the binary tree over the padded domain."""
    height = 0
    while 2**height < size:
        height += 1
    return height


def starts(size: int) -> list[int]:
    """First place of each dyadic level, leaves first; a level has the nodes that touch the domain."""
    first, total = [], 0
    for level in range(levels(size) + 1):
        first.append(total)
        total += math.ceil(size / 2**level)
    return [*first, total]


def dyadic(table: dict[int, int], size: int) -> dict[int, int]:
    first, nodes = starts(size), {}
    for level in range(levels(size) + 1):
        for cell, count in table.items():
            place = first[level] + cell // 2**level
            nodes[place] = nodes.get(place, 0) + count
    return nodes


def haar(table: dict[int, int], size: int) -> dict[int, int]:
    """Left half minus right half of every node above the leaves, and the total; zeros left out."""
    first, found = starts(size), {}
    for level in range(1, levels(size) + 1):
        for node in range(math.ceil(size / 2**level)):
            middle = node * 2**level + 2 ** (level - 1)
            left = sum(c for cell, c in table.items() if node * 2**level <= cell < middle)
            right = sum(c for cell, c in table.items() if middle <= cell < (node + 1) * 2**level)
            if left != right:
                found[first[level] - size + node] = left - right
    total = sum(table.values())
    return found | ({starts(size)[-1] - size: total} if total else {})


def haar_cell(coefficient: dict[int, float], size: int, cell: int) -> float:
    """One cell from the coefficients on its path."""
    first, h = starts(size), levels(size)
    value = coefficient.get(first[-1] - size, 0) / 2**h
    for level in range(1, h + 1):
        c = coefficient.get(first[level] - size + cell // 2**level, 0)
        value += (c if cell % 2**level < 2 ** (level - 1) else -c) / 2**level
    return value


def dyadic_range(nodes: dict[int, float], size: int, lo: int, hi: int) -> float:
    """From the root down: a node inside the range is taken, one that touches it is split. What lies beyond the domain
    is zero, so a range that reaches its end reaches that of the tree."""
    first = starts(size)
    hi = 2 ** levels(size) if hi == size else hi

    def visit(level: int, index: int) -> float:
        start, end = index * 2**level, (index + 1) * 2**level
        if end <= lo or start >= hi or start >= size:
            return 0.0
        if lo <= start and end <= hi:
            return nodes.get(first[level] + index, 0.0)
        return visit(level - 1, 2 * index) + visit(level - 1, 2 * index + 1)

    return visit(levels(size), 0) if lo < hi else 0.0


def consistent(places: set[int], size: int) -> set[int]:
    """Drop every place of which some ancestor is not there."""
    first = starts(size)
    kept = set()
    for place in places:
        level = max(i for i in range(levels(size) + 1) if first[i] <= place)
        index = place - first[level]
        ancestors = {first[up] + index // 2 ** (up - level) for up in range(level + 1, levels(size) + 1)}
        if ancestors <= places:
            kept.add(place)
    return kept


def product(table: dict[tuple[int, ...], int], shape: tuple[int, ...]) -> dict[tuple[int, ...], int]:
    """Sums over products of dyadic ranges, by one place per attribute: every combination of levels of every cell."""
    nodes: dict[tuple[int, ...], int] = {}
    for cell, count in table.items():
        paths = [
            [starts(m)[level] + x // 2**level for level in range(levels(m) + 1)]
            for x, m in zip(cell, shape, strict=True)
        ]
        for places in itertools.product(*paths):
            nodes[places] = nodes.get(places, 0) + count
    return nodes


def product_cover(lo: tuple[int, ...], hi: tuple[int, ...], shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    """The nodes that make up a rectangle: all products of those that make up its sides."""
    sides = []
    for a, b, m in zip(lo, hi, shape, strict=True):
        # One node at a time is worth one: those that are not nought are in the cover.
        sides.append([place for place in range(starts(m)[-1]) if dyadic_range({place: 1.0}, m, a, b)])
    return list(itertools.product(*sides))


def rectangle(table: dict[tuple[int, ...], int], lo: tuple[int, ...], hi: tuple[int, ...]) -> int:
    inside = (c for cell, c in table.items() if all(a <= x < b for a, x, b in zip(lo, cell, hi, strict=True)))
    return sum(inside)


def mean_stopped(alpha: float, theta: float, terms: int = 4000) -> float:
    """E[x | x < θ] of the noise, by its series."""
    kept = [(x, (1 - alpha) / (1 + alpha) * alpha ** abs(x)) for x in range(-terms, math.ceil(theta))]
    return sum(x * p for x, p in kept) / sum(p for _, p in kept)


# The paper's formulas as written, at whole τ, and the series they stand for.


def sample_series(alpha: float, tau: float, theta: float, terms: int = 6000) -> np.ndarray:
    """P[v, chosen] of a zero cell for v = 0 .. terms - 1 (both signs together from 1 on)."""
    v = np.arange(terms)
    mass = (1 - alpha) / (1 + alpha) * alpha**v * np.where(v > 0, 2, 1)
    return np.where(v >= theta, mass * np.minimum(v / tau, 1), 0)


def paper_threshold(a: float, tau: int) -> float:
    return 2 * a * (1 - a**tau) / (tau * (1 - a**2))


def paper_filter_threshold(a: float, tau: int, theta: int) -> float:
    return 2 / (tau * (1 - a**2)) * (theta * a**theta - (theta - 1) * a ** (theta + 1) - a ** (tau + 1))


def paper_cdf(a: float, tau: int, v: int) -> float:
    c = 1 / (2 * a * (1 - a**tau))
    if v <= -tau:
        return tau * a**-v * c * (1 - a)
    if v <= 0:
        return c * (-v * a**-v + (v + 1) * a ** (1 - v) - a ** (tau + 1))
    if v <= tau:
        return 0.5 + a * c * (1 - (v + 1) * a**v + v * a ** (v + 1))
    return 0.5 + a * c * (1 - a**tau - tau * a**v * (1 - a))
