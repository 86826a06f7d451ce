"""The distribution of the largest counts under Gumbel noise, and the noise that (ε, δ) requires. Used by gumbel.py."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np


class GumbelRanking:
    """The K largest of counts + Gumbel(scale), in order (a law for `Noise.draw`).

    The first column is chosen with probability ∝ exp(c/scale), the second likewise among the others, and so on: one draw of
    noise equals K rounds of the exponential mechanism. A `stop` is one more count that is not a column: the ranking ends there.
    """

    def __init__(
        self, columns: np.ndarray | None, counts: np.ndarray, k: int, scale: float, stop: float | None
    ) -> None:
        """`columns`: the columns that may be chosen, None for all; `counts`: their counts."""
        self.columns, self.counts, self.k, self.scale, self.stop = columns, counts, k, scale, stop

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        """The chosen columns, in order: K of them, or fewer if there is a stop."""
        noisy = rng.gumbel(0.0, self.scale, self.counts.size)
        noisy += self.counts
        if self.stop is not None:
            last = self.stop + rng.gumbel(0.0, self.scale)
            above = np.flatnonzero(noisy > last)
        else:
            above = np.argpartition(noisy, -self.k)[-self.k :]
        chosen = above[np.argsort(-noisy[above], kind="stable")][: self.k]
        return chosen if self.columns is None else self.columns[chosen]

    def log_probability(self, outcome: np.ndarray) -> float:
        """Round by round, c/scale less the logarithm of the sum of exp(c/scale) over those that are left."""
        columns = np.arange(self.counts.size) if self.columns is None else self.columns
        place = {column: at for at, column in enumerate(columns.tolist())}
        chosen = [place.get(column) for column in np.asarray(outcome).tolist()]
        short = len(chosen) < self.k
        if None in chosen or len(set(chosen)) != len(chosen) or len(chosen) > self.k or (short and self.stop is None):
            return -math.inf
        exponents: np.ndarray = self.counts / self.scale
        if self.stop is not None:
            exponents = np.append(exponents, self.stop / self.scale)
            chosen += [self.counts.size] if short else []
        total = 0.0
        for at in chosen:
            total += float(exponents[at]) - float(np.logaddexp.reduce(exponents))
            exponents[at] = -np.inf
        return total

    def outcomes(self) -> Iterator[np.ndarray]:
        """Every ranking, shorter ones too if there is a stop. For audits of small data."""
        columns = range(self.counts.size) if self.columns is None else sorted(self.columns.tolist())
        for length in range(0 if self.stop is not None else self.k, self.k + 1):
            yield from (np.array(chosen, dtype=np.int64) for chosen in itertools.permutations(columns, length))


def zcdp_rate(epsilon: float, delta: float, k: int) -> float:
    """e₀ such that K rounds of e₀ each are (ε, δ)-private by zero-concentrated privacy.

    A round whose log-ratios lie in a range of e₀ has ρ = e₀²/8 (Cesar and Rogers, 2021), K of them have K times as much,
    and ρ + 2 √(ρ ln 1/δ) = ε.
    """
    root = math.sqrt(math.log(1 / delta) + epsilon) - math.sqrt(math.log(1 / delta))  # √ρ
    return math.sqrt(8 / k) * root
