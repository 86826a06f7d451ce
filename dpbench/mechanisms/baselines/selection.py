"""The K largest columns without K rounds: as one set, and in a domain that has to be found first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpbench.data import Incidence, TopK
from dpbench.errors import positive
from dpbench.mechanisms.baselines._canonical import CanonicalSubset
from dpbench.mechanisms.baselines._discovery import DiscoveredRanking, discovery_noise
from dpbench.mechanisms.baselines._gumbel import zcdp_rate
from dpbench.mechanisms.baselines.base import check_delta
from dpbench.mechanisms.baselines.modern import TopKMechanism
from dpbench.privacy import Noise


@dataclass(frozen=True, kw_only=True)
class CanonicalTopK(TopKMechanism, name="canonical_topk"):
    """One draw of a whole set of K columns by its canonical loss, not of the five papers: no order, no counts.

    The loss of a set is the number of rows that must be added or removed until it is a set of the K largest: the largest count
    outside it less the least count in it. One row changes it by at most 1, so that a set has probability ∝ exp(-ε loss/2). There
    are K! times fewer sets than rankings, which is what it gains.
    """

    paper = "Shekelyan, Loukides: Differentially Private Top-k Selection via Canonical Lipschitz Mechanism, 2022"
    place = "the canonical loss of a subset, with the exponential mechanism; equal counts drawn together"
    label, look = "Canonical top-K", 26
    audited = ({"k": 1}, {"k": 2}, {"k": 3})

    def publish(self, data: Incidence, epsilon: float, noise: Noise) -> TopK:
        law = data.memo(
            ("canonical", int(self.k), epsilon), lambda: CanonicalSubset(*self.falling(data), int(self.k), epsilon)
        )
        return TopK(top=noise.draw(law), columns=data.columns, chosen={"k": self.k})


@dataclass(frozen=True, kw_only=True)
class DiscoveryTopK(TopKMechanism, name="discovery_topk"):
    """A domain found by the weighted Gaussian mechanism, then the K largest of it by Gumbel noise, (ε, δ) only.

    Dick, Joseph, Raman: Missing Mass for Differentially Private Domain Discovery, ICLR 2026. A row of t columns gives each of
    them 1/√t. Columns whose noisy sum exceeds a threshold are the domain; half of the budget finds it, half ranks it. For domains
    that cannot be listed: a column that no row holds is never named, and there may be fewer than K columns.
    """

    paper = "Dick, Joseph, Raman: Missing Mass for Differentially Private Domain Discovery, ICLR 2026"
    place = "top-k after the weighted Gaussian mechanism (Gopi et al., ICML 2020)"
    privacy = "(ε, δ)"
    label, look = "Discovery top-K", 27
    audited = (
        {"k": 1, "bound": 3, "delta": 0.01},
        {"k": 2, "bound": 4, "delta": 0.05},
        {"k": 2, "bound": 6, "delta": 0.2},
    )

    bound: int | None = None
    """Declared size of the largest row, for the threshold. None: the number of columns."""
    delta: float = 1e-6
    """δ, the chance of an output that tells more than ε."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_delta(self.delta)
        if self.bound is not None:
            positive("bound", self.bound, whole=True)

    def unfit(self, data: Incidence) -> str:  # type: ignore[override]
        if reason := super(TopKMechanism, self).unfit(data):  # K is only an upper limit here
            return reason
        if data.largest_row > self.most(data):
            return f"bound={self.bound} is below the largest row {data.largest_row}: the threshold would not cover it"
        return ""

    def most(self, data: Incidence) -> int:
        """Columns of the largest row that is allowed."""
        return int(data.columns if self.bound is None else self.bound)

    def rates(self, epsilon: float) -> tuple[float, float]:
        """e₀ of a round of the ranking, with ε/2; and δ of the discovery: all of it with plain composition, half otherwise."""
        plain = epsilon / 2 / self.k
        concentrated = zcdp_rate(epsilon / 2, self.delta / 2, int(self.k))
        return (plain, self.delta) if plain >= concentrated else (concentrated, self.delta / 2)

    def publish(self, data: Incidence, epsilon: float, noise: Noise) -> TopK:
        rate, delta_1 = self.rates(epsilon)
        weights, held = self.weights(data)
        discovery = discovery_noise(epsilon / 2, delta_1, self.most(data))
        law = DiscoveredRanking(held, weights, data.counts[held], int(self.k), 1 / rate, discovery)
        return TopK(top=noise.draw(law), columns=data.columns, chosen={"k": self.k})

    @staticmethod
    def weights(data: Incidence) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Σ 1/√t over the rows of each column that some row holds, and these columns."""

        def sums() -> tuple[NDArray[np.float64], NDArray[np.int64]]:
            sizes = np.diff(data.indptr)
            each = np.repeat(1 / np.sqrt(np.maximum(1, sizes)), sizes)
            total = np.bincount(data.indices, weights=each, minlength=data.columns).astype(np.float64)
            held: NDArray[np.int64] = np.flatnonzero(data.counts)
            return total[held], held

        return data.memo("discovery weights", sums)
