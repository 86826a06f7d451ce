"""The samples of sparse: entries of the noisy table, chosen in proportion to their size, with unbiased weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dpbench.data import Contingency, Data
from dpbench.data.summary import Entries
from dpbench.errors import UserError
from dpbench.mechanisms.sparse import _zeros as zeros
from dpbench.mechanisms.sparse._laws import PriorityZeros, SampledZeros, ZeroPlaces
from dpbench.mechanisms.sparse._priority import priorities, top
from dpbench.mechanisms.sparse.base import (
    Chosen,
    Sizes,
    Summarised,
    check_consistent,
    check_negatives,
    check_optional,
    chosen_nonzeros,
    chosen_of_all,
)
from dpbench.mechanisms.sparse.filters import filtered
from dpbench.mechanisms.tables import SparseTable, passed_filter, too_many, with_true_values
from dpbench.numerics import dyadic
from dpbench.numerics.places import free, merge
from dpbench.privacy import Noise


class PrioritySample(NamedTuple):
    """A priority sample."""

    places: np.ndarray
    """Sorted."""
    values: np.ndarray
    """Noisy ones."""
    tau: float
    """The threshold that determines their weights."""
    passed: np.ndarray
    """The places that it was chosen from, if they have a count."""


def priority_sample(
    table: SparseTable, alpha: float, theta: float, s: int, laborious: bool, noise: Noise
) -> PrioritySample:
    """The entries of M' with the s highest priorities among those of at least θ, and the (s+1)th priority."""

    def keep(noisy: np.ndarray) -> np.ndarray:
        return np.abs(noisy) >= theta

    if laborious:
        return highest(chosen_of_all(table, keep, alpha, noise), s, noise)
    # 1. Non-zero entries: noise, filter, priorities.
    places, values = chosen_nonzeros(table, keep, alpha, noise)
    priority = priorities(values, noise.stream("priorities"))
    # 2. Zero entries: a threshold sample with a guess of τ_s, each with a priority consistent with being chosen.
    law = PriorityZeros(table, alpha, theta, values, priority, s)
    zero_values, zero_priority = noise.draw(law, step="zeros")
    # 3. The s highest of both. Zeros differ only in their values, so places are drawn for the chosen ones only.
    best, tau = top(np.concatenate([priority, zero_priority]), s)
    kept, upgraded = best[: places.size], zero_values[best[places.size :]]
    zero_places = noise.draw(ZeroPlaces(table, upgraded.size), step="places of zeros")
    return PrioritySample(*merge(places[kept], values[kept], zero_places, upgraded), tau, places)


def highest(entries: Chosen, s: int, noise: Noise) -> PrioritySample:
    """A priority sample of a complete list of entries."""
    places, values = entries
    best, tau = top(priorities(values, noise.stream("priorities")), s)
    return PrioritySample(places[best], values[best], tau, places)


@dataclass(frozen=True, kw_only=True)
class Sampled(Summarised):
    """A mechanism that publishes a sample of the noisy table."""

    negatives: str = "keep"
    """keep: noise then cancels in sums. zero: negative entries are dropped, better for small queries."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_negatives(self.negatives, self.transform)

    def entries(
        self, data: Contingency, places: np.ndarray, values: np.ndarray, tau: float, **chosen: float
    ) -> Entries:
        """With weights sign(v) max(|v|, τ): each value divided by its probability min(|v|/τ, 1), so that sums are unbiased."""
        if self.negatives == "zero":
            places, values = places[values >= 0], values[values >= 0]
        return Entries(
            size=data.size,
            shape=data.shape,
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
    """τ, the noisy count from which on an entry is always published. None: chosen for t."""
    t: int | None = None
    """Target size when τ is not given. None: `ratio` times n."""
    refine: bool = False
    """Draw a sample for twice the size, then raise τ until about t entries are left, as the text suggests. Otherwise τ is the
    estimate, which leaves fewer than t: it counts a noisy value above τ as |v|/τ entries."""

    place = "Algorithm threshold"
    label, look = "Threshold sampling", 4
    audited = (
        {"tau": 3},
        {"tau": 2.5, "transform": "dyadic"},
        {"tau": 3, "transform": "haar"},
        {"private_size": 0.5, "transform": "haar"},
        {"t": 2},
        {"t": 2, "private_size": 0.3, "refine": True},
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_optional(tau=self.tau, t=self.t)
        if self.refine and self.tau is not None:
            raise UserError("refine=True has no effect: tau is given, and only a τ chosen for a size can be refined")
        self.check_private_size()

    def told(self) -> dict[str, Any]:
        return {"τ": self.tau}

    def publish(self, data: Contingency, epsilon: float, noise: Noise) -> Entries:
        table, sizes = self.table(data), self.sizes(data, epsilon, noise)
        alpha = self.alpha(self.table_budget(epsilon), table.sensitivity)
        tau = self.tau or self._tau(table, alpha, sizes)

        sampling = noise.stream("sampling")

        def keep(noisy: np.ndarray) -> np.ndarray:
            return sampling.random(noisy.size) * tau < np.abs(noisy)

        if self.laborious:
            places, values = chosen_of_all(table, keep, alpha, noise)
        else:
            sample = chosen_nonzeros(table, keep, alpha, noise)
            places, values = merge(*sample, *noise.draw(SampledZeros(table, alpha, tau), step="zeros"))
        if self.refine:
            tau, kept = refined(values, tau, self.target(sizes, self.t), noise.stream("refining").random(values.size))
            places, values = places[kept], values[kept]
        release = self.entries(data, places, values, tau, alpha=alpha, **sizes.published())
        return with_true_values(release, table, "sampling", symmetric=self.negatives == "keep")

    def _tau(self, table: SparseTable, alpha: float, sizes: Sizes) -> float:
        # Every individual is in as many nodes as the sensitivity says; over wavelets that is an upper bound.
        total = sizes.total * table.sensitivity if sizes.public else float(np.abs(table.values).sum())
        return zeros.tau_for(alpha, self._drawn(self.target(sizes, self.t)), table.size, total)

    def _drawn(self, t: int) -> int:
        """The size that is drawn for t entries."""
        return 2 * t if self.refine else t

    def too_large(self, data: Contingency, alpha: float) -> str:
        if self.tau is None:
            return too_many(self._drawn(self.target(Sizes.of(data), self.t)), "expected a smaller t or ratio")
        expected = self.domain(data) * float(zeros.sample_probability(alpha, self.tau))
        return too_many(expected, f"tau={self.tau:g} samples so much noise, expected a larger one, or t instead")


def refined(values: np.ndarray, tau: float, t: int, lots: np.ndarray) -> tuple[float, np.ndarray]:
    """A higher τ for which about t entries of a threshold sample are left, and which: by thinning, it is one with that τ.

    An entry is in the sample with probability min(|v|/τ, 1), and stays with the ratio of the new probability to that.
    """
    size = np.abs(values)
    chance = np.minimum(size / tau, 1)

    def left(higher: float) -> np.ndarray:
        return np.minimum(size / higher, 1) / chance

    if values.size <= t:
        return tau, np.ones(values.size, dtype=bool)
    low, high = tau, tau * values.size * max(1.0, float(size.max()) / tau) / t
    for _ in range(60):  # the number left falls with τ
        middle = (low + high) / 2
        low, high = (middle, high) if float(left(middle).sum()) > t else (low, middle)
    return high, lots < left(high)


@dataclass(frozen=True, kw_only=True)
class Priority(Sampled, name="priority"):
    """Priority sampling: the s entries of largest |M'(i)|/r_i, r_i uniform on (0, 1] (sparse, Priority sampling).

    The (s+1)th priority τ_s gives their weights: sign(v) max(|v|, τ_s). Exactly s entries: if fewer noisy counts differ from
    zero, all of those, filled up with zeros.
    """

    s: int | None = None
    """Number of entries. None: `ratio` times n."""

    place = "Priority sampling"
    label, look = "Priority sampling", 2
    audited = (
        {"s": 2},
        {"s": 1},
        {"s": 3, "transform": "dyadic"},
        {"s": 2, "transform": "haar"},
        {"private_size": 0.2},
        {},
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_optional(s=self.s)
        self.check_private_size()

    def told(self) -> dict[str, Any]:
        return {"s": self.s}

    def unfit(self, data: Data) -> str:
        if reason := super().unfit(data):
            return reason
        if self.private_size:
            return ""  # noise decides, and what is too large is cut off
        assert isinstance(data, Contingency)
        s, most = self.target(Sizes.of(data), self.s), self.domain(data)
        return f"s={s} is more than the {most} places there are" if s > most else ""

    def too_large(self, data: Contingency, alpha: float) -> str:
        return too_many(self.target(Sizes.of(data), self.s), "expected a smaller s or ratio")

    def publish(self, data: Contingency, epsilon: float, noise: Noise) -> Entries:
        table, sizes = self.table(data), self.sizes(data, epsilon, noise)
        s = min(self.target(sizes, self.s), table.size)
        alpha = self.alpha(self.table_budget(epsilon), table.sensitivity)
        places, values, tau, _ = priority_sample(table, alpha, 1, s, self.laborious, noise)
        if (missing := s - places.size) > 0:  # every other noisy count is zero, and none has a higher priority
            more = free(missing, places, table.size, noise.stream("filling"))
            places, values = merge(places, values, more, np.zeros(missing))
        release = self.entries(data, places, values, tau, alpha=alpha, **sizes.published())
        return with_true_values(release, table, "sampling", symmetric=self.negatives == "keep")


@dataclass(frozen=True, kw_only=True)
class FilterPriority(Sampled, name="filter_priority"):
    """Filter, then priority sample: noise below θ is removed, and s entries of the rest published (sparse).

    Weights are unbiased for the filtered table. With `consistent`, dyadic nodes with an ancestor below θ are dropped between
    the two steps, which needs the whole output of the filter. At most s entries: if fewer pass, all of them.
    """

    s: int | None = None
    """Most entries. None: `ratio` times n."""
    theta: float | None = None
    """θ of the two-sided filter. None: half the mean non-zero count; over a transform, the θ that about s zeros pass."""
    consistent: bool = False
    """Before sampling, drop dyadic nodes with an ancestor that did not pass the filter."""

    place = "Appendix, filter and sample"
    reconstructed = "θ over a transform, when not given"
    label, look = "Filter-priority", 3
    audited = (
        {"s": 2, "theta": 2},
        {"s": 2, "theta": 1.5, "transform": "dyadic", "consistent": True},
        {"s": 2, "transform": "haar"},
        {"private_size": 0.3, "negatives": "zero"},
        {"s": 2},
        {"theta": 2},
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_optional(s=self.s, theta=self.theta)
        check_consistent(self.consistent, self.transform)
        self.check_private_size()

    def told(self) -> dict[str, Any]:
        # Over a transform θ follows from s, over cells from the mean count.
        return {"s": self.s, "θ": self.theta or (self.s if self.transform != "none" else None)}

    def publish(self, data: Contingency, epsilon: float, noise: Noise) -> Entries:
        table, sizes = self.table(data), self.sizes(data, epsilon, noise)
        s = self.target(sizes, self.s)
        alpha = self.alpha(self.table_budget(epsilon), table.sensitivity)
        theta = self.theta or self._theta(sizes, table.size, alpha, s)
        if self.consistent:
            places, values = filtered(table, alpha, theta, True, self.laborious, noise)
            kept = dyadic.consistent(places, data.size)
            sample = highest((places[kept], values[kept]), s, noise)
        else:
            sample = priority_sample(table, alpha, theta, s, self.laborious, noise)
        chosen = {"alpha": alpha, "theta": theta, **sizes.published()}
        release = self.entries(data, sample.places, sample.values, sample.tau, **chosen)
        before, symmetric = passed_filter(release, table, sample.passed), self.negatives == "keep"
        return with_true_values(release, table, "sampling", before, symmetric=symmetric)

    def _theta(self, sizes: Sizes, size: int, alpha: float, s: int) -> float:
        if self.transform == "none":
            return max(1.0, sizes.total / max(1, sizes.nonzeros) / 2)
        return zeros.theta_for(alpha, s, size)

    def too_large(self, data: Contingency, alpha: float) -> str:
        sizes = Sizes.of(data)
        s = self.target(sizes, self.s)
        if not self.consistent:
            return too_many(s, "expected a smaller s or ratio")
        # The consistency check needs everything that passes the filter.
        theta = self.theta or self._theta(sizes, self.domain(data), alpha, s)
        expected = self.domain(data) * zeros.pass_probability(alpha, theta)
        return too_many(
            expected, f"theta={theta:g} lets so much noise pass to the consistency check, expected a larger one"
        )
