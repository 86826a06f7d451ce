"""The weighted Gaussian mechanism, which finds columns that many rows hold, and a ranking of what it found.

Used by selection.py. Gopi, Gulhane, Kulkarni, Shen, Shokouhi, Yekhanin: Differentially Private Set Union, ICML 2020.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dpbench.mechanisms.baselines._gumbel import GumbelRanking
from dpbench.numerics.gaussian import analytic_sigma

STEP, EARLIEST, LATEST = 0.1, 45.0, 4.0
"""The grid of ln(rate x time) for the probability of a ranking. Its trapezoidal sums are exact to about 1e-14."""


@functools.lru_cache(maxsize=64)
def discovery_noise(epsilon: float, delta: float, bound: int) -> tuple[float, float]:
    """σ and T: noise on the weights, and the threshold of a column, for rows of up to `bound` columns.

    A row of t columns adds 1/√t to each, 1 in L2: half of δ is for the noise. All of t new columns stay hidden with probability
    1 - δ/2 if T = 1/√t + σ Φ⁻¹((1-δ/2)^(1/t)). Without the row, outputs that show none of them are likelier by 1/(1-δ/2), which
    ε has to cover; where δ is larger than ε, less of it is for the threshold.
    """
    from scipy.special import ndtri

    shown = min(delta / 2, -math.expm1(-epsilon) / 2)
    sigma = analytic_sigma(epsilon + math.log1p(-shown), delta - shown)
    sizes = np.arange(1.0, bound + 1)
    return sigma, float((1 / np.sqrt(sizes) - sigma * ndtri(-np.expm1(math.log1p(-shown) / sizes))).max())


class DiscoveredRanking:
    """The K largest of counts + Gumbel(scale), among the columns whose weight + N(0, σ²) exceeds T (a law for `Noise.draw`).

    Both are one draw, as δ is spent on both: neither the weights nor the domain that was found is published.
    """

    def __init__(
        self,
        columns: NDArray[np.int64],
        weights: NDArray[np.float64],
        counts: NDArray[np.int64],
        k: int,
        scale: float,
        discovery: tuple[float, float],
    ) -> None:
        """`columns`: those that some row holds. `discovery`: σ and T."""
        self.columns, self.weights, self.counts, self.k, self.scale = columns, weights, counts, k, scale
        self.sigma, self.threshold = discovery

    def draw(self, rng: np.random.Generator) -> NDArray[np.int64]:
        """The chosen columns, best first; fewer than K if fewer were found."""
        found = np.flatnonzero(self.weights + rng.normal(0.0, self.sigma, self.weights.size) > self.threshold)
        return self._ranking(found).draw(rng) if found.size else found

    def log_probability(self, outcome: NDArray[np.int64]) -> float:
        """Each column found is a clock of rate exp(count/scale), one that was not found never rings; the ranking is the order in
        which the first K ring. Integrated over the time of the K-th; if fewer than K are named, no others were found."""
        chosen = np.asarray(outcome, dtype=np.int64)
        place = {column: at for at, column in enumerate(self.columns.tolist())}
        at = np.array([place.get(column, -1) for column in chosen.tolist()], dtype=np.int64)
        if chosen.size > self.k or np.any(at < 0) or np.unique(at).size != at.size:
            return -math.inf
        found, lost, times, clocks, alive = self._clocks
        named = float(found[at].sum())
        if chosen.size < self.k:
            missed = float(np.delete(lost, at).sum())
            return named + missed + (self._ranking(at).log_probability(chosen) if at.size else 0.0)
        others = alive.sum(axis=0) - alive[at].sum(axis=0)
        with np.errstate(divide="ignore"):
            rings = self.exponents[at[-1]] + times - clocks[at[-1]] + np.log(self._in_order(at[:-1], clocks))
        return named + float(np.logaddexp.reduce(others + rings)) + math.log(STEP)

    @functools.cached_property
    def exponents(self) -> NDArray[np.float64]:
        """The logarithms of the rates, up to a constant."""
        scaled = self.counts / self.scale
        return np.asarray(scaled - scaled.max(initial=0.0))

    @functools.cached_property
    def _clocks(self) -> tuple[NDArray[np.float64], ...]:
        """ln P[found] and ln P[not found] of each column; the logarithms of the times; rate x time; ln P[has not rung]."""
        from scipy.special import log_ndtr

        reach = (self.weights - self.threshold) / self.sigma
        found, lost = log_ndtr(reach), log_ndtr(-reach)
        times = np.arange(-EARLIEST, LATEST - float(self.exponents.min(initial=0.0)), STEP)
        with np.errstate(over="ignore"):
            clocks = np.exp(self.exponents[:, None] + times)
        return found, lost, times, clocks, np.logaddexp(lost[:, None], found[:, None] - clocks)

    def _in_order(self, at: NDArray[np.int64], clocks: NDArray[np.float64]) -> NDArray[np.float64]:
        """The probability that these clocks have all rung, in this order, at each time: a sum of exponentials."""
        weights, rates = [1.0], [np.zeros(clocks.shape[1])]
        speeds, sums = np.exp(self.exponents[at] - self.exponents[at].max(initial=-np.inf)), [0.0]
        for clock, speed in zip(clocks[at], speeds, strict=True):
            # The integral of speed exp(-speed s) times a sum of terms weight exp(-rate s), from 0 to t.
            parts = [weight * speed / (rate + speed) for weight, rate in zip(weights, sums, strict=True)]
            weights = [sum(parts), *(-part for part in parts)]
            rates, sums = [rates[0], *(rate + clock for rate in rates)], [0.0, *(rate + speed for rate in sums)]
        total = sum(weight * np.exp(-rate) for weight, rate in zip(weights, rates, strict=True))
        return np.maximum(0.0, np.asarray(total))

    def outcomes(self) -> Iterator[NDArray[np.int64]]:
        """Every ranking of up to K of the columns: for audits of small data."""
        for length in range(min(self.k, self.columns.size) + 1):
            for chosen in itertools.permutations(sorted(self.columns.tolist()), length):
                yield np.array(chosen, dtype=np.int64)

    def _ranking(self, places: NDArray[np.int64]) -> GumbelRanking:
        k = min(self.k, places.size)
        return GumbelRanking(self.columns[places], self.counts[places], k, self.scale, None)
