"""The K largest columns by one round of Gumbel noise, in three forms: pure, (ε, δ), and for an unknown domain."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpbench.data import Incidence, TopK
from dpbench.errors import UserError, positive
from dpbench.mechanisms.base import Choices
from dpbench.mechanisms.baselines._gumbel import GumbelRanking, zcdp_rate
from dpbench.mechanisms.baselines.base import check_delta
from dpbench.mechanisms.baselines.modern import TopKMechanism
from dpbench.privacy import Noise


@dataclass(frozen=True, kw_only=True)
class GumbelTopK(TopKMechanism, name="gumbel_topk"):
    """The K largest of c + Gumbel(K/ε), in order, no counts; not of the five papers.

    The same distribution as K rounds of the exponential mechanism with ε/K each. Counts move in one direction, so there is
    no factor 2.
    """

    paper = "Durfee, Rogers: Practical Differentially Private Top-k Selection with Pay-what-you-get Composition, NeurIPS 2019"
    place = "Section 4, one-shot Gumbel noise"
    label, look = "Gumbel top-K", 21
    audited: ClassVar[Choices] = ({"k": 1}, {"k": 2}, {"k": 3})

    def rate(self, epsilon: float) -> float:
        """e₀, the budget of one round; the noise has scale 1/e₀."""
        return epsilon / self.k

    def publish(self, data: Incidence, epsilon: float, noise: Noise) -> TopK:
        law = GumbelRanking(None, data.counts, int(self.k), 1 / self.rate(epsilon), None)
        return TopK(top=noise.draw(law), columns=data.columns, chosen={"k": self.k})


@dataclass(frozen=True, kw_only=True)
class GumbelTopKDelta(GumbelTopK, name="gumbel_topk_delta"):
    """The K largest of c + Gumbel(1/e₀), (ε, δ) only; not of the five papers: e₀ decreases with √K instead of K.

    e₀ = max(ε/K, √(8ρ/K)), √ρ = √(ln 1/δ + ε) - √(ln 1/δ): the better of plain and of concentrated composition.
    """

    place = "Section 4, one-shot Gumbel noise; composed by Cesar and Rogers, ALT 2021"
    privacy = "(ε, δ)"
    label, look = "Gumbel top-K (ε, δ)", 22
    audited = ({"k": 1}, {"k": 2, "delta": 0.01}, {"k": 3}, {"k": 3, "delta": 0.001})

    delta: float = 1e-6
    """δ, the chance of an output that tells more than ε."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_delta(self.delta)

    def rate(self, epsilon: float) -> float:
        return max(epsilon / self.k, zcdp_rate(epsilon, self.delta, int(self.k)))


@dataclass(frozen=True, kw_only=True)
class GumbelTopKUnknown(TopKMechanism, name="gumbel_topk_unknown"):
    """The K largest columns, chosen from the k̄ largest only, (ε, δ) only; not of the five papers.

    For domains that cannot be listed: a column that no row holds is never named. A stop mark with the count
    h_stop = h_(k̄+1) + 1 + ln(k̄/δ₁)/e₀ and the same noise takes part, and the ranking ends where it appears: it may have
    fewer than K columns, or none.
    """

    paper = GumbelTopK.paper
    place = "Algorithm 1, LimitDom, without a bound on rows"
    privacy = "(ε, δ)"
    label, look = "Gumbel top-K, unknown domain", 23
    audited = (
        {"k": 1, "reach": 2},
        {"k": 2, "reach": 3, "delta": 0.01},
        {"k": 3, "reach": 3, "delta": 0.0001},
        {"k": 2, "reach": 9},
    )

    delta: float = 1e-6
    """δ, the chance of an output that tells more than ε."""
    reach: int = 1000
    """k̄, the number of largest columns that are considered."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_delta(self.delta)
        positive("reach", self.reach, whole=True)
        if self.reach < self.k:
            raise UserError(f"reach={self.reach} is below k={self.k}: expected at least k")

    def rates(self, epsilon: float) -> tuple[float, float]:
        """e₀, and the part of δ that the stop mark spends: all of it with plain composition, half with concentrated."""
        plain, concentrated = epsilon / self.k, zcdp_rate(epsilon, self.delta / 2, int(self.k))
        return (plain, self.delta) if plain >= concentrated else (concentrated, self.delta / 2)

    def publish(self, data: Incidence, epsilon: float, noise: Noise) -> TopK:
        rate, delta_1 = self.rates(epsilon)
        columns, counts, next_count = self.largest(data)
        stop = next_count + 1 + math.log(self.reach / delta_1) / rate  # h_stop
        law = GumbelRanking(columns, counts, int(self.k), 1 / rate, stop)
        return TopK(top=noise.draw(law), columns=data.columns, chosen={"k": self.k})

    def unfit(self, data: Incidence) -> str:  # type: ignore[override]
        return super(TopKMechanism, self).unfit(data)  # K is only an upper limit here

    def largest(self, data: Incidence) -> tuple[np.ndarray, np.ndarray, int]:
        """The k̄ columns with the largest positive counts, these counts, and the next count h_(k̄+1)."""
        order, falling = self.falling(data)
        end = min(int(self.reach), int(np.count_nonzero(falling)))
        next_count = int(falling[self.reach]) if self.reach < falling.size else 0
        return order[:end], falling[:end], next_count
