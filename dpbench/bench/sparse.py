"""Sparse summaries: the cost depends on the output, not on the domain."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from dpbench.bench.base import FloorRow, ratios, seconds
from dpbench.data import Contingency
from dpbench.mechanisms import mechanism

SUMMARIES: dict[str, dict[str, Any]] = {
    "filter": {},
    "threshold": {},
    "priority": {},
    "filter_priority": {},
    "sketch": {},
}


def sparse() -> Iterator[FloorRow]:
    """Each summary at m = 10^12 against m = 10^8, and at density 0.1 % against the dense geometric mechanism."""
    small, huge = _table(10**8, 10**5), _table(10**12, 10**5)
    thin = _table(2 * 10**7, 2 * 10**4)
    dense = mechanism("geometric")
    for name, parameters in SUMMARIES.items():
        method = mechanism(name, **parameters)
        ratio, text = ratios(_release(method, huge), _release(method, small), repeat=15)
        yield FloorRow(f"{name}, n = 10^5, m = 10^12 against m = 10^8", text, "at most 1.2 x", ratio <= 1.2)
        took = seconds(_release(method, thin), repeat=15)
        all_places = seconds(_release(dense, thin), repeat=3)
        text = f"{all_places / took:.0f} x ({1e3 * took:.1f} ms against {all_places:.2f} s)"
        yield FloorRow(f"{name}, density 0.1 %, against geometric", text, "at least 150 x", all_places >= 150 * took)


def _release(method: Any, data: Contingency) -> Callable[[], object]:
    rng = np.random.default_rng(0)
    method.release(data, 0.1, rng)
    return lambda: method.release(data, 0.1, rng)


def _table(size: int, nonzeros: int) -> Contingency:
    rng = np.random.default_rng(0)
    cells = np.unique(rng.integers(0, size, int(1.1 * nonzeros)))
    cells = np.sort(rng.choice(cells, nonzeros, replace=False))
    return Contingency(cells, np.maximum(1, rng.normal(100, 20, nonzeros).astype(np.int64)), size)
