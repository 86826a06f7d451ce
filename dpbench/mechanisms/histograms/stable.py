"""Stability-based histograms: noise on the non-zero counts only, and a threshold that hides cells with a single individual."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpbench.data import Contingency
from dpbench.data.summary import Entries
from dpbench.errors import UserError
from dpbench.mechanisms.histograms import _stability as stability
from dpbench.mechanisms.histograms.base import Histogram, check_delta
from dpbench.mechanisms.tables import with_true_values
from dpbench.privacy import Noise


@dataclass(frozen=True, kw_only=True)
class Stable(Histogram):
    """What both share: noisy non-zero counts, published above a threshold that follows from ε, δ and k. Not a mechanism."""

    delta: float = 1e-6
    """δ: the probability that a cell with a single individual is shown, or that the noise reveals more than ε."""

    privacy = "(ε, δ)"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_delta(self.delta)
        if self.transform != "none" and self.k > 1:
            why = "several cells of one individual may be in one range, whose count the threshold would not hide"
            raise UserError(f"k={self.k} with transform={self.transform!r} is not valid: {why}; expected k=1")

    def above(self, data: Contingency, noisy: NDArray[np.float64], tau: float, **chosen: float) -> Entries:
        """The places whose noisy count is above 1 + τ."""
        table = self.table(data)
        kept = noisy > 1 + tau
        release = Entries(
            size=data.size,
            shape=data.shape,
            transform=self.transform,
            cells=table.places[kept],
            weights=noisy[kept],
            chosen={**chosen, "tau": tau, "entries": int(kept.sum())},
        )
        return with_true_values(release, table, "dropping")


@dataclass(frozen=True, kw_only=True)
class GaussianSparseHistogram(Stable, name="gshm"):
    """The Gaussian sparse histogram mechanism: M(i) + N(0, σ²) where M(i) > 0, published above 1 + τ, (ε, δ) only.

    Wilkins, Kifer, Zhang, Karrer: Exact Privacy Analysis of the Gaussian Sparse Histogram Mechanism, Journal of Privacy
    and Confidentiality 14(1), 2024. With k cells per individual, noise grows with √k.
    """

    paper = "Wilkins, Kifer, Zhang, Karrer: Exact Privacy Analysis of the Gaussian Sparse Histogram Mechanism, JPC 2024"
    place = "the mechanism with its exact δ"
    label, look = "GSHM", 7
    audited = ({}, {"k": 3}, {"delta": 0.01, "k": 2}, {"transform": "dyadic"}, {"transform": "dyadic", "delta": 0.05})

    def inexact(self) -> str:
        return "the δ of its threshold is known for continuous Gaussian noise only"

    def noise_of(self, data: Contingency, epsilon: float) -> tuple[float, float]:
        """σ and τ."""
        most = self.most(data)
        key = ("gshm", epsilon, self.delta, most)
        return data.memo(key, lambda: stability.gaussian_noise(epsilon, self.delta, most))

    def publish(self, data: Contingency, epsilon: float, noise: Noise) -> Entries:
        sigma, tau = self.noise_of(data, epsilon)
        noisy = noise.gaussian(self.table(data).values, sigma=sigma, step="nonzeros")
        return self.above(data, noisy, tau, sigma=sigma)

    def expected_error(self, data: Contingency, epsilon: float) -> float:
        """Mean over all places, most of which are zero and published as zero."""
        sigma, tau = self.noise_of(data, epsilon)
        table = self.table(data)
        return float(stability.gaussian_error(table.values, sigma, 1 + tau).sum() / table.size)


@dataclass(frozen=True, kw_only=True)
class StabilityLaplace(Stable, name="stability_laplace"):
    """The same with Laplace noise: M(i) + Lap(k/ε) where M(i) > 0, published above 1 + (k/ε) ln(1/(2(1-(1-δ)^(1/k)))).

    Korolova, Kenthapadi, Mishra, Ntoulas: Releasing Search Queries and Clicks Privately, WWW 2009, with the exact δ: the
    loss exceeds ε only where one of the individual's own cells is shown, which happens with probability δ.
    """

    paper = "Korolova, Kenthapadi, Mishra, Ntoulas: Releasing Search Queries and Clicks Privately, WWW 2009"
    place = "the query histogram, with one noise for threshold and count"
    label, look = "Stability Laplace", 8
    audited = ({}, {"k": 3}, {"delta": 0.05, "k": 2}, {"transform": "dyadic"})

    def publish(self, data: Contingency, epsilon: float, noise: Noise) -> Entries:
        scale, tau = stability.laplace_noise(epsilon, self.delta, self.most(data), noise.form)
        noisy = noise.laplace(self.table(data).values, scale=scale, step="nonzeros")
        return self.above(data, noisy, tau, scale=scale)

    def expected_error(self, data: Contingency, epsilon: float) -> float:
        """Mean over all places, most of which are zero and published as zero."""
        scale, tau = stability.laplace_noise(epsilon, self.delta, self.most(data))
        table = self.table(data)
        return float(stability.laplace_error(table.values, scale, 1 + tau).sum() / table.size)
