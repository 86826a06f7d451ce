"""Groups of columns with similar counts: their averages, and the exact search for the best group size (gs, Figure 6).

For the search, sort the estimate c̃ once and keep prefix sums. A group is then an interval of ranks, its average a
difference of two prefix sums, and its L1 distance to one value v needs only the split point: how many of its members
are at most v. As the whole estimate is sorted, that is the rank of v, cut to the interval. So each of the
Σ_w d/w ≈ d ln d groups costs a few memory accesses, where evaluating every w directly costs d².
"""

from __future__ import annotations

import math

import numpy as np

from dpbench.numerics.compiled import kernel
from dpbench.privacy import Noise

BATCH = 128
"""Groups evaluated together, so that their memory accesses overlap."""


def group_ids(d: int, w: int) -> np.ndarray:
    """g_w as a vector: the group of each place in sorted order. ⌊d/w⌋ groups of w; the last holds w + (d mod w)."""
    return np.minimum(np.arange(d) // w, d // w - 1)


def smooth(counts: np.ndarray, order: np.ndarray, w: int, scale: float, noise: Noise) -> np.ndarray:
    """Module M_g: every count replaced by its group's average plus Lap(scale); groups are runs of w along `order`.

    Noise goes to the sums, which are whole numbers, scaled by the size of the group: the same law.
    """
    starts = np.arange(counts.size // w) * w
    sizes = np.diff(starts, append=counts.size)
    sums = np.add.reduceat(counts[order], starts)
    noisy = noise.laplace(sums, scale=scale * sizes, step="averages") / sizes
    published = np.empty(counts.size)
    published[order] = np.repeat(noisy, sizes)
    return published


def averages_of(values: np.ndarray, grouping: np.ndarray) -> np.ndarray:
    """The average of each group; `grouping` holds the group index of each value."""
    return np.bincount(grouping, weights=values) / np.bincount(grouping)


def estimated_l1(estimate: np.ndarray, w: int, scale: float, rng: np.random.Generator) -> float:
    """L1 between the sorted estimate c̃ and a simulated release t_w of it (Lines 6-11): noise Lap(scale/w) a group."""
    g_w = group_ids(estimate.size, w)
    noise = np.subtract(*rng.standard_exponential((estimate.size // w, 2)).T)
    released = averages_of(estimate, g_w) + scale / w * noise
    return float(np.abs(estimate - released[g_w]).sum())


def tuning_curve_direct(estimate: np.ndarray, scale: float, rng: np.random.Generator) -> np.ndarray:
    """`tuning_curve` as the pseudocode says it, O(d²): the yardstick of `bench`. Draws the same noise."""
    return np.array([estimated_l1(estimate, w, scale, rng) for w in range(1, estimate.size + 1)])


def tuning_curve(estimate: np.ndarray, scale: float, rng: np.random.Generator) -> np.ndarray:
    """`estimated_l1` of every w from 1 to d (element w - 1), exact, in about d ln d steps."""
    # L1 does not change when all values move; around zero the prefix sums stay small.
    values = estimate - estimate[estimate.size // 2]
    table = np.empty((values.size + 1, 2))
    table[:-1, 0], table[-1, 0] = values, np.inf
    table[0, 1] = 0.0
    np.cumsum(values, out=table[1:, 1])
    return _curve(table, *_rank_index(values), scale, rng)


def _rank_index(values: np.ndarray) -> tuple[np.ndarray, float, int, int]:
    """First rank of each bucket of values, so that the rank of any v is found in a step or two.

    The bucket of v is the top bits of the float |v| + centre: even steps around zero, where most values are, and steps
    growing with |v| beyond, so that neither heavy tails nor outliers crowd a bucket. Returns the ranks, the
    centre, the number of bits dropped, and the bucket of zero less that of the smallest value.
    """
    largest = max(abs(float(values[0])), abs(float(values[-1])))
    half_quartiles = float(values[3 * values.size // 4] - values[values.size // 4]) / 2
    centre = half_quartiles or largest * 2.0**-20 or 1.0
    octaves = math.log2(largest / centre + 1) + 1
    shift = 52 - int(math.log2(max(1.0, values.size / max(4.0, octaves))))
    # In place from here on: at millions of values the time goes into fresh memory.
    sums = np.abs(values)
    sums += centre
    bucket = sums.view(np.int64)
    bucket >>= shift
    bucket -= np.array(centre).view(np.int64) >> shift
    below = bucket[: np.searchsorted(values, 0.0)]
    np.invert(below, out=below)  # -1 - bucket
    origin = -int(bucket[0])
    bucket += origin
    ranks = np.zeros(int(bucket[-1]) + 2, dtype=np.int32 if values.size < 2**31 else np.int64)
    np.cumsum(np.bincount(bucket), dtype=ranks.dtype, out=ranks[1:])
    return ranks, centre, shift, origin


@kernel()
def _curve(table, ranks, centre, shift, origin, scale, rng):  # type: ignore[no-untyped-def]
    """L1 of every w. `table` holds the sorted values beside their prefix sums, as both are read at the same place."""
    d = table.shape[0] - 1
    last_bucket = ranks.size - 2
    curve = np.empty(d)
    released, float_bits = np.empty(BATCH), np.empty(BATCH)
    bits = float_bits.view(np.int64)
    float_bits[0] = centre
    zero = bits[0] >> shift
    low, high = np.empty(BATCH, np.int64), np.empty(BATCH, np.int64)

    l1 = 0.0
    for _ in range(d):  # w = 1: the noise is the whole error
        l1 += abs(rng.standard_exponential() - rng.standard_exponential())
    curve[0] = l1 * scale

    for w in range(2, d + 1):
        groups, noise_scale, l1 = d // w, scale / w, 0.0
        for first in range(0, groups, BATCH):
            batch = min(BATCH, groups - first)
            for k in range(batch):  # the difference of two exponentials is Laplace, at half the cost of its logarithm
                released[k] = noise_scale * (rng.standard_exponential() - rng.standard_exponential())
            for k in range(batch):
                begin = (first + k) * w
                end = begin + w if first + k < groups - 1 else d
                released[k] += (table[end, 1] - table[begin, 1]) / (end - begin)
                float_bits[k] = abs(released[k]) + centre
            for k in range(batch):
                bucket = (bits[k] >> shift) - zero
                bucket = origin + (bucket if released[k] >= 0 else -1 - bucket)
                bucket = max(0, min(bucket, last_bucket))
                low[k], high[k] = ranks[bucket], ranks[bucket + 1]
            for k in range(batch):
                begin = (first + k) * w
                end = begin + w if first + k < groups - 1 else d
                v = released[k]
                split, top = max(begin, low[k]), min(end, high[k])
                while top - split > 8:
                    middle = (split + top) >> 1
                    if table[middle, 0] <= v:
                        split = middle + 1
                    else:
                        top = middle
                while split < top and table[split, 0] <= v:
                    split += 1
                split = min(split, end)
                l1 += v * (2 * split - begin - end) + table[begin, 1] + table[end, 1] - 2 * table[split, 1]
        curve[w - 1] = l1
    return curve
