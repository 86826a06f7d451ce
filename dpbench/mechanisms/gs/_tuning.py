"""The best group size of GS (gs, Figure 6, Lines 5-11), and the error of every group size (Figure 8).

Sort the estimate c̃ once and keep prefix sums. A group is then an interval of ranks, its average is a difference of two
prefix sums, and its L1 distance to a value v needs only the split point: how many of its members are at most v. As the whole
estimate is sorted, that is the rank of v, limited to the interval. So a group costs a few memory accesses.

All w together have Σ_w d/w ≈ d ln d groups (`tuning_curve`). The best w needs far fewer (`best_group_size`). Its simulated
error L1(w) is a sum over G = ⌊d/w⌋ groups, each with noise of magnitude (scale/w) E and a random sign, E ~ Exp(1). A size
is skipped if a lower bound of its L1 is not below the best L1 so far:

- Smoothing. Σ|x - v| over a group is least at its median, whatever the noise makes of v, and only decreases when the group
  is cut into parts. So the blocks of 2^k sorted values inside a group give a lower bound; blocks cut by a border between
  two groups, at most one per border, are left out.
- Noise. Σ|x - mean - η| over a group is at least (its size) |η|, as the distances to the mean cancel. So L1(w) is at least
  scale S, where S is the sum of all E. S ~ Gamma(G) is drawn first, as one number. The E are drawn only if w is evaluated,
  as exponentials rescaled to the sum S, which has the same distribution.

Smoothing costs most in the tails of the estimate, noise in its dense middle. So there are three parts, each with an S of its own
and the larger of its two bounds. The tails are evaluated first, because there the bounds are the least close.
All bounds hold for the noise that w really gets, so w* and L1(w*) have the distribution of the search over every w.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpbench.mechanisms.gs._grouping import averages_of, group_ids
from dpbench.numerics.compiled import kernel

BATCH = 128
"""Groups evaluated together, so that their memory accesses overlap."""
STEP = 1.1
"""Ratio of the group sizes evaluated first, from large to small, so that a good best value is found early."""
SMALLEST = 4
"""Blocks of fewer than 2^SMALLEST values would cost more than they save."""
FINE, COARSE = 6, 3
"""Blocks of w/2^FINE to w/2^COARSE values give a bound with one look-up each, larger ones border by border."""
STRIDE = 4
"""Only every STRIDE-th value is looked at to find where the buckets of values begin."""
TAIL, PARTS = 24, (2, 0, 1)
"""One TAIL-th of all groups has the largest values, another the smallest. Evaluated in this order: largest, smallest, others."""


def estimated_l1(estimate: np.ndarray, w: int, scale: float, rng: np.random.Generator) -> float:
    """L1 between the sorted estimate c̃ and a simulated release t_w of it (Lines 6-11): noise Lap(scale/w) per group."""
    g_w = group_ids(estimate.size, w)
    noise = np.subtract(*rng.standard_exponential((estimate.size // w, 2)).T)
    released = averages_of(estimate, g_w) + scale / w * noise
    return float(np.abs(estimate - released[g_w]).sum())


def tuning_curve_direct(estimate: np.ndarray, scale: float, rng: np.random.Generator) -> np.ndarray:
    """`tuning_curve` as in the pseudocode, O(d²): the reference in `bench`. Draws the same noise."""
    return np.array([estimated_l1(estimate, w, scale, rng) for w in range(1, estimate.size + 1)])


def tuning_curve(estimate: np.ndarray, scale: float, rng: np.random.Generator) -> np.ndarray:
    """`estimated_l1` of every w from 1 to d (element w - 1), exact, in about d ln d steps."""
    table = sorted_table(estimate)
    return _curve(table, rank_index(table), scale, rng)


def sorted_table(estimate: NDArray[np.float64]) -> NDArray[np.float64]:
    """The sorted values beside their prefix sums, because both are read at the same position."""
    # Allocated by numpy, which asks for large pages of memory; a kernel does not, and the search jumps all over the table.
    table = np.empty((estimate.size + 1, 2))
    if not _fill_table(estimate, table):
        raise ValueError("the estimate is not sorted: the search would read outside its arrays")
    return table


@kernel()
def _fill_table(estimate, table):  # type: ignore[no-untyped-def]
    """Whether the estimate is sorted. L1 does not change when all values are shifted; around zero the prefix sums stay small."""
    d, middle, total, before, rising = estimate.size, estimate[estimate.size // 2], 0.0, -np.inf, True
    for i in range(d):
        value = estimate[i] - middle
        rising &= value >= before
        before = value
        table[i, 0], table[i, 1] = value, total
        total += value
    table[d, 0], table[d, 1] = np.inf, total
    return rising


def best_group_size(estimate: NDArray[np.float64], scale: float, rng: np.random.Generator) -> tuple[int, float]:
    """w* = argmin_w L1(w) and that L1, as from `tuning_curve`: the same distribution, but not the same draws."""
    table = sorted_table(estimate)
    w, l1 = _search(table, rank_index(table), _blocks(table), _grid(estimate.size), scale, rng)
    return int(w), float(l1)


def _grid(d: int) -> NDArray[np.int64]:
    """The group sizes evaluated first, descending."""
    steps = np.arange(int(math.log(d) / math.log(STEP)) + 2)
    return np.unique((d / STEP**steps).astype(np.int64).clip(1, d))[::-1].copy()


def _blocks(
    table: NDArray[np.float64],
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """For each level k: where it begins in the other arrays; the distances of each block of 2^k sorted values to its
    median; their running sum; and the running sum of the largest of them."""
    d = table.shape[0] - 1
    sizes = [(d + (1 << k) - 1) >> k if k >= SMALLEST else 0 for k in range(d.bit_length())]
    first = np.concatenate([[0], np.cumsum([size + 1 for size in sizes])]).astype(np.int64)
    distances, running, largest = np.zeros(first[-1]), np.zeros(first[-1]), np.zeros(first[-1])
    for k, size in enumerate(sizes):
        of_level = distances[first[k] : first[k] + size]
        _distances(table, k, of_level)
        np.cumsum(of_level, out=running[first[k] + 1 : first[k + 1]])
        np.cumsum(np.sort(of_level)[::-1], out=largest[first[k] + 1 : first[k + 1]])
    return first, distances, running, largest


def rank_index(table: np.ndarray) -> tuple[np.ndarray, float, int, int]:
    """About the first rank of each bucket of values, so that the rank of any v is found in a few steps.

    The bucket of v is the top bits of the float |v| + centre: equal steps around zero, where most values are, and steps
    growing with |v| beyond, so that neither heavy tails nor outliers crowd a bucket. Returns the ranks, the
    centre, the number of bits dropped, and the bucket of zero less that of the smallest value.
    """
    values = table[:-1, 0]
    largest = max(abs(float(values[0])), abs(float(values[-1])))
    half_quartiles = float(values[3 * values.size // 4] - values[values.size // 4]) / 2
    centre = half_quartiles or largest * 2.0**-20 or 1.0
    octaves = math.log2(largest / centre + 1) + 1
    shift = 51 - int(math.log2(max(1.0, values.size / max(4.0, octaves))))
    ends = np.abs(values[[0, -1]]) + centre
    first, last = (ends.view(np.int64) >> shift) - (np.array(centre).view(np.int64) >> shift)
    origin = int(first) + 1 if values[0] < 0 else -int(first)
    buckets = origin + (int(last) if values[-1] >= 0 else -1 - int(last)) + 1
    ranks = np.empty(buckets + 1, dtype=np.int32 if values.size < 2**31 else np.int64)
    _fill_ranks(table, centre, shift, origin, ranks)
    return ranks, centre, shift, origin


@kernel()
def _fill_ranks(table, centre, shift, origin, ranks):  # type: ignore[no-untyped-def]
    """The first rank of each bucket, rounded up to a multiple of STRIDE; the values ascend, and so do their buckets."""
    d, filled = table.shape[0] - 1, 0
    float_bits = np.array([centre])
    bits = float_bits.view(np.int64)
    zero = bits[0] >> shift
    for i in range(0, d, STRIDE):
        float_bits[0] = abs(table[i, 0]) + centre
        bucket = (bits[0] >> shift) - zero
        bucket = origin + (bucket if table[i, 0] >= 0 else -1 - bucket)
        while filled <= bucket:
            ranks[filled] = i
            filled += 1
    ranks[filled:] = d


@kernel()
def _distances(table, k, distances):  # type: ignore[no-untyped-def]
    """Σ|x - median| of each block of 2^k values."""
    d = table.shape[0] - 1
    for i in range(distances.size):
        begin = i << k
        end = min(d, begin + (1 << k))
        middle = (begin + end) >> 1
        below, above = table[middle, 1] - table[begin, 1], table[end, 1] - table[middle, 1]
        odd = (end - middle) - (middle - begin)  # of an odd number, the median itself counts as 0
        distances[i] = max(0.0, above - below - odd * table[middle, 0])


@kernel()
def _batch_l1(table, index, w, begun, released, low, high):  # type: ignore[no-untyped-def]
    """L1 of the groups from number `begun` on. `released` holds the noise of each group, and afterwards the released averages.

    Most of the time is spent waiting for memory. So each loop reads what the next one needs, at places that it knows.
    """
    d = table.shape[0] - 1
    ranks, centre, shift, origin = index
    groups, last_bucket, l1 = d // w, ranks.size - 2, 0.0
    float_bits = np.empty(released.size + 1)
    bits = float_bits.view(np.int64)
    float_bits[-1] = centre
    zero = bits[-1] >> shift
    for k in range(released.size):
        begin = (begun + k) * w
        end = begin + w if begun + k < groups - 1 else d
        released[k] += (table[end, 1] - table[begin, 1]) / (end - begin)
        float_bits[k] = abs(released[k]) + centre
    for k in range(released.size):
        bucket = (bits[k] >> shift) - zero
        bucket = origin + (bucket if released[k] >= 0 else -1 - bucket)
        bucket = max(0, min(bucket, last_bucket))
        begin = (begun + k) * w
        end = begin + w if begun + k < groups - 1 else d
        low[k], high[k] = max(begin, ranks[bucket] - STRIDE + 1), min(end, ranks[bucket + 1])
    for k in range(released.size):  # read here, where no branch waits for them, and in the cache below
        float_bits[k] = table[low[k], 0] + table[min(d, low[k] + 3), 0]
    for k in range(released.size):
        begin = (begun + k) * w
        end = begin + w if begun + k < groups - 1 else d
        v = released[k]
        split, top = low[k], high[k]
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
    return l1


@kernel()
def _curve(table, index, scale, rng):  # type: ignore[no-untyped-def]
    """L1 of every w."""
    d = table.shape[0] - 1
    curve, released = np.empty(d), np.empty(BATCH)
    low, high = np.empty(BATCH, np.int64), np.empty(BATCH, np.int64)
    l1 = 0.0
    for _ in range(d):  # w = 1: the noise is the whole error
        l1 += abs(rng.standard_exponential() - rng.standard_exponential())
    curve[0] = l1 * scale
    for w in range(2, d + 1):
        l1 = 0.0
        for begun in range(0, d // w, BATCH):
            batch = min(BATCH, d // w - begun)
            for k in range(batch):  # the difference of two exponentials is Laplace, at half the cost
                released[k] = scale / w * (rng.standard_exponential() - rng.standard_exponential())
            l1 += _batch_l1(table, index, w, begun, released[:batch], low, high)
        curve[w - 1] = l1
    return curve


@kernel()
def _search(table, index, blocks, grid, scale, rng):  # type: ignore[no-untyped-def]
    """The best w and its L1: the grid first, then every other w from large to small."""
    d = table.shape[0] - 1
    best, best_w = np.inf, d
    first, _, running, largest = blocks
    scratch = (np.empty(d), np.empty(BATCH), np.empty(BATCH, np.int64), np.empty(BATCH, np.int64), np.empty(3))
    for w in grid:
        if _by_lookup(w, d // w, first, running, largest) < best:
            l1 = _simulated(table, index, blocks, scale, rng, w, best, scratch)
            if l1 < best:
                best, best_w = l1, w
    w, passed = d, 0
    while w > 0:
        if _by_lookup(w, d // w, first, running, largest) >= best:
            # The same bound holds for all smaller sizes with as many groups and the same blocks: go on below them.
            w = max(d // (d // w + 1), (1 << _level(w)) - 1)
            continue
        while passed < grid.size and grid[passed] > w:
            passed += 1
        if passed == grid.size or grid[passed] != w:
            l1 = _simulated(table, index, blocks, scale, rng, w, best, scratch)
            if l1 < best:
                best, best_w = l1, w
        w -= 1
    return best_w, best


@kernel()
def _simulated(table, index, blocks, scale, rng, w, best, scratch):  # type: ignore[no-untyped-def]
    """L1(w), or infinity as soon as it is certain not to be below `best`. `scratch`: arrays that are overwritten."""
    d = table.shape[0] - 1
    magnitudes, released, low, high, bounds = scratch
    groups = d // w
    tail = groups // TAIL
    ends = (0, tail, groups - tail, groups)
    for part in range(3):  # S of each part; bounds[part] is a lower bound of its L1 from here on
        members = ends[part + 1] - ends[part]
        bounds[part] = scale * rng.standard_gamma(members) if members else 0.0
    if bounds.sum() >= best:
        return np.inf
    sums = (bounds[0] / scale, bounds[1] / scale, bounds[2] / scale)
    _by_borders(w, ends, blocks, best, bounds)
    l1 = 0.0
    for part in PARTS:
        if l1 + (1 - 1e-9) * bounds.sum() >= best:  # the bounds are sums with rounding errors
            return np.inf
        begin, last = ends[part], ends[part + 1]
        total = 0.0
        for g in range(begin, last):
            magnitudes[g] = rng.standard_exponential()
            total += magnitudes[g]
        factor = sums[part] / total if total else 0.0  # makes their sum S
        rest = sums[part]
        while last > begin:  # from the largest values down
            begun = max(begin, last - BATCH)
            signs = rng.integers(0, 1 << 62)
            for k in range(last - begun):
                if k == 62 or k == 124:
                    signs = rng.integers(0, 1 << 62)
                e = factor * magnitudes[begun + k]
                rest -= e
                released[k] = scale / w * (e if signs & 1 else -e)
                signs >>= 1
            l1 += _batch_l1(table, index, w, begun, released[: last - begun], low, high)
            bounds[part] = scale * max(0.0, rest) if begun > begin else 0.0
            last = begun
            if l1 + (1 - 1e-9) * bounds.sum() >= best:
                return np.inf
    return l1


@kernel()
def _by_lookup(w, groups, first, running, largest):  # type: ignore[no-untyped-def]
    """A lower bound of Σ|x - median| over all groups: all blocks of a level except the largest ones, one per border."""
    top = _level(w)
    bound = 0.0
    for k in range(max(SMALLEST, top - FINE), max(SMALLEST, top - COARSE + 1)):
        cut = min(groups - 1, first[k + 1] - first[k] - 1)
        bound = max(bound, running[first[k + 1] - 1] - largest[first[k] + cut])
    return bound


@kernel()
def _by_borders(w, ends, blocks, enough, bounds):  # type: ignore[no-untyped-def]
    """Raise each part's bound to the same with larger blocks, without exactly those cut by borders. Stops once sufficient."""
    first, distances, running, _ = blocks
    top, groups = _level(w), ends[3]
    for k in range(max(SMALLEST, top - COARSE), max(SMALLEST, top)):
        at = first[k]
        for part in PARTS:
            begin, end = ends[part], ends[part + 1]
            if begin == end:
                continue
            after = at + ((begin * w) >> k) + 1 if begin else at
            before = at + ((end * w) >> k) if end < groups else first[k + 1] - 1
            smoothing = running[before] - running[after]
            if smoothing <= bounds[part]:
                continue
            for g in range(begin + 1, end):
                smoothing -= distances[at + ((g * w) >> k)]
            bounds[part] = max(bounds[part], smoothing)
            if bounds.sum() >= enough:
                return


@kernel()
def _level(w):  # type: ignore[no-untyped-def]
    """⌊log2 w⌋."""
    level = 0
    while (2 << level) <= w:
        level += 1
    return level
