"""Exact noise: discrete Laplace draws against numpy's continuous ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dpbench.bench.base import FloorRow, ratios
from dpbench.data import Incidence
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
        ratio, text = ratios(
            lambda: rng.laplace(0.0, scale, DRAWS),  # noqa: B023
            lambda: exact.discrete_laplace(DRAWS, exact_scale, words),  # noqa: B023
        )
        what = f"Generator.laplace, scale {scale:g}, against exact discrete Laplace"
        yield FloorRow(what, text, "at least 1.3 x", ratio >= 1.3)
    yield from _against_opendp()


def _against_opendp() -> Iterator[FloorRow]:
    """A release with exact noise, from seeded and from secure bits, against OpenDP's discrete Laplace of the same values."""
    import importlib.util

    what = "OpenDP's discrete Laplace of 100,000 counts, against exact noise"
    floors = (("seeded bits", 7, 100), ("secure bits", "secure", 20))
    if importlib.util.find_spec("opendp") is None:
        for bits, _, floor in floors:
            yield FloorRow(f"{what}, {bits}", "OpenDP is not installed here", f"at least {floor} x", None)
        return
    from dpbench.mechanisms import mechanism

    counts = 100_000
    data = Incidence(np.arange(counts + 1), np.arange(counts, dtype=np.int32), counts)
    theirs, ours = mechanism("opendp_geometric", bound=10), mechanism("lpa", bound=10)
    for bits, rng, floor in floors:
        given: Any = rng
        ours.release(data, epsilon=1.0, rng=given, noise="exact")
        ratio, text = ratios(
            lambda: theirs.release(data, epsilon=1.0, rng=7),
            lambda: ours.release(data, epsilon=1.0, rng=given, noise="exact"),  # noqa: B023
            repeat=5,
        )
        yield FloorRow(f"{what}, {bits}", text, f"at least {floor} x", ratio >= floor)
