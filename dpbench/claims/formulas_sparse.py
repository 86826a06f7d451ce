"""Claims of sparse decided by computation: its closed forms against their series, and the shortcut against the laborious form.

Rates, distributions and draws are those of the mechanisms; the series and the laborious form are written here, from the text.
Imported by `formulas.py`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np

from dpbench.claims.computed import Computed, largest

ALPHAS = tuple(math.exp(-epsilon) for epsilon in (0.1, 0.5, 1.0, 2.0))
FAR = 60
"""Noise beyond FAR/ε has a probability below e^-60."""


def _mass(alpha: float, value: int) -> float:
    """P[noise = value]."""
    return (1 - alpha) / (1 + alpha) * alpha ** abs(value)


def _values(alpha: float) -> range:
    reach = math.ceil(FAR / -math.log(alpha))
    return range(-reach, reach + 1)


def _off(ours: float, series: float) -> float:
    return abs(ours / series - 1)


def sparse_p_theta() -> Computed:
    """The relative difference between p_θ and the summed probability that noise passes the filter, on one side and on both."""
    from dpbench.mechanisms.sparse._zeros import pass_probability

    return largest(
        _off(
            pass_probability(alpha, theta, two_sided),
            math.fsum(_mass(alpha, v) for v in _values(alpha) if (abs(v) if two_sided else v) >= theta),
        )
        for alpha in ALPHAS
        for theta in (1, 2, 5, 20)
        for two_sided in (True, False)
    )


def _chosen(alpha: float, theta: int, tau: float) -> dict[int, float]:
    """The probability of each noisy value of a zero, and that it passes θ and is sampled with min(|v|/τ, 1)."""
    return {v: _mass(alpha, v) * min(abs(v) / tau, 1) for v in _values(alpha) if abs(v) >= theta and v != 0}


def sparse_p_theta_tau() -> Computed:
    """The relative difference between the printed p_{θ,τ} (p_τ at θ = 1) and its series, for whole θ up to τ."""
    return largest(
        _off(
            2 / (tau * (1 - a**2)) * (theta * a**theta - (theta - 1) * a ** (theta + 1) - a ** (tau + 1)),
            math.fsum(_chosen(a, theta, tau).values()),
        )
        for a in ALPHAS
        for tau in (1, 2, 5, 20)
        for theta in (1, 2, 5, 20)
        if theta <= tau
    )


def sparse_real_tau() -> Computed:
    """The relative error of the printed p_τ at real τ of at least 1, which priorities of whole counts have, at ε = 0.1."""
    a = ALPHAS[0]
    return largest(
        _off(2 * a * (1 - a**tau) / (tau * (1 - a**2)), math.fsum(_chosen(a, 1, tau).values()))
        for tau in (1.5, 2.5, 10.5, 50.5, 200.5)
    )


def sparse_four_pieces() -> Computed:
    """The largest difference between the printed distribution function of a chosen zero, in four pieces, and its sums."""

    def printed(a: float, tau: int, v: int) -> float:
        c = 1 / (2 * a * (1 - a**tau))
        if v <= -tau:
            return tau * a**-v * c * (1 - a)
        if v <= 0:
            return c * (-v * a**-v + (v + 1) * a ** (1 - v) - a ** (tau + 1))
        if v <= tau:
            return 0.5 + a * c * (1 - (v + 1) * a**v + v * a ** (v + 1))
        return 0.5 + a * c * (1 - a**tau - tau * a**v * (1 - a))

    def summed(a: float, tau: int) -> Iterator[float]:
        chances = _chosen(a, 1, tau)
        total, below = math.fsum(chances.values()), 0.0
        for v in _values(a):
            below += chances.get(v, 0.0)
            if abs(v) <= 3 * tau + 3:
                yield abs(printed(a, tau, v) - below / total)

    return largest(off for a in ALPHAS for tau in (1, 2, 5, 20) for off in summed(a, tau))


def sparse_tau() -> Computed:
    """The expected size of a threshold sample with the τ of the formula, over the wanted size t."""

    def share(alpha: float, counts: tuple[int, ...], m: int, t: int) -> float:
        from dpbench.mechanisms.sparse._zeros import tau_for

        tau = tau_for(alpha, t, m, sum(counts))
        expected = math.fsum(_mass(alpha, v) * min(abs(count + v) / tau, 1) for count in counts for v in _values(alpha))
        zeros = math.fsum(_mass(alpha, v) * min(abs(v) / tau, 1) for v in _values(alpha))
        return (expected + (m - len(counts)) * zeros) / t

    return largest(
        share(alpha, counts, m, t)
        for alpha in ALPHAS
        for counts in ((1,), (100,) * 5, (1, 10, 100, 1000))
        for m in (10, 1000, 10**6)
        for t in (1, 5, 50)
        if t <= m
    )


def sparse_dyadic_nodes() -> Computed:
    """The number of distinct dyadic nodes above n non-zeros, over n (log₂(m/n) + 2), for every set of cells of a small domain."""

    def nodes(cells: tuple[int, ...], height: int) -> int:
        return len({(level, cell >> level) for cell in cells for level in range(height + 1)})

    return largest(
        nodes(cells, height) / (n * (height - math.log2(n) + 2))
        for height in (1, 2, 3, 4)
        for n in range(1, min(2**height, 6) + 1)
        for cells in itertools.combinations(range(2**height), n)
    )


def sparse_sketch_variance() -> Computed:
    """The variance of a count sketch's estimate of one cell, over all signs and buckets, over (‖M‖₂² - c²)/w."""

    def ratio(counts: tuple[int, ...], w: int) -> float:
        m, errors = len(counts), []
        for signs in itertools.product((-1, 1), repeat=m):
            for buckets in itertools.product(range(w), repeat=m):
                inside = sum(s * c for s, c, b in zip(signs, counts, buckets, strict=True) if b == buckets[0])
                errors.append(signs[0] * inside - counts[0])
        others = sum(c * c for c in counts[1:])
        return float(np.mean(np.square(errors))) / (others / w)

    return largest(abs(ratio(counts, w) - 1) for counts in ((1, 1), (3, 0, 2), (1, 2, 3, 4)) for w in (1, 2, 3))


def sparse_shortcut() -> Computed:
    """The total variation distance between the shortcut and the laborious form of a summary, over all outcomes.

    Three zeros and noise up to ±V; the shortcut draws k ~ Bin(3, p), uniform places, and each value by its distribution function,
    as the mechanisms do; the laborious form draws every zero. More noise than V is one outcome, "beyond".
    """
    return largest(
        _variation(alpha, rule, parameter)
        for alpha in ALPHAS[1:]
        for rule in ("two-sided", "one-sided", "threshold")
        for parameter in (1, 2, 3)
    )


def _variation(alpha: float, rule: str, parameter: int, zeros: int = 3, reach: int = 4) -> float:
    from dpbench.mechanisms.sparse import _zeros

    seen = list(range(-reach, reach + 1))
    if rule == "threshold":
        keep = {v: min(abs(v) / parameter, 1.0) for v in _values(alpha)}
        p = float(_zeros.sample_probability(alpha, parameter))
        below = np.array([_zeros.sample_cdf(alpha, parameter, v) for v in [seen[0] - 1, *seen]], dtype=float)
        law = dict(zip(seen, np.diff(below), strict=True))
    else:
        two = rule == "two-sided"
        keep = {v: float((abs(v) if two else v) >= parameter) for v in _values(alpha)}
        p = _zeros.pass_probability(alpha, parameter, two)
        # P[X ≤ x] = 1 - α^(x-θ+1), and a fair sign on both sides.
        tail = {v: (1 - alpha) * alpha ** (abs(v) - parameter) * float(abs(v) >= parameter) for v in seen}
        law = {v: tail[v] / 2 if two else tail[v] * (v > 0) for v in seen}
    laborious = {v: _mass(alpha, v) * keep[v] for v in seen if keep[v] > 0}
    laborious["none"] = math.fsum(_mass(alpha, v) * (1 - keep[v]) for v in keep)  # type: ignore[index]
    laborious["beyond"] = 1 - math.fsum(laborious.values())  # type: ignore[index]
    shortcut = {v: chance for v, chance in law.items() if chance > 0}
    shortcut["beyond"] = 1 - math.fsum(shortcut.values())  # type: ignore[index]
    total = 0.0
    for outcome in itertools.product(laborious, repeat=zeros):
        slow = math.prod(laborious[one] for one in outcome)
        chosen = [one for one in outcome if one != "none"]
        k = len(chosen)
        number = math.comb(zeros, k) * p**k * (1 - p) ** (zeros - k)
        fast = number / math.comb(zeros, k) * math.prod(shortcut.get(one, 0.0) for one in chosen)
        total += abs(slow - fast)
    return total / 2


def sparse_words() -> Computed:
    """Random words that the shortcuts draw on 10^12 cells over those on 10^6 cells, for the same non-zeros and output size.

    Counted, not timed: the counter of a Philox generator. The laborious form would draw at least one per cell.
    """
    return largest(_words(name, 10**12) / _words(name, 10**6) for name in ("filter", "threshold", "priority"))


def sparse_words_by_size() -> Computed:
    """The same for an output that is ten times larger, over ten: the cost per published entry."""
    return largest(
        _words(name, 10**8, 10**4) / _words(name, 10**8, 10**3) / 10 for name in ("filter", "threshold", "priority")
    )


def _words(name: str, m: int, t: int = 1000) -> float:
    from dpbench.mechanisms.sparse import _laws, _zeros
    from dpbench.mechanisms.tables import SparseTable

    alpha, n = math.exp(-0.1), 100
    table = SparseTable(size=m, places=np.arange(n, dtype=np.int64), values=np.full(n, 100), sensitivity=1)
    if name == "filter":
        law: _laws.PassingZeros | _laws.SampledZeros | _laws.PriorityZeros = _laws.PassingZeros(
            table, alpha, _zeros.theta_for(alpha, t, m), True
        )
    elif name == "threshold":
        law = _laws.SampledZeros(table, alpha, _zeros.tau_for(alpha, t, m, 100.0 * n))
    else:
        values = np.full(n, 100.0)
        law = _laws.PriorityZeros(table, alpha, 1, values, values / np.linspace(0.01, 1, n), t)
    bits = np.random.Philox(7)
    law.draw(np.random.Generator(bits))
    counter = bits.state["state"]["counter"]
    return 4.0 * sum(int(word) << (64 * i) for i, word in enumerate(counter))
