"""Every row is scaled down to a norm C, with C chosen privately, then noise for C is added. In none of the five papers.

`dpsense` does the same with a quality function. Here C is a quantile of the rows, which costs a twentieth of the budget.
With few columns (d below some hundred) it changes little; a declared `bound` or a fixed `m` is then the better choice.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpbench.data import ColumnData, Counts
from dpbench.data.last_step import after, laplace_law, normal_law
from dpbench.data.stages import known
from dpbench.mechanisms.baselines.base import GaussianNoise
from dpbench.mechanisms.baselines.clipping import PARTS, Clipped
from dpbench.numerics.gaussian import mean_abs_normal
from dpbench.numerics.laplace import mean_abs
from dpbench.numerics.rows import square_norms
from dpbench.privacy import Noise

SURE = 12.0
"""-log of how likely a candidate for C that no row exceeds is, relative to the best one: at most e^-12."""


@dataclass(frozen=True, kw_only=True)
class ClippedLaplace(Clipped, name="clipped_laplace"):
    """Rows weighted by min(1, m/|x|₁), then Laplace noise of scale m/ε'; m chosen privately; not of the five papers.

    The norm is |x|₁ and C = m. The choice targets the m that t = d/ε' rows exceed.
    """

    label, look = "Clipped Laplace", 15
    audited = ({"bound": 3}, {"bound": 60, "share": 0.5}, {"m": 2}, {"bound": 5, "ratio": 2.0}, {})

    def sizes(self, columns: ColumnData) -> np.ndarray:
        """|x|₁."""
        return columns.row_sizes

    def end(self, columns: ColumnData) -> int:
        return self.sensitivity(columns)

    def weights(self, sizes: np.ndarray, m: int) -> np.ndarray:
        return np.minimum(1.0, m / np.maximum(sizes, 1))

    def target(self, columns: ColumnData, epsilon: float) -> float:
        return columns.columns / self.split(epsilon)[1]

    def savings(self, columns: ColumnData, epsilon: float) -> tuple[np.ndarray | None, float]:
        return None, 1.0

    def publish_columns(self, columns: ColumnData, epsilon: float, noise: Noise) -> Counts:
        m = self.choose(columns, epsilon, noise)
        clipped, scale = self.clipped(columns, m, noise.form), m / self.split(epsilon)[1]
        counts, bounded = noise.laplace(clipped, scale=scale, parts=PARTS), known("bounding", clipped)
        return Counts(
            counts=counts,
            chosen={"m": m, "scale": scale},
            diagnostics=self.told(columns, m, clipped),
            stages=(bounded,),
            last_step=after(laplace_law(scale), bounded),
        )

    def columns_error(self, columns: ColumnData, epsilon: float) -> float:
        """The mean over m of E|c^m - c + Lap(m/ε')|, with one pass over the data for every likely m."""
        rest = self.split(epsilon)[1]
        return sum(
            chance * float(mean_abs(self.clipped(columns, m) - columns.counts, m / rest).mean())
            for chance, m in self.choices(columns, epsilon)
        )


@dataclass(frozen=True, kw_only=True)
class ClippedGaussian(Clipped, GaussianNoise, name="clipped_gaussian"):
    """Rows weighted by min(1, C/|x|₂), C = √m, then Gaussian noise for C; m chosen privately; not of the five papers.

    The norm is |x|₂, and t = d σ₁ √(2/π). A row of zeros and ones above C saves its √|x|₁, and what rows save moves by
    that. It counts as R at most, so that the choice stays `SURE`.
    """

    label, look = "Clipped Gaussian", 16
    only_gaussian = False  # m is chosen by another step
    audited = ({"bound": 3}, {"bound": 60, "share": 0.5}, {"m": 2, "delta": 0.01}, {})

    def inexact(self) -> str:
        return "exact Gaussian noise is for whole numbers, and the counts of weighted rows are not whole"

    def sizes(self, columns: ColumnData) -> np.ndarray:
        """|x|₂², which equals |x|₁ if nothing repeats."""
        if not columns.repeats:
            return columns.row_sizes
        return columns.memo("square norms", lambda: square_norms(columns.indptr, columns.indices))

    def end(self, columns: ColumnData) -> int:
        """|x|₁² if a row may hold a single column many times, otherwise |x|₁."""
        return self.sensitivity(columns) ** (2 if columns.repeats else 1)

    def weights(self, sizes: np.ndarray, m: int) -> np.ndarray:
        return np.sqrt(np.minimum(1.0, m / np.maximum(sizes, 1)))

    def target(self, columns: ColumnData, epsilon: float) -> float:
        return columns.columns * self.sigma(columns, 1, epsilon) * math.sqrt(2 / math.pi)

    def savings(self, columns: ColumnData, epsilon: float) -> tuple[np.ndarray | None, float]:
        decided = self.split(epsilon)[0] / 2 * self.target(columns, epsilon)  # fε/2 t: score of S = 0 against S = t
        most = max(1.0, min(math.sqrt(self.sensitivity(columns)), decided / SURE))
        if most == 1:
            return None, most  # |x|₁ ≥ |x|₂
        ratio = columns.memo("|x|₁/|x|₂", lambda: columns.row_sizes / np.sqrt(np.maximum(self.sizes(columns), 1)))
        return ratio, most

    def sigma(self, columns: ColumnData, m: int, epsilon: float) -> float:
        """σ = C σ₁."""
        return math.sqrt(m) * self.unit_sigma(columns, self.split(epsilon)[1])

    def publish_columns(self, columns: ColumnData, epsilon: float, noise: Noise) -> Counts:
        m = self.choose(columns, epsilon, noise)
        clipped, sigma = self.clipped(columns, m), self.sigma(columns, m, epsilon)
        counts, bounded = noise.gaussian(clipped, sigma=sigma), known("bounding", clipped)
        return Counts(
            counts=counts,
            chosen={"m": m, "sigma": sigma},
            diagnostics=self.told(columns, m, clipped),
            stages=(bounded,),
            last_step=after(normal_law(sigma), bounded),
        )

    def columns_error(self, columns: ColumnData, epsilon: float) -> float:
        """The mean over m of E|c^m - c + N(0, σ²)|, with one pass over the data for every likely m."""
        total = 0.0
        for chance, m in self.choices(columns, epsilon):
            off = self.clipped(columns, m) - columns.counts
            total += chance * float(mean_abs_normal(off, self.sigma(columns, m, epsilon)).mean())
        return total
