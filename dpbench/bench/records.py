"""Records: a release of HPA against one count of the same records."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dpbench.bench.base import FloorRow, ratios
from dpbench.data import Records
from dpbench.mechanisms import mechanism


def hpa() -> Iterator[FloorRow]:
    """100 million records with Netflix's numbers of users and items, both skewed; the smallest user has 1 record (so d = 1)."""
    rng = np.random.default_rng(0)
    users, items, total = 480_189, 17_770, 100_000_000
    sizes = rng.lognormal(0, 1.2, users)
    sizes[0] = 0
    sizes = np.maximum(1, (sizes * (total / sizes.sum())).astype(np.int64))
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    n = int(indptr[-1])
    chosen = np.empty(n, dtype=np.int32)
    for start in range(0, n, 1 << 24):  # in parts, so that the doubles need less than a gigabyte
        part = chosen[start : start + (1 << 24)]
        part[:] = items * rng.random(part.size) ** 3
    data = Records(indptr, chosen, rng.integers(0, 7, n, dtype=np.uint8), items, 7, False)
    method = mechanism("hpa")
    method.release(data, 1.0, rng)
    ratio, text = ratios(lambda: method.release(data, 1.0, rng), lambda: np.bincount(chosen, minlength=items), repeat=5)
    what = f"HPA release, {n / 1e6:.0f} million records, against np.bincount of them"
    yield FloorRow(what, text, "at most 0.9 x", ratio <= 0.9)
