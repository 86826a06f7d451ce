"""`LastStep`: a release before its last noise, and the law of that noise.

From it a task computes the expected error given everything before that noise, which varies less than a sampled error. It is
exact, so no release publishes it, and nothing is computed until a task asks. Mechanisms attach it; only tasks read it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbench.data.stages import Stage
from dpbench.numerics.expected import laplace_sums, normal_sums


@dataclass(frozen=True)
class NoiseLaw:
    """The law of the noise of one published number, symmetric around 0. All numbers have the same, dependent or not."""

    variance: float
    mean_abs: float = math.nan
    """E|noise|; nan if it has no closed form."""
    kind: str = ""
    """`laplace` or `normal`; empty if only the moments are known."""

    def sums(
        self, before: NDArray[Any], truth: NDArray[Any], weights: NDArray[np.float64]
    ) -> tuple[float, float, float]:
        """Σ E|s + noise|, the same with weights, and Σ s², where s = before - truth."""
        if not self.kind:
            off = before - truth
            return math.nan, math.nan, float(np.dot(off, off))
        sums, scale = {"laplace": (laplace_sums, self.mean_abs), "normal": (normal_sums, math.sqrt(self.variance))}[
            self.kind
        ]
        absolute, weighted, squares = sums(before, truth, weights, scale)
        return float(absolute), float(weighted), float(squares)


def laplace_law(scale: float) -> NoiseLaw:
    """Lap(scale)."""
    return NoiseLaw(2 * scale**2, scale, "laplace")


def normal_law(sigma: float) -> NoiseLaw:
    """N(0, sigma²)."""
    return NoiseLaw(sigma**2, sigma * math.sqrt(2 / math.pi), "normal")


@dataclass(frozen=True)
class ExpectedErrors:
    """Expected errors, as sums over the published numbers; nan where there is no closed form."""

    absolute: float
    weighted: float
    """Each number with a weight."""
    squared: float


@dataclass(frozen=True, eq=False)
class NoiseCase:
    """One way in which counts may have come to their last noise."""

    law: NoiseLaw
    before: Callable[[], NDArray[Any]] | None = field(default=None, repr=False)
    """The published numbers without that noise; None: the true ones. Draws no random numbers."""
    weight: float = 1.0
    """Its part in the expected errors: the weights of all cases add up to 1, and may be negative."""
    key: Hashable = None
    """Identifies the case for these data: equal keys mean equal numbers. None: every release has its own."""

    def errors(self, truth: NDArray[Any], weights: NDArray[np.float64]) -> ExpectedErrors:
        """The sums over all numbers."""
        spread = truth.size * self.law.variance
        if self.before is None:
            size = self.law.mean_abs
            return ExpectedErrors(truth.size * size, float(weights.sum()) * size, spread)
        absolute, weighted, squares = self.law.sums(self.before().reshape(-1), truth, weights)
        return ExpectedErrors(absolute, weighted, squares + spread)


class LastStep:
    """Base of what is known about the last noise of a release."""


@dataclass(frozen=True, eq=False)
class NoisyCounts(LastStep):
    """Noise on counts. Usually one case; others beside it may take out what a choice before the noise contributes by chance."""

    cases: tuple[NoiseCase, ...]
    edges: LastStep | None = None
    """That of the edge counts, where there are any."""


def after(
    law: NoiseLaw,
    stage: Stage[NDArray[Any]] | None = None,
    *,
    edges: LastStep | None = None,
    same: Hashable = None,
) -> NoisyCounts:
    """Noise on the answers of a stage; on the true counts if there is none. `same` names answers that are the same in every
    release of these data."""
    if stage is None:
        return NoisyCounts((NoiseCase(law, key=law),), edges)
    return NoisyCounts((NoiseCase(law, lambda: stage.answers, key=None if same is None else (same, law)),), edges)


@dataclass(frozen=True)
class NoisyTable(LastStep):
    """Two-sided geometric noise on every place of a table, independently, all published as they are."""

    alpha: float


@dataclass(frozen=True, eq=False)
class FairSigns(LastStep):
    """The signs of the published entries whose true value is zero. Noise is symmetric, and whether it is published depends on
    its size only; so these signs are fair and independent, given everything else."""

    fair: Callable[[], NDArray[np.bool_]] = field(repr=False)
    """Which of the entries have a true value of zero."""
