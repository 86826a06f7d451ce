"""The dense baseline of sparse: noise on every cell, all published."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpbench.data import Contingency
from dpbench.data.last_step import NoisyTable
from dpbench.data.summary import Dense
from dpbench.mechanisms.sparse.base import Sparse, check_negatives
from dpbench.numerics import geometric
from dpbench.privacy import Noise


@dataclass(frozen=True, kw_only=True)
class Geometric(Sparse, name="geometric"):
    """M'(i) = M(i) + noise for all m cells, P[noise = x] = (1-α)/(1+α) α^|x| (sparse).

    Its release is as large as the domain, which is what the summaries avoid.
    """

    negatives: str = "keep"
    """keep: noise then cancels in sums. zero: negative values become zero (M⁺), better for small queries."""

    place = "Problem definition"
    label, look = "Geometric", 0
    family = "trivial"
    audited = (
        {},
        {"transform": "dyadic"},
        {"transform": "haar"},
        {"transform": "dyadic_product"},
        {"negatives": "zero"},
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_negatives(self.negatives, self.transform)

    def writes_all(self) -> bool:
        return True

    def publish(self, data: Contingency, epsilon: float, noise: Noise) -> Dense:
        table = self.table(data)
        alpha = self.alpha(epsilon, table.sensitivity)
        noisy = table.dense(alpha, noise)
        if self.negatives == "zero":
            np.maximum(noisy, 0.0, out=noisy)
        chosen = {"alpha": alpha, "entries": table.size}
        return Dense(
            size=data.size,
            shape=data.shape,
            transform=self.transform,
            weights=noisy,
            chosen=chosen,
            stages=(),
            last_step=NoisyTable(alpha) if self.negatives == "keep" else None,
        )

    def expected_error(self, data: Contingency, epsilon: float) -> float:
        """Expected mean absolute error of a cell: 2α/(1-α²); no closed form over wavelets or without negative values."""
        if self.transform == "haar" or self.negatives != "keep":
            return math.nan
        return geometric.mean_abs(self.alpha(epsilon, self.table(data).sensitivity))
