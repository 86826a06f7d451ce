"""The exponential mechanism over all sets of K columns by their canonical loss. Used by selection.py."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray


class CanonicalSubset:
    """A set S of K columns with probability ∝ exp(-ε loss/2), loss = the largest count outside S - the least in S, at least 0
    (a law for `Noise.draw`).

    By descending count, let a be the best rank outside S and b the worst rank in S: the loss is c_(a) - c_(b), and there are
    C(b-a-1, K-a) such sets. Equal counts are summed at once: over the ranks b in (r, e] that have one count these numbers add
    up to C(e-a, K-a+1) - C(r-a, K-a+1). So a draw costs K times the number of distinct counts.
    """

    def __init__(self, order: NDArray[np.int64], counts: NDArray[np.int64], k: int, epsilon: float) -> None:
        """`order` holds the columns by descending count, `counts` these counts."""
        self.order, self.counts, self.k, self.epsilon = order, counts, k, epsilon
        rest = counts[k:]
        first = np.flatnonzero(np.diff(rest, prepend=rest[0] + 1)) if rest.size else np.zeros(0, dtype=np.int64)
        self.ends = np.append(first[1:], rest.size)[: first.size] + k  # e of each group of equal counts
        self.begins = first + k  # r
        best = np.arange(1, k + 1)[:, None]  # a
        size = k - best + 1
        upper, lower = _log_choose(self.ends - best, size), _log_choose(self.begins - best, size)
        with np.errstate(divide="ignore"):
            self.sets = upper + np.log(-np.expm1(np.minimum(0.0, lower - upper)))
        self.logs = self.sets - epsilon / 2 * (counts[:k, None] - rest[first])
        self.total = float(np.logaddexp(0.0, np.logaddexp.reduce(self.logs, axis=None, initial=-np.inf)))

    def draw(self, rng: np.random.Generator) -> NDArray[np.int64]:
        """The chosen columns, ascending: a set has no order."""
        if rng.random() < math.exp(-self.total):  # the K largest, which alone have no loss in any case
            return np.sort(self.order[: self.k])
        at = int(np.argmax(self.logs + rng.gumbel(size=self.logs.shape)))
        a, group = at // self.logs.shape[1] + 1, at % self.logs.shape[1]
        b = self._worst(a, int(self.begins[group]), int(self.ends[group]), rng.random())
        between = a + rng.choice(b - a - 1, self.k - a, replace=False, shuffle=False)  # ranks a+1 to b-1, from 0
        places = np.concatenate([np.arange(a - 1), between, [b - 1]])
        return np.sort(self.order[places.astype(np.int64)])

    def log_probability(self, outcome: NDArray[np.int64]) -> float:
        """-ε/2 times its loss, less the logarithm of the sum over all sets."""
        chosen = np.asarray(outcome)
        inside = np.isin(self.order, chosen)
        if chosen.size != self.k or int(inside.sum()) != self.k:
            return -math.inf
        outside = self.counts[~inside].max(initial=self.counts[inside].min())
        return -self.epsilon / 2 * float(max(0, outside - self.counts[inside].min())) - self.total

    def outcomes(self) -> Iterator[NDArray[np.int64]]:
        """Every set of K columns: for audits of small data."""
        return (np.array(s, dtype=np.int64) for s in itertools.combinations(sorted(self.order.tolist()), self.k))

    def _worst(self, a: int, begin: int, end: int, uniform: float) -> int:
        """b in (begin, end] with probability ∝ C(b-a-1, K-a): the first whose cumulated number exceeds a uniform part."""
        size = self.k - a + 1
        low, high = (float(_log_choose(np.array(e - a), np.array(size))) for e in (begin, end))
        # ln of C(r-a, .) + uniform times the number of sets in the group
        target = np.logaddexp(low, high + math.log1p(-math.exp(low - high)) + math.log(max(uniform, 1e-300)))
        while end - begin > 1:
            middle = (begin + end) // 2
            if float(_log_choose(np.array(middle - a), np.array(size))) > target:
                end = middle
            else:
                begin = middle
        return end


def _log_choose(n: NDArray[np.int64], k: NDArray[np.int64]) -> NDArray[np.float64]:
    """ln C(n, k), -inf if k is above n."""
    from scipy.special import gammaln

    with np.errstate(invalid="ignore", divide="ignore"):
        logs = gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(np.maximum(n - k, 0) + 1.0)
    return np.asarray(np.where(k > n, -np.inf, logs))
