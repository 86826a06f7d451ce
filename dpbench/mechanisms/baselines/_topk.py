"""Private choice of the K largest counts: permute-and-flip peeling, and the joint exponential mechanism.

Both see counts only through their order and values, so columns of equal count are drawn as groups. What is cut off to
bound the work has a probability below e^-40 in all.
"""

from __future__ import annotations

import bisect
import math

import numpy as np

NEVER = 40.0  # -log of what counts as impossible


def peel(counts: np.ndarray, k: int, scale: float, rng: np.random.Generator) -> np.ndarray:
    """K rounds of "largest count plus one-sided exponential noise", which is permute-and-flip; falling `counts` in,
    their chosen places out, in order.

    The largest noise of m columns of equal count is drawn at once, so a round costs the number of different counts.
    """
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
    return places


class Joint:
    """The exponential mechanism over sequences s of K columns with utility -max_i (c_(i) - c_{s_i}), exponent ε/2.

    A sequence has loss at most v when its i-th column is among the n_i(v) columns of count c_(i) - v or more. These sets
    are nested, so there are Π_i (n_i(v) - i + 1) of them. Those with loss v exactly are split by the first place t where
    it is reached; t's column is then outside all sets before it, and the number of sequences is again a product.
    """

    def __init__(self, counts: np.ndarray, k: int, epsilon: float) -> None:
        """`counts` falling, whole numbers."""
        self.k = k
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
        self.cumulated = np.cumsum(np.exp(logs - logs.max()))

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        """Places of the chosen columns among the falling counts, in order."""
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
                for other in used:  # ascending: the place-th of those not used
                    place += other <= place
            bisect.insort(used, place)
            places[i] = place
        return places

    def _sizes(self, losses: np.ndarray) -> np.ndarray:
        """n_i(v): a row a loss, a column a place of the sequence."""
        return self.rising.size - np.searchsorted(self.rising, self.best - losses[:, None], side="left")

    def _log_weights(self, losses: np.ndarray) -> np.ndarray:
        """log of the number of sequences with loss v first reached at place t: a row a loss, a column a place."""
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
