"""Column counts: the tuning of GS and column sampling."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dpbench.bench.base import Row, seconds


def gs() -> Iterator[Row]:
    """GS tuning against the direct O(d²) evaluation, and at Checkin's number of columns."""
    from dpbench.mechanisms.gs._grouping import tuning_curve, tuning_curve_direct

    rng = np.random.default_rng(0)
    d, delta, epsilon = 17_770, 17_000, np.log(2)
    estimate = np.sort(delta * rng.lognormal(0, 2, d))
    scale = 2 * delta / epsilon
    tuning_curve(estimate[:10], scale, rng)
    fast = seconds(lambda: tuning_curve(estimate, scale, rng))
    direct = seconds(lambda: tuning_curve_direct(estimate, scale, rng), repeat=1)
    ratio = direct / fast
    text = f"{ratio:.0f} x ({1e3 * fast:.1f} ms against {direct:.2f} s)"
    yield Row("GS tuning, every w, d = 17,770, against the O(d²) loop", text, "at least 300 x", ratio >= 300)
    large = np.sort(rng.laplace(0, 2175.0, 5_977_758))
    took = seconds(lambda: tuning_curve(large, 2 * 2175 / epsilon, rng), repeat=1)
    # As a ratio, because machines differ: about 10 s where the direct loop above takes 4 s.
    text = f"{took:.1f} s, {took / direct:.2f} x the O(d²) loop at d = 17,770"
    yield Row("GS tuning, every w, d = 5,977,758, one core", text, "about 10 s, 2.5 x", took <= 3.5 * direct)


def column_sampling() -> Iterator[Row]:
    """One random 1 a row against a random gather of n elements from the same array."""
    from dpbench.mechanisms.gs._sampling import sample_columns

    rng = np.random.default_rng(0)
    n, per_row = 1_000_000, 50
    indices = rng.integers(0, 20_000, n * per_row, dtype=np.int32)
    indptr = np.arange(0, n * per_row + 1, per_row, dtype=np.int64)
    places = rng.integers(0, indices.size, n)
    sample_columns(indptr[:2], indices[:per_row], rng)
    sample = seconds(lambda: sample_columns(indptr, indices, rng))
    gather = seconds(lambda: indices[places])
    text = f"{sample / gather:.2f} x ({1e3 * sample:.1f} ms)"
    yield Row("column sampling, n = 1,000,000 rows, against a random gather", text, "at most 3 x", sample <= 3 * gather)
