"""Column counts: the tuning of GS and column sampling."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dpbench.bench.base import FloorRow, ratios, seconds
from dpbench.data import Incidence


def gs() -> Iterator[FloorRow]:
    """GS tuning against the direct O(d²) evaluation, and a whole release at the size of Checkin against a sort."""
    from dpbench.mechanisms.gs._tuning import tuning_curve, tuning_curve_direct
    from dpbench.mechanisms.gs.grouping import GS

    rng = np.random.default_rng(0)
    d, delta, epsilon = 17_770, 17_000, np.log(2)
    estimate = np.sort(delta * rng.lognormal(0, 2, d))
    scale = 2 * delta / epsilon
    tuning_curve(estimate[:10], scale, rng)
    fast = seconds(lambda: tuning_curve(estimate, scale, rng))
    direct = seconds(lambda: tuning_curve_direct(estimate, scale, rng), repeat=1)
    ratio = direct / fast
    text = f"{ratio:.0f} x ({1e3 * fast:.1f} ms against {direct:.2f} s)"
    yield FloorRow("GS tuning, every w, d = 17,770, against the O(d²) loop", text, "at least 300 x", ratio >= 300)
    checkin, mechanism = _checkin(rng), GS(bound=2175)
    mechanism.release(checkin, epsilon, rng)  # a first release, so that the counts are already computed
    values = checkin.counts + rng.laplace(0, 2 / epsilon, checkin.columns)
    ratio, text = ratios(lambda: mechanism.release(checkin, epsilon, rng), lambda: np.argsort(values), repeat=5)
    # numpy sorts with the vector instructions that the processor has: about three times as fast with AVX2 or AVX-512.
    what = "GS release with its tuning, d = 5,977,758, against np.argsort"
    yield FloorRow(what, text, "at most 1.5 x", ratio <= 1.5)


def _checkin(rng: np.random.Generator) -> Incidence:
    """Data with Checkin's numbers of rows, columns and ones; a few places have most of the check-ins."""
    rows, columns, ones = 196_591, 5_977_758, 6_442_890
    sizes = rng.multinomial(ones, np.full(rows, 1 / rows))
    places = np.minimum(rng.pareto(1.0, ones) * 1e5, columns - 1).astype(np.int32)
    return Incidence(np.concatenate([[0], np.cumsum(sizes)]), places, columns)


def column_sampling() -> Iterator[FloorRow]:
    """One random 1 per row against a random gather of n elements from the same array."""
    from dpbench.mechanisms.gs._sampling import sample_columns

    rng = np.random.default_rng(0)
    n, per_row = 1_000_000, 50
    indices = rng.integers(0, 20_000, n * per_row, dtype=np.int32)
    indptr = np.arange(0, n * per_row + 1, per_row, dtype=np.int64)
    places = rng.integers(0, indices.size, n)
    sample_columns(indptr[:2], indices[:per_row], rng)
    ratio, text = ratios(lambda: sample_columns(indptr, indices, rng), lambda: indices[places], repeat=15)
    what = "column sampling, n = 1,000,000 rows, against a random gather"
    yield FloorRow(what, text, "at most 1.2 x", ratio <= 1.2)
