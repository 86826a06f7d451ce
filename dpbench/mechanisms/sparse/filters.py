"""The high-pass filter of sparse: publish the large entries of the noisy table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dpbench.data import Contingency
from dpbench.data.summary import Entries
from dpbench.errors import UserError, one_of
from dpbench.mechanisms.sparse import _zeros as zeros
from dpbench.mechanisms.sparse._laws import PassingZeros
from dpbench.mechanisms.sparse.base import (
    Chosen,
    Sizes,
    Summarised,
    check_consistent,
    check_optional,
    chosen_nonzeros,
    chosen_of_all,
)
from dpbench.mechanisms.tables import SparseTable, too_many, with_true_values
from dpbench.numerics import dyadic
from dpbench.numerics.places import merge
from dpbench.privacy import Noise


def filtered(table: SparseTable, alpha: float, theta: float, two_sided: bool, laborious: bool, noise: Noise) -> Chosen:
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

    If θ is not given, it is chosen for a summary of t entries: first the θ that lets about t zeros pass, then a higher one
    on the output until t are left. (If the output is smaller than t, the paper draws again; that would change the
    distribution of what is published, so we keep the smaller summary.)
    """

    theta: float | None = None
    """θ, the least noisy count that passes. None: chosen for t."""
    t: int | None = None
    """Target size when θ is not given. None: `ratio` times n."""
    two_sided: bool = True
    """Pass large negative counts too, so that noise cancels in sums."""
    consistent: bool = False
    """Drop dyadic nodes with an ancestor that did not pass."""
    impute: str = "zero"
    """The value assumed for entries that did not pass: zero, half (θ/2), or calibrated, the mean of noise that does not pass
    a one-sided filter. None of them looks at the data."""

    place = "Algorithm filter"
    label, look = "Filter", 1
    audited = (
        {"theta": 2},
        {"theta": 2, "two_sided": False},
        {"t": 2},
        {"theta": 2, "transform": "dyadic", "consistent": True},
        {"theta": 2, "transform": "haar"},
        {"theta": 2, "transform": "dyadic_product", "impute": "half"},
        {"private_size": 0.3},
        {},
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_optional(theta=self.theta, t=self.t)
        check_consistent(self.consistent, self.transform)
        self.check_private_size()
        one_of("impute", self.impute, ("zero", "half", "calibrated"))
        if self.impute != "zero" and self.transform == "haar":
            raise UserError(
                f"impute={self.impute!r} and transform='haar': absent wavelet coefficients have either sign"
            )
        if self.impute == "calibrated" and self.two_sided:
            raise UserError("impute='calibrated' has no effect: noise that a two-sided filter stops has the mean 0")

    def told(self) -> dict[str, Any]:
        return {"θ": self.theta or self.t}

    def publish(self, data: Contingency, epsilon: float, noise: Noise) -> Entries:
        table, sizes = self.table(data), self.sizes(data, epsilon, noise)
        alpha = self.alpha(self.table_budget(epsilon), table.sensitivity)
        t = self.target(sizes, self.t)
        theta = self.theta or zeros.theta_for(alpha, t, table.size, self.two_sided)
        places, values = filtered(table, alpha, theta, self.two_sided, self.laborious, noise)
        if self.theta is None and places.size > t:
            magnitude = np.abs(values)
            theta = np.partition(magnitude, places.size - t - 1)[places.size - t - 1] + 1.0
            places, values = places[magnitude >= theta], values[magnitude >= theta]
        if self.consistent:
            kept = dyadic.consistent(places, data.size)
            places, values = places[kept], values[kept]
        chosen = {"alpha": alpha, "theta": float(theta), "entries": places.size, **sizes.published()}
        absent = self._imputed(alpha, float(theta))
        if absent:
            chosen["absent"] = absent
        release = Entries(
            size=data.size,
            shape=data.shape,
            transform=self.transform,
            cells=places,
            weights=values,
            absent=absent,
            chosen=chosen,
        )
        return with_true_values(release, table, "dropping", symmetric=self.two_sided)

    def _imputed(self, alpha: float, theta: float) -> float:
        if self.impute == "calibrated":
            return zeros.mean_stopped(alpha, theta)
        return theta / 2 if self.impute == "half" else 0.0

    def too_large(self, data: Contingency, alpha: float) -> str:
        t = self.target(Sizes.of(data), self.t)
        theta = self.theta or zeros.theta_for(alpha, t, self.domain(data), self.two_sided)
        expected = self.domain(data) * zeros.pass_probability(alpha, theta, self.two_sided)
        instead = "a larger one, or t instead" if self.theta else "a smaller t or ratio"
        return too_many(expected, f"theta={theta:g} lets so much noise pass, expected {instead}")
