"""The partition of a line that NoiseFirst chooses: buckets of similar noisy counts, by their squared deviations and a price.

Used by noise_first.py. Looks at noisy counts only.
"""

from __future__ import annotations

import numpy as np

from dpbench.mechanisms.histograms._buckets import bucket_starts
from dpbench.numerics.compiled import kernel


@kernel()
def best_buckets(values, price):  # type: ignore[no-untyped-def]
    """The first cells of the buckets that make Σ_b (Σ_{i in b} (x_i - mean_b)² + price) least.

    best[e] is the least cost of the first e cells. A start whose cost exceeds best[e] without the price can never be the start
    of the last bucket of a longer prefix, because splitting at e would be cheaper: it is dropped.
    """
    n = values.size
    sums = np.zeros(n + 1)
    squares = np.zeros(n + 1)
    centre = values.mean()  # smaller numbers lose less when squares are subtracted
    for i in range(n):
        off = values[i] - centre
        sums[i + 1] = sums[i] + off
        squares[i + 1] = squares[i] + off * off
    best = np.zeros(n + 1)
    last = np.zeros(n + 1, dtype=np.int64)
    alive = np.zeros(n + 1, dtype=np.int64)
    costs = np.zeros(n + 1)
    count = 0
    for end in range(1, n + 1):
        alive[count] = end - 1
        count += 1
        least = np.inf
        for j in range(count):
            start = alive[j]
            total = sums[end] - sums[start]
            costs[j] = best[start] + squares[end] - squares[start] - total * total / (end - start)
            if costs[j] < least:
                least = costs[j]
                last[end] = start
        best[end] = least + price
        kept = 0
        for j in range(count):
            if costs[j] <= best[end]:
                alive[kept] = alive[j]
                kept += 1
        count = kept
    return bucket_starts(last)
