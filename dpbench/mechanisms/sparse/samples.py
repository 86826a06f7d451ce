"""The samples of sparse: entries of the noisy table, chosen in proportion to their size, with unbiased weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dpbench.data import Contingency, Data
from dpbench.data.summary import Entries
from dpbench.mechanisms.sparse import _zeros as zeros
from dpbench.mechanisms.sparse._laws import PriorityZeros, SampledZeros, ZeroPlaces
from dpbench.mechanisms.sparse._priority import priorities, top
from dpbench.mechanisms.sparse.base import (
    Chosen,
    Summarised,
    Table,
    check_consistent,
    check_optional,
    chosen_nonzeros,
    chosen_of_all,
)
from dpbench.mechanisms.sparse.filters import filtered
from dpbench.numerics import dyadic
from dpbench.numerics.places import free, merge
from dpbench.privacy import Noise

Sample = tuple[np.ndarray, np.ndarray, float]
"""Sorted places, noisy values, and the τ that weighs them."""


def priority_sample(table: Table, alpha: float, theta: float, s: int, laborious: bool, noise: Noise) -> Sample:
    """The entries of M' of the s highest priorities among those of at least θ, and the (s+1)th priority."""

    def keep(noisy: np.ndarray) -> np.ndarray:
        return np.abs(noisy) >= theta

    if laborious:
        return highest(chosen_of_all(table, keep, alpha, noise), s, noise)
    # 1. Non-zero entries: noise, filter, priorities.
    places, values = chosen_nonzeros(table, keep, alpha, noise)
    priority = priorities(values, noise.stream("priorities"))
    # 2. Zero entries: a threshold sample with a guess of τ_s, each with a priority that agrees with being in it.
    law = PriorityZeros(table, alpha, theta, values, priority, s)
    zero_values, zero_priority = noise.draw(law, step="zeros")
    # 3. The s highest of both. Zeros are alike but for their values, so places are drawn for the chosen ones only.
    best, tau = top(np.concatenate([priority, zero_priority]), s)
    kept, upgraded = best[: places.size], zero_values[best[places.size :]]
    zero_places = noise.draw(ZeroPlaces(table, upgraded.size), step="places of zeros")
    return *merge(places[kept], values[kept], zero_places, upgraded), tau


def highest(entries: Chosen, s: int, noise: Noise) -> Sample:
    """A priority sample of entries that are all there."""
    places, values = entries
    best, tau = top(priorities(values, noise.stream("priorities")), s)
    return places[best], values[best], tau


@dataclass(frozen=True, kw_only=True)
class Sampled(Summarised):
    """A mechanism that publishes a sample of the noisy table."""

    def entries(
        self, data: Contingency, places: np.ndarray, values: np.ndarray, tau: float, **chosen: float
    ) -> Entries:
        """With weights sign(v) max(|v|, τ): each value over its chance min(|v|/τ, 1), so that sums are unbiased."""
        return Entries(
            size=data.size,
            transform=self.transform,
            cells=places,
            weights=np.copysign(np.maximum(np.abs(values), tau), values),
            values=values,
            chosen={**chosen, "tau": tau, "entries": places.size},
        )


@dataclass(frozen=True, kw_only=True)
class Threshold(Sampled, name="threshold"):
    """Threshold sampling: a noisy count v is published with probability min(|v|/τ, 1) (sparse, Algorithm threshold)."""

    tau: float | None = None
    """τ, from which on a count is published for certain. None: chosen for t."""
    t: int | None = None
    """Target size when τ is not given. None: `ratio` times n."""

    place = "Algorithm threshold"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_optional(tau=self.tau, t=self.t)

    def told(self) -> dict[str, Any]:
        return {"τ": self.tau}

    def publish(self, data: Contingency, epsilon: float, noise: Noise) -> Entries:
        table = self.table(data)
        alpha = self.alpha(epsilon, table.sensitivity)
        tau = self.tau or self._tau(table, alpha, self.target(data, self.t))

        sampling = noise.stream("sampling")

        def keep(noisy: np.ndarray) -> np.ndarray:
            return sampling.random(noisy.size) * tau < np.abs(noisy)

        if self.laborious:
            places, values = chosen_of_all(table, keep, alpha, noise)
        else:
            sample = chosen_nonzeros(table, keep, alpha, noise)
            places, values = merge(*sample, *noise.draw(SampledZeros(table, alpha, tau), step="zeros"))
        return self.entries(data, places, values, tau, alpha=alpha)

    def _tau(self, table: Table, alpha: float, t: int) -> float:
        return zeros.tau_for(alpha, t, table.size, float(np.abs(table.values).sum()))


@dataclass(frozen=True, kw_only=True)
class Priority(Sampled, name="priority"):
    """Priority sampling: the s entries of largest |M'(i)|/r_i, r_i uniform on (0, 1] (sparse, Priority sampling).

    The (s+1)th priority τ_s weighs them: sign(v) max(|v|, τ_s). Exactly s entries: where fewer noisy counts differ from
    zero, all of those and as many zeros as are missing.
    """

    s: int | None = None
    """Number of entries. None: `ratio` times n."""

    place = "Priority sampling"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_optional(s=self.s)

    def told(self) -> dict[str, Any]:
        return {"s": self.s}

    def unfit(self, data: Data) -> str:
        if reason := super().unfit(data):
            return reason
        s, most = self.target(data, self.s), self.domain(data)
        return f"s={s} is more than the {most} places there are" if s > most else ""

    def publish(self, data: Contingency, epsilon: float, noise: Noise) -> Entries:
        table, s = self.table(data), self.target(data, self.s)
        alpha = self.alpha(epsilon, table.sensitivity)
        places, values, tau = priority_sample(table, alpha, 1, s, self.laborious, noise)
        if (missing := s - places.size) > 0:  # every other noisy count is zero, and none has a higher priority
            more = free(missing, places, table.size, noise.stream("filling"))
            places, values = merge(places, values, more, np.zeros(missing))
        return self.entries(data, places, values, tau, alpha=alpha)


@dataclass(frozen=True, kw_only=True)
class FilterPriority(Sampled, name="filter_priority"):
    """Filter, then priority sample: noise below θ is removed, and s entries of the rest published (sparse).

    Weights are unbiased for the filtered table. With `consistent`, dyadic nodes that have an ancestor below θ are
    dropped between the two steps, which needs the whole output of the filter. At most s entries: all that pass, when
    those are fewer.
    """

    s: int | None = None
    """Most entries. None: `ratio` times n."""
    theta: float | None = None
    """θ of the two-sided filter. None: half the mean non-zero count; over a transform, the θ that s zeros pass."""
    consistent: bool = False
    """Drop dyadic nodes that have an ancestor which did not pass the filter, before sampling."""

    place = "Appendix, filter and sample"
    reconstructed = "θ over a transform, when not given"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_optional(s=self.s, theta=self.theta)
        check_consistent(self.consistent, self.transform)

    def told(self) -> dict[str, Any]:
        # Over a transform θ follows from s, over cells from the mean count.
        return {"s": self.s, "θ": self.theta or (self.s if self.transform != "none" else None)}

    def publish(self, data: Contingency, epsilon: float, noise: Noise) -> Entries:
        table, s = self.table(data), self.target(data, self.s)
        alpha = self.alpha(epsilon, table.sensitivity)
        theta = self.theta or self._theta(data, table, alpha, s)
        if self.consistent:
            places, values = filtered(table, alpha, theta, True, self.laborious, noise)
            kept = dyadic.consistent(places, data.size)
            places, values, tau = highest((places[kept], values[kept]), s, noise)
        else:
            places, values, tau = priority_sample(table, alpha, theta, s, self.laborious, noise)
        return self.entries(data, places, values, tau, alpha=alpha, theta=theta)

    def _theta(self, data: Contingency, table: Table, alpha: float, s: int) -> float:
        if self.transform == "none":
            return max(1.0, data.total / max(1, data.nonzeros) / 2)
        return zeros.theta_for(alpha, s, table.size)
