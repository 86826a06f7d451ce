"""`also_records`: a mechanism for column counts publishes records too, half the budget for items, half for edges.

As analytics, Section 6 applies LPA, DFT and GS: to the item counts and to the edge counts separately, with ε/2 each.
A row is a user and a column an item (or an item with a context); what a mechanism samples from a row is a record of the
user. Δ is the largest number of records a user has: the L1 sensitivity of either query (Lemmas 1 and 2).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import numpy as np

from dpbench.data import Counts
from dpbench.mechanisms.base import Mechanism

M = TypeVar("M", bound=type[Mechanism])


def also_records(cls: M) -> M:
    """Class decorator: `publish` and the expected errors take `Records` besides what they took before."""
    cls.kinds = (*cls.kinds, "records")
    cls.publish = _in_halves(cls.publish)  # type: ignore[method-assign]
    for name in ("expected_error", "expected_mse"):
        if hasattr(cls, name):
            setattr(cls, name, _of_items(getattr(cls, name)))
    return cls


def _in_halves(publish: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(publish)
    def both(self: Mechanism, data: Any, epsilon: float, rng: np.random.Generator) -> Counts:
        if data.kind != "records":
            return publish(self, data, epsilon, rng)
        items = publish(self, data.item_columns(), epsilon / 2, rng)
        edges = publish(self, data.edge_columns(), epsilon / 2, rng)
        info = {**items.info, **{f"edge_{name}": value for name, value in edges.info.items()}}
        return Counts(counts=items.counts, edges=edges.counts.reshape(data.edges.shape), info=info)

    return both


def _of_items(expected: Callable[..., float]) -> Callable[..., float]:
    """Of records, the expected error of the item counts."""

    @wraps(expected)
    def either(self: Mechanism, data: Any, epsilon: float, *rest: Any, **named: Any) -> float:
        if data.kind != "records":
            return expected(self, data, epsilon, *rest, **named)
        return expected(self, data.item_columns(), epsilon / 2, *rest, **named)

    return either
