"""The hierarchy of counts that is best for ranges over a domain small enough to list."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpbench.data import Contingency, Data
from dpbench.data.summary import Dense
from dpbench.mechanisms.base import Mechanism
from dpbench.mechanisms.histograms import _tree as tree
from dpbench.mechanisms.tables import INDIVIDUAL
from dpbench.privacy import Noise


@dataclass(frozen=True, kw_only=True)
class Written(Mechanism):
    """A mechanism that writes out the whole domain, as a line. Not a mechanism itself."""

    fits: ClassVar[int]
    """Largest domain that it accepts, in cells."""

    kinds = ("contingency",)
    neighbours = INDIVIDUAL

    def unfit(self, data: Data) -> str:
        if reason := super().unfit(data):
            return reason
        size = data.size  # type: ignore[attr-defined]
        return f"publishes all {size:,} cells of the domain, and at most {self.fits:,} fit" if size > self.fits else ""

    @staticmethod
    def line(data: Contingency) -> np.ndarray:
        """All counts, the zeros too."""
        full = np.zeros(data.size, dtype=np.int64)
        full[data.cells] = data.counts
        return full


@dataclass(frozen=True, kw_only=True)
class HB(Written, name="hb"):
    """Hierarchical histogram with the best branching factor, made consistent: Lap(h/ε) on every node of h levels.

    Qardaji, Yang, Li: Understanding Hierarchical Methods for Differentially Private Histograms, PVLDB 6(14), 2013. A domain
    of several attributes is treated as one flattened line.
    """

    paper = "Qardaji, Yang, Li: Understanding Hierarchical Methods for Differentially Private Histograms, PVLDB 2013"
    place = "the best branching factor, with constrained inference"

    fits = 2**25
    label, look = "HB", 11

    def publish(self, data: Contingency, epsilon: float, noise: Noise) -> Dense:
        leaves, b, h = tree.noisy_leaves(self.line(data), epsilon, noise)
        return Dense(
            size=data.size, shape=data.shape, weights=leaves, chosen={"b": b, "h": h, "entries": data.size}, stages=()
        )

    def expected_error(self, data: Contingency, epsilon: float) -> float:
        """1/ε if there is no tree; sums of Laplace noise have no closed form."""
        return 1 / epsilon if tree.shape_for(data.size)[1] == 1 else math.nan
