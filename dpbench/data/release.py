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
