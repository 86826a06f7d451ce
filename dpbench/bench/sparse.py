"""Sparse summaries: the cost depends on the output, not on the domain."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dpbench.bench.base import FloorRow, seconds
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
    dense = _time(mechanism("geometric"), thin, repeat=2)
    for name, parameters in SUMMARIES.items():
        method = mechanism(name, **parameters)
        ratio = _time(method, huge) / _time(method, small)
        text = f"{ratio:.2f} x"
        yield FloorRow(f"{name}, n = 10^5, m = 10^12 against m = 10^8", text, "at most 1.5 x", ratio <= 1.5)
        took = _time(method, thin)
        text = f"{dense / took:.0f} x ({1e3 * took:.1f} ms against {dense:.2f} s)"
        yield FloorRow(f"{name}, density 0.1 %, against geometric", text, "at least 100 x", dense >= 100 * took)


def _table(size: int, nonzeros: int) -> Contingency:
    rng = np.random.default_rng(0)
    cells = np.unique(rng.integers(0, size, int(1.1 * nonzeros)))
    cells = np.sort(rng.choice(cells, nonzeros, replace=False))
    return Contingency(cells, np.maximum(1, rng.normal(100, 20, nonzeros).astype(np.int64)), size)


def _time(method: Any, data: Contingency, repeat: int = 7) -> float:
    rng = np.random.default_rng(0)
    method.release(data, 0.1, rng)
    return seconds(lambda: method.release(data, 0.1, rng), repeat)
