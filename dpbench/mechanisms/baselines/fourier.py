"""The Fourier Perturbation Algorithm of Rastogi and Nath, as gs adapts it to column counts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from dpbench.data import ColumnData, Counts
from dpbench.data.last_step import NoiseLaw, after, laplace_law
from dpbench.data.stages import Stage
from dpbench.errors import UserError, one_of, positive
from dpbench.mechanisms.base import Bounded, item_budget
from dpbench.mechanisms.baselines._fourier import (
    coefficients,
    dropped_energy,
    from_parts,
    mean_squared_errors,
    noise_deviation,
    noise_scale,
    numbers_tried,
    to_parts,
)
from dpbench.mechanisms.baselines._harmonics import add_harmonics, inverse
from dpbench.numerics.gaussian import mean_abs_normal
from dpbench.numerics.laplace import mean_abs
from dpbench.privacy import Noise


@dataclass(frozen=True, kw_only=True)
class FPA(Bounded, name="fpa"):
    """FPA: noise on the first ρ Fourier coefficients of c, then the inverse transform (gs, Theorem 2, Appendix A).

    Noise of scale λ = √(ρ d Δ)/ε goes to the real and the imaginary part of each coefficient independently. By
    conjugate symmetry the L1 norm of those parts is at most √ρ times the L2 norm √(d Δ), so λ is enough. Theorem 2 counts
    each coefficient with its conjugate, 2ρ - 1 in all; counted so, the variance 2λ²(1 + 4(ρ - 1))/d² is the paper's, at
    most 11 % above it (ρ = 2). Noise on magnitudes alone would publish phases.
    """

    rho: float | str = "optimal"
    """Number of coefficients kept, or below 1 a share of the d columns; "optimal": the least expected error, found by looking
    at the data."""
    criterion: str = "mae"
    """What the optimal ρ minimises: the expected "mae", which the paper reports, over values of ρ that grow by a quarter
    each; or the expected "mse", exactly and over all ρ."""

    most: float = 1.0
    """The largest share of the d columns that the optimal ρ may be: the text keeps "the first ρ ≪ d" coefficients."""
    norm: str = "safe"
    """Δ₂ where a row may hold a column more than once: "safe": Δ₁; "root": √Δ₁, which only covers rows without repeats."""

    paper, place = "gs", "Theorem 2, Appendix A"
    kinds = ("incidence", "records")
    reconstructed = "how noise enters complex coefficients: independently in real and imaginary parts"
    label, look = "FPA", 1
    audited = (
        {"bound": 3, "rho": 1},
        {"bound": 3, "rho": 2},
        {"bound": 3},
        {"rho": 1},
        {"bound": 3, "rho": 0.4, "norm": "root"},
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.rho, str) and self.rho != "optimal":
            raise UserError(f"rho={self.rho!r} is not valid: expected 'optimal' or a positive whole number")
        if self.rho != "optimal":
            positive("rho", self.rho, whole=not (isinstance(self.rho, float) and self.rho < 1))
        one_of("norm", self.norm, ("safe", "root"))
        one_of("criterion", self.criterion, ("mae", "mse"))
        positive("most", self.most)
        if self.most > 1 or (self.most < 1 and self.rho != "optimal"):
            expected = "a share of at most 1" if self.most > 1 else "rho='optimal', as a given ρ needs no limit"
            raise UserError(f"most={self.most!r} is not valid: expected {expected}")

    def l2_sensitivity(self, columns: ColumnData) -> float:
        """Δ₂(Q): √Δ₁ if a row holds each column once (at most d ones), Δ₁ itself if it may hold repeats."""
        delta = self.sensitivity(columns)
        if columns.repeats:
            return float(delta) if self.norm == "safe" else delta**0.5
        return min(delta, columns.columns) ** 0.5

    def unfit(self, data: Any) -> str:
        if reason := super().unfit(data):
            return reason
        d = data.columns
        if self.rho != "optimal" and float(self.rho) > coefficients(d):
            return f"rho={self.rho} is above the {coefficients(d)} coefficients of {d} columns"
        return ""

    def not_private(self) -> str:
        reasons = [super().not_private()]
        if self.rho == "optimal":
            reasons.append("the optimal ρ looks at the data: give `rho`")
        if self.norm == "root":
            reasons.append("√Δ does not cover a row that holds a column twice: leave out `norm`")
        return "; ".join(filter(None, reasons))

    def inexact(self) -> str:
        return "Fourier coefficients are irrational, and their transform is computed in floating point"

    def publish_columns(self, columns: ColumnData, epsilon: float, noise: Noise) -> Counts:
        d = columns.columns
        rho = self._rho(columns, epsilon)
        scale = float(noise_scale(rho, d, self.l2_sensitivity(columns), epsilon))  # λ
        # One query: the real parts of the first ρ coefficients and, if they have one, the imaginary parts.
        parts = noise.laplace(to_parts(_spectrum(columns)[:rho], d), scale=scale)
        t = inverse(from_parts(parts, rho, d), d)
        # The dropped part shows how much of an error is not noise. It is exact, so it is a diagnostic.
        dropped = float(self._dropped(columns)[rho - 1])
        kept = Stage("dropping", partial(inverse, _spectrum(columns)[:rho], d))
        # One coefficient adds the same Laplace noise to every value; of a sum of several only the variance has a closed form.
        law = laplace_law(scale / d) if rho == 1 else NoiseLaw(self._deviation(columns, rho, epsilon) ** 2)
        return Counts(
            counts=t,
            chosen={"rho": rho, "scale": scale},
            diagnostics={"dropped": dropped},
            stages=(kept,),
            last_step=after(law, kept, same=("fpa", rho)),
        )

    def _deviation(self, columns: ColumnData, rho: int, epsilon: float) -> float:
        """The standard deviation of the noise of every published value."""
        return noise_deviation(rho, columns.columns, self.l2_sensitivity(columns), epsilon)

    def expected_mse(self, data: Any, epsilon: float) -> float:
        """Expected mean squared error, exact: the energy of the dropped coefficients and the variance of the noise. For
        records, the error of the item counts."""
        columns, budget = data.item_columns(), item_budget(data, epsilon)
        return float(self._errors(columns, budget)[self._rho(columns, budget) - 1])

    def _rho(self, columns: ColumnData, epsilon: float) -> int:
        if self.rho != "optimal":
            share = float(self.rho)
            return (
                int(share) if share >= 1 else min(coefficients(columns.columns), max(1, int(share * columns.columns)))
            )
        key = (
            "fpa rho",
            self.criterion,
            self.l2_sensitivity(columns),
            epsilon,
            *([self.most] if self.most < 1 else []),
        )
        if self.criterion == "mse":
            return columns.memo(
                key, lambda: int(np.argmin(self._errors(columns, epsilon)[: self._largest(columns)])) + 1
            )
        # The search takes long for millions of columns, so it is done once for all workers.
        return int(columns.fact(key, type(self), lambda: self._least_mae(columns, epsilon)))

    def _largest(self, columns: ColumnData) -> int:
        """The largest ρ that may be chosen."""
        return min(coefficients(columns.columns), max(1, int(self.most * columns.columns)))

    def _least_mae(self, columns: ColumnData, epsilon: float) -> int:
        """The ρ with the least expected absolute error, from dropped coefficients and noise together."""
        best, chosen = np.inf, 1
        off, kept = -columns.counts.astype(np.float64), 0  # the error of keeping the first `kept` coefficients
        for rho in numbers_tried(columns.columns):
            if rho > self._largest(columns):
                break
            deviation = self._deviation(columns, rho, epsilon)
            if deviation / 2**0.5 >= best:
                break  # symmetric noise alone, E|noise| ≥ σ/√2, is already worse, and grows with ρ
            add_harmonics(off, _spectrum(columns)[kept:rho], kept)
            kept = rho
            if float(np.abs(off).mean()) >= best:
                continue  # noise on top of it cannot help: E|off + noise| ≥ |off|
            # One coefficient has Laplace noise; several give a sum, close enough to normal for this choice.
            error = mean_abs(off, deviation / 2**0.5) if rho == 1 else mean_abs_normal(off, deviation)
            if (mean := float(error.mean())) < best:
                best, chosen = mean, rho
        return chosen

    def _errors(self, columns: ColumnData, epsilon: float) -> np.ndarray:
        """Expected mean squared error of every ρ."""
        return mean_squared_errors(self._dropped(columns), columns.columns, self.l2_sensitivity(columns), epsilon)

    def _dropped(self, columns: ColumnData) -> np.ndarray:
        """RE_FPA: the mean squared error of leaving out the other coefficients, for every ρ."""
        return columns.memo("fpa dropped energy", lambda: dropped_energy(_spectrum(columns), columns.columns))


def _spectrum(columns: ColumnData) -> np.ndarray:
    from scipy.fft import rfft

    return columns.memo("fpa spectrum", lambda: rfft(columns.counts.astype(np.float64)))
