"""The high-pass filter of sparse: of the noisy table, publish what is large."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dpbench.data import Contingency
from dpbench.data.summary import Entries
from dpbench.mechanisms.sparse import _zeros as zeros
from dpbench.mechanisms.sparse._laws import PassingZeros
from dpbench.mechanisms.sparse.base import (
    Chosen,
    Summarised,
    Table,
    check_consistent,
    check_optional,
    chosen_nonzeros,
    chosen_of_all,
)
from dpbench.numerics import dyadic
from dpbench.numerics.places import merge
from dpbench.privacy import Noise


def filtered(table: Table, alpha: float, theta: float, two_sided: bool, laborious: bool, noise: Noise) -> Chosen:
    """Algorithm filter: every entry of M' that is at least θ, in absolute value when two-sided."""

    def keep(noisy: np.ndarray) -> np.ndarray:
        return (np.abs(noisy) if two_sided else noisy) >= theta

    if laborious:
        return chosen_of_all(table, keep, alpha, noise)
    # 1. Non-zero entries: add noise, keep those that pass.
    passing = chosen_nonzeros(table, keep, alpha, noise)
    # 2. Zero entries: k ~ Bin(m - n, p_θ) pass,
    # 3. at uniform places, with values drawn from the noise given that it passes.
    return merge(*passing, *noise.draw(PassingZeros(table, alpha, theta, two_sided), step="zeros"))


@dataclass(frozen=True, kw_only=True)
class Filter(Summarised, name="filter"):
    """High-pass filter: cells whose noisy count reaches θ, the rest set to zero (sparse, Algorithm filter).

    Without θ it is chosen for a summary of t entries: first the θ that lets about t zeros pass, then a higher one on
    the output until t are left. (Where the output is smaller than t the paper draws again; that would change the
    distribution of what is published, so the smaller summary stands.)
    """

    theta: float | None = None
    """θ, the least noisy count that passes. None: chosen for t."""
    t: int | None = None
    """Target size when θ is not given. None: `ratio` times n."""
    two_sided: bool = True
    """Pass large negative counts too, so that noise cancels in sums."""
    consistent: bool = False
    """Drop dyadic nodes that have an ancestor which did not pass."""

    place = "Algorithm filter"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_optional(theta=self.theta, t=self.t)
        check_consistent(self.consistent, self.transform)

    def told(self) -> dict[str, Any]:
        return {"θ": self.theta or self.t}

    def publish(self, data: Contingency, epsilon: float, noise: Noise) -> Entries:
        table = self.table(data)
        alpha = self.alpha(epsilon, table.sensitivity)
        t = self.target(data, self.t)
        theta = self.theta or zeros.theta_for(alpha, t, table.size, self.two_sided)
        places, values = filtered(table, alpha, theta, self.two_sided, self.laborious, noise)
        if self.theta is None and places.size > t:
            magnitude = np.abs(values)
            theta = np.partition(magnitude, places.size - t - 1)[places.size - t - 1] + 1.0
            places, values = places[magnitude >= theta], values[magnitude >= theta]
        if self.consistent:
            kept = dyadic.consistent(places, data.size)
            places, values = places[kept], values[kept]
        chosen = {"alpha": alpha, "theta": float(theta), "entries": places.size}
        return Entries(size=data.size, transform=self.transform, cells=places, weights=values, chosen=chosen)
