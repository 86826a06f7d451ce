"""The dense baseline of sparse: noise on every cell, published whole."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpbench.data import Contingency
from dpbench.data.summary import Dense
from dpbench.mechanisms.sparse.base import Sparse
from dpbench.numerics import geometric
from dpbench.privacy import Noise


@dataclass(frozen=True, kw_only=True)
class Geometric(Sparse, name="geometric"):
    """M'(i) = M(i) + noise for all m cells, P[noise = x] = (1-α)/(1+α) α^|x| (sparse).

    Its release is as large as the domain, which is what the summaries avoid.
    """

    place = "Problem definition"

    def writes_all(self) -> bool:
        return True

    def publish(self, data: Contingency, epsilon: float, noise: Noise) -> Dense:
        table = self.table(data)
        alpha = self.alpha(epsilon, table.sensitivity)
        chosen = {"alpha": alpha, "entries": table.size}
        return Dense(size=data.size, transform=self.transform, weights=table.dense(alpha, noise), chosen=chosen)

    def expected_error(self, data: Contingency, epsilon: float) -> float:
        """Expected mean absolute error of a cell: 2α/(1-α²); no closed form over wavelets."""
        if self.transform == "haar":
            return math.nan
        return geometric.mean_abs(self.alpha(epsilon, self.table(data).sensitivity))
