"""Private choice of the K largest counts: permute-and-flip peeling, and the joint exponential mechanism.

Both depend on counts only through their order and values, so columns of equal count are drawn as groups. What is cut off
to bound the work has a total probability below e^-40.
"""

from __future__ import annotations

import bisect
import functools
import itertools
import math
from collections.abc import Iterator

import numpy as np

NEVER = 40.0  # -log of the probability that is treated as zero
ENUMERATED = 200  # most columns for which the probability of a sequence of peeling is computed


class Peeling:
    """K rounds of "largest count plus one-sided exponential noise", which is permute-and-flip (a law for `Noise.draw`).

    The largest noise of m columns of equal count is drawn at once, so the cost of a round is the number of distinct counts.
    """

    def __init__(self, order: np.ndarray, counts: np.ndarray, k: int, scale: float) -> None:
        """`order` holds the columns by descending count, `counts` these counts."""
        self.order, self.counts, self.k, self.scale = order, counts, k, scale

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        """The chosen columns, in order."""
        counts, k, scale = self.counts, self.k, self.scale
        reach = int(np.searchsorted(-counts, -(counts[k - 1] - scale * (math.log(counts.size) + NEVER)), side="right"))
        values, starts, sizes = np.unique(-counts[:reach], return_index=True, return_counts=True)
        values, left, chosen = -values.astype(np.float64), sizes.astype(np.float64), np.empty(k, dtype=np.int64)
        for turn in range(k):
            noise = -scale * np.log(-np.expm1(-rng.standard_exponential(left.size) / np.maximum(left, 1.0)))
            chosen[turn] = np.argmax(np.where(left > 0, values + noise, -np.inf))
            left[chosen[turn]] -= 1
        places = np.empty(k, dtype=np.int64)
        for group in np.unique(chosen):
            turns = np.flatnonzero(chosen == group)
            places[turns] = starts[group] + rng.choice(int(sizes[group]), turns.size, replace=False)
        return self.order[places]

    def log_probability(self, outcome: np.ndarray) -> float:
        """Round by round q_i ∫ Π_{j≠i} (1 - q_j t) dt over 0 ≤ t ≤ 1 with coins q = exp((c - c_max)/scale): coins are tossed
        at random times, and i's is the first success. The integrand is a polynomial, integrated exactly."""
        if self.counts.size > ENUMERATED:
            raise NotImplementedError(
                f"the integral is exact up to {ENUMERATED} columns, but there are {self.counts.size}"
            )
        times, weights = _quadrature(self.counts.size // 2 + 1)
        left = dict(zip(self.order.tolist(), self.counts.tolist(), strict=True))
        total = 0.0
        for column in np.asarray(outcome).tolist():
            if column not in left:
                return -math.inf
            count, best = left.pop(column), max(left.values(), default=-math.inf)
            best = max(best, count)
            others = np.exp((np.array(list(left.values()), dtype=np.float64) - best) / self.scale)
            alive = np.prod(1 - np.outer(times, others), axis=1)
            total += (count - best) / self.scale + math.log(float(weights @ alive))
        return total

    def outcomes(self) -> Iterator[np.ndarray]:
        """Every sequence of K columns: for audits of small data."""
        return _sequences(self.order, self.k)


class Joint:
    """The exponential mechanism over sequences s of K columns with utility -max_i (c_(i) - c_{s_i}), exponent ε/2 (a law
    for `Noise.draw`).

    A sequence has loss at most v if its i-th column is among the n_i(v) columns of count c_(i) - v or more. These sets
    are nested, so there are Π_i (n_i(v) - i + 1) of them. Those with loss v exactly are split by the first place t where
    it is reached; t's column is then outside all sets before it, and the number of sequences is again a product.
    """

    def __init__(self, order: np.ndarray, counts: np.ndarray, k: int, epsilon: float) -> None:
        """`order` holds the columns by descending count, `counts` these counts, whole numbers."""
        self.order, self.k, self.epsilon = order, k, epsilon
        self.rising = np.ascontiguousarray(counts[::-1])
        self.best = counts[:k]
        # No weight beyond `limit` matters: there are at most d^k sequences in all, and at least one without loss.
        sequences = k * math.log(counts.size) - math.log(-math.expm1(-epsilon / 2))
        limit = min(int(counts[0] - counts[-1]), math.ceil(2 / epsilon * (sequences + NEVER)))
        step = max(1, (1 << 21) // k)
        parts = [self._log_weights(np.arange(v, min(v + step, limit + 1))) for v in range(0, limit + 1, step)]
        logs = np.concatenate([np.logaddexp.reduce(part, axis=1) for part in parts]) - epsilon / 2 * np.arange(
            limit + 1
        )
        self.largest = float(logs.max())
        self.cumulated = np.cumsum(np.exp(logs - self.largest))

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        """The chosen columns, in order."""
        loss = int(np.searchsorted(self.cumulated, rng.random() * self.cumulated[-1], side="right"))
        logs = self._log_weights(np.array([loss]))[0]
        first = int(np.argmax(logs + rng.gumbel(size=self.k)))
        inside, within = self._sizes(np.array([loss - 1]))[0], self._sizes(np.array([loss]))[0]
        used: list[int] = []
        places = np.empty(self.k, dtype=np.int64)
        for i in range(self.k):
            if i == first:
                place = int(rng.integers(inside[i], within[i]))
            else:
                place = int(rng.integers((inside[i] if i < first else within[i]) - i))
                for other in used:  # ascending, to find the place-th unused column
                    place += other <= place
            bisect.insort(used, place)
            places[i] = place
        return self.order[places]

    def log_probability(self, outcome: np.ndarray) -> float:
        """-ε/2 times its loss, less the logarithm of the sum over all sequences."""
        counts = dict(zip(self.order.tolist(), self.rising[::-1].tolist(), strict=True))
        chosen = np.asarray(outcome).tolist()
        if len(set(chosen)) != self.k or not set(chosen) <= counts.keys():
            return -math.inf
        loss = max(best - counts[column] for best, column in zip(self.best.tolist(), chosen, strict=True))
        return -self.epsilon / 2 * loss - self.largest - math.log(float(self.cumulated[-1]))

    def outcomes(self) -> Iterator[np.ndarray]:
        """Every sequence of K columns: for audits of small data."""
        return _sequences(self.order, self.k)

    def _sizes(self, losses: np.ndarray) -> np.ndarray:
        """n_i(v): one row per loss, one column per position in the sequence."""
        return self.rising.size - np.searchsorted(self.rising, self.best - losses[:, None], side="left")

    def _log_weights(self, losses: np.ndarray) -> np.ndarray:
        """log of the number of sequences with loss v first reached at position t: one row per loss, one column per position."""
        order = np.arange(self.k)
        sizes = self._sizes(np.concatenate([[losses[0] - 1], losses]))
        before, now = sizes[:-1], sizes[1:]
        with np.errstate(divide="ignore"):
            log_before = np.log(np.maximum(before - order, 0))
            log_now = np.log(np.maximum(now - order, 0))
            log_here = np.log(now - before)
        head = np.zeros_like(log_before)
        np.cumsum(log_before[:, :-1], axis=1, out=head[:, 1:])
        tail = np.zeros_like(log_now)
        tail[:, :-1] = np.cumsum(log_now[:, :0:-1], axis=1)[:, ::-1]
        return head + log_here + tail


@functools.lru_cache(maxsize=ENUMERATED)
def _quadrature(nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of Gauss-Legendre quadrature on [0, 1]."""
    places, weights = np.polynomial.legendre.leggauss(nodes)
    return (places + 1) / 2, weights / 2


def _sequences(order: np.ndarray, k: int) -> Iterator[np.ndarray]:
    return (np.array(columns, dtype=np.int64) for columns in itertools.permutations(sorted(order.tolist()), k))
