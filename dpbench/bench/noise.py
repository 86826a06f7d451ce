"""Exact noise: discrete Laplace draws against numpy's continuous ones."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dpbench.bench.base import FloorRow, seconds
from dpbench.privacy import exact
from dpbench.privacy._bounds import noise_scale
from dpbench.privacy._words import Seeded

SCALES = (0.5, 3.0, 50.0, 1000.0, 1e4, 1e5)
DRAWS = 4_000_000


def exact_laplace() -> Iterator[FloorRow]:
    """The times include drawing random words, but not building tables, which happens once per scale."""
    rng = np.random.default_rng(0)
    words = Seeded(rng)
    for scale in SCALES:
        exact_scale = noise_scale(scale)
        exact.discrete_laplace(10, exact_scale, words)
        # Alternating, so that load on the machine affects both.
        ours, theirs = float("inf"), float("inf")
        for _ in range(5):
            ours = min(ours, seconds(lambda: exact.discrete_laplace(DRAWS, exact_scale, words), repeat=1))  # noqa: B023
            theirs = min(theirs, seconds(lambda: rng.laplace(0.0, scale, DRAWS), repeat=1))  # noqa: B023
        rate = DRAWS / ours / 1e6
        text = f"{theirs / ours:.2f} x ({rate:.0f} million per second)"
        what = f"exact discrete Laplace, scale {scale:g}, against Generator.laplace"
        yield FloorRow(what, text, "at least 1 x", ours <= theirs)
