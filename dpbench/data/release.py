"""What a mechanism gives out. Tasks read it; it holds nothing that was not published, but for `info`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpbench.data.base import read_only


@dataclass(frozen=True, kw_only=True, eq=False)
class Release:
    """Base of all releases. `info`: what the mechanism chose (w, rho, theta ...); numbers land in the results."""

    info: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, eq=False)
class Counts(Release):
    """A float per column (or item) and, for records, per item and context (`edges`, items x contexts)."""

    counts: np.ndarray
    edges: np.ndarray | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "counts", read_only(self.counts, dtype=np.float64))
        if self.edges is not None:
            object.__setattr__(self, "edges", read_only(self.edges, dtype=np.float64))


@dataclass(frozen=True, kw_only=True, eq=False)
class TopK(Counts):
    """An answer to "which columns are the largest" alone: `top`, best first.

    It says nothing about how large they are: `counts` only repeats the order (k for the first, 1 for the last, 0 for
    all others), so that whoever ranks columns by count finds the same. Tasks must not take it for an estimate.
    """

    top: np.ndarray

    @classmethod
    def ranked(cls, top: np.ndarray, columns: int, info: Mapping[str, Any]) -> TopK:
        """From the chosen columns, best first."""
        counts = np.zeros(columns)
        counts[top] = np.arange(top.size, 0, -1)
        return cls(top=read_only(top), counts=counts, info=info)


@dataclass(frozen=True, kw_only=True, eq=False)
class History(Release):
    """What one user of a catalogue gives out: category aggregates and, if the mechanism makes one, an item set."""

    user: int
    """Who: the receiver knows the sender."""
    aggregates: np.ndarray
    """A number a category; those of `history` where there is one."""
    history: np.ndarray | None = None
    """d_p, the perturbed item set, ascending."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "aggregates", read_only(self.aggregates, dtype=np.float64))
        if self.history is not None:
            object.__setattr__(self, "history", read_only(self.history))
