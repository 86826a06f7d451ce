"""The matrix mechanism on a line of cells: noisy answers to a strategy that is made for ranges, and least squares.

`p_identity` has Laplace noise and an optimised strategy, `sqrt_matrix` Gaussian noise and a strategy in closed form.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbench.data import Contingency
from dpbench.data.summary import Dense
from dpbench.errors import one_of
from dpbench.mechanisms.histograms import _strategy as strategies
from dpbench.mechanisms.histograms.base import check_delta
from dpbench.mechanisms.histograms.hierarchy import Written
from dpbench.numerics import toeplitz
from dpbench.numerics.gaussian import analytic_sigma
from dpbench.privacy import Noise
from dpbench.privacy.exchange import gaussian_rho


@dataclass(frozen=True, kw_only=True)
class PIdentityMechanism(Written, name="p_identity"):
    """HDMM in one dimension: Lap(1/ε) on the answers of a p-Identity strategy, optimised for a workload of ranges.

    McKenna, Miklau, Hay, Machanavajjhala: Optimizing Error of High-dimensional Statistical Queries under Differential
    Privacy, PVLDB 11(10), 2018. The strategy [I; Θ] D depends on the size of the domain and on the workload only. A domain of
    several attributes is treated as one flattened line.
    """

    workload: str = "ranges"
    """The queries whose total variance is made least: all `ranges`, or all `prefixes` (ranges from the first cell on)."""

    paper = (
        "McKenna, Miklau, Hay, Machanavajjhala: Optimizing Error of High-dimensional Statistical Queries, PVLDB 2018"
    )
    place = "Section 5.2, OPT_0 with p-Identity strategies"
    reconstructed = (
        "the optimisation starts at the tree of hb, with its number of nodes as p; the paper starts at random"
    )
    fits = 2**12
    label, look = "p-Identity", 13
    audited = ({}, {"workload": "prefixes"})

    def __post_init__(self) -> None:
        one_of("workload", self.workload, strategies.WORKLOADS)

    def publish(self, data: Contingency, epsilon: float, noise: Noise) -> Dense:
        strategy = strategies.best_strategy(data.size, self.workload)
        answers = strategy.answers(self.line(data))
        noisy = noise.laplace(answers, scale=1 / epsilon, sensitivity=1.0, step="strategy")
        chosen = {"p": len(strategy.theta), "entries": data.size}
        return Dense(size=data.size, shape=data.shape, weights=strategy.estimate(noisy), chosen=chosen, stages=())


@dataclass(frozen=True, kw_only=True)
class SquareRootMatrix(Written, name="sqrt_matrix"):
    """The square-root factorisation of prefix sums, C x + N(0, σ²), (ε, δ) only: C C is the matrix of all prefix sums.

    Henzinger, Upadhyay, Upadhyay: Almost Tight Error Bounds on Differentially Private Continual Counting, SODA 2023;
    Fichtenberger, Henzinger, Upadhyay: Constant Matters, ICML 2023. C is a Toeplitz matrix with the coefficients
    binom(2k, k)/4^k of (1-z)^(-1/2). One individual moves C x by at most the norm of its first column,
    about √(1 + ln(n)/π), and a prefix sum gets a standard deviation of about σ₁ (1 + ln(n)/π). A domain of several attributes
    is treated as one flattened line.
    """

    delta: float = 1e-6
    """δ, the chance of an output that tells more than ε."""

    paper = "Henzinger, Upadhyay, Upadhyay: Almost Tight Error Bounds on DP Continual Counting, SODA 2023"
    place = "the factorisation into two equal lower-triangular Toeplitz matrices, with the exact Gaussian noise"
    privacy = "(ε, δ)"
    only_gaussian = True
    fits = 2**22
    label, look = "Square-root matrix", 14
    audited = ({}, {"delta": 0.01})

    def __post_init__(self) -> None:
        check_delta(self.delta)

    def inexact(self) -> str:
        return "the answers of its strategy are no whole numbers, and the discrete Gaussian is for whole numbers"

    def zcdp(self, data: Any, epsilon: float) -> float:
        return gaussian_rho(epsilon, self.delta)

    def sigma(self, data: Contingency, epsilon: float) -> float:
        """σ: the L2 norm of the first column of C times what sensitivity 1 needs."""
        unit = data.memo(("analytic_sigma", epsilon, self.delta), lambda: analytic_sigma(epsilon, self.delta))
        return toeplitz.column_norm(toeplitz.root(data.size)) * unit

    def publish(self, data: Contingency, epsilon: float, noise: Noise) -> Dense:
        sigma = self.sigma(data, epsilon)
        answers = toeplitz.times(toeplitz.root(data.size), self.line(data))
        noisy = noise.gaussian(answers, sigma=sigma, step="strategy")
        cells: NDArray[np.float64] = toeplitz.times(toeplitz.inverse_root(data.size), noisy)  # C⁻¹, as C is square
        chosen = {"sigma": sigma, "entries": data.size}
        return Dense(size=data.size, shape=data.shape, weights=cells, chosen=chosen, stages=())

    def expected_error(self, data: Contingency, epsilon: float) -> float:
        """Mean over the cells of √(2/π) times the standard deviation, which is σ ‖row of C⁻¹‖."""
        rows = np.sqrt(np.cumsum(toeplitz.inverse_root(data.size) ** 2))
        return float(self.sigma(data, epsilon) * math.sqrt(2 / math.pi) * rows.mean())
