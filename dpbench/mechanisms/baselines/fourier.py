"""The Fourier Perturbation Algorithm of Rastogi and Nath, as gs adapts it to column counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dpbench.data import Counts, Incidence
from dpbench.errors import UserError, one_of, positive
from dpbench.mechanisms.base import Bounded
from dpbench.mechanisms.baselines._fourier import (
    coefficients,
    dropped_energy,
    mean_abs_normal,
    mean_squared_errors,
    multiplicity,
    noise_deviation,
    noise_scale,
    numbers_tried,
)
from dpbench.mechanisms.halves import also_records
from dpbench.numerics.laplace import mean_abs


@also_records
@dataclass(frozen=True, kw_only=True)
class FPA(Bounded, name="fpa"):
    """FPA: noise on the first ρ Fourier coefficients of c, then the inverse transform (gs, Theorem 2, Appendix A).

    Noise of scale λ = √(ρ d Δ)/ε goes to the real and the imaginary part of each coefficient independently. By
    conjugate symmetry the L1 norm of those parts is at most √ρ times the L2 norm √(d Δ), so λ is enough; the variance
    of a count, 2λ²(1 + 4(ρ - 1))/d², is about four times the paper's. Noise on magnitudes alone would publish phases.
    """

    rho: int | str = "optimal"
    """Number of coefficients kept; "optimal": the least expected error, found by looking at the data."""
    criterion: str = "mae"
    """What the optimal ρ makes least: the expected "mae", which the paper reports, over a row of ρ each a quarter larger
    than the one before; or the expected "mse", exactly and over all ρ."""

    paper, place = "gs", "Theorem 2, Appendix A"
    reconstructed = "how noise enters complex coefficients: independently in real and imaginary parts"

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.rho, str) and self.rho != "optimal":
            raise UserError(f"rho={self.rho!r} is not valid: expected 'optimal' or a positive whole number")
        if self.rho != "optimal":
            positive("rho", self.rho, whole=True)
        one_of("criterion", self.criterion, ("mae", "mse"))

    def l2_sensitivity(self, data: Incidence) -> float:
        """Δ₂(Q): √Δ₁ where a row holds each column once (and d at most), Δ₁ itself where it may hold repeats."""
        delta = self.sensitivity(data)
        return float(delta) if getattr(data, "repeats", False) else min(delta, data.columns) ** 0.5

    def unfit(self, data: Any) -> str:
        if reason := super().unfit(data):
            return reason
        d = data.n_items if data.kind == "records" else data.columns
        if self.rho != "optimal" and int(self.rho) > coefficients(d):
            return f"rho={self.rho} is above the {coefficients(d)} coefficients of {d} columns"
        return ""

    def not_private(self) -> str:
        reasons = [super().not_private()]
        if self.rho == "optimal":
            reasons.append("the optimal ρ looks at the data: give `rho`")
        return "; ".join(filter(None, reasons))

    def publish(self, data: Incidence, epsilon: float, rng: np.random.Generator) -> Counts:
        from scipy.fft import irfft

        d = data.columns
        rho = self._rho(data, epsilon)
        scale = float(noise_scale(rho, d, self.l2_sensitivity(data), epsilon))  # λ
        noise = rng.laplace(0.0, scale, rho) + 1j * rng.laplace(0.0, scale, rho) * (multiplicity(d)[:rho] == 2)
        t = irfft(_spectrum(data)[:rho] + noise, n=d)
        dropped = float(self._dropped(data)[rho - 1])  # to tell the noise's part of an error, not published
        return Counts(counts=t, info={"rho": rho, "scale": scale, "dropped": dropped})

    def expected_mse(self, data: Incidence, epsilon: float) -> float:
        """Expected mean squared error, exact: the energy of the dropped coefficients and the variance of the noise."""
        return float(self._errors(data, epsilon)[self._rho(data, epsilon) - 1])

    def _rho(self, data: Incidence, epsilon: float) -> int:
        if self.rho != "optimal":
            return int(self.rho)
        key = ("fpa rho", self.criterion, self.l2_sensitivity(data), epsilon)
        if self.criterion == "mse":
            return data.memo(key, lambda: int(np.argmin(self._errors(data, epsilon))) + 1)
        return data.memo(key, lambda: self._least_mae(data, epsilon))

    def _least_mae(self, data: Incidence, epsilon: float) -> int:
        """The ρ of the least expected absolute error: that of the dropped coefficients and of noise together."""
        from scipy.fft import irfft

        d, l2 = data.columns, self.l2_sensitivity(data)
        best, chosen = np.inf, 1
        for rho in numbers_tried(d):
            deviation = noise_deviation(rho, d, l2, epsilon)
            if deviation / 2**0.5 >= best:
                break  # symmetric noise alone, E|noise| ≥ σ/√2, is already worse, and grows with ρ
            off = irfft(_spectrum(data)[:rho], n=d) - data.counts
            # One coefficient has Laplace noise; with more it is a sum, and near enough to normal for a choice.
            error = mean_abs(off, deviation / 2**0.5) if rho == 1 else mean_abs_normal(off, deviation)
            if (mean := float(error.mean())) < best:
                best, chosen = mean, rho
        return chosen

    def _errors(self, data: Incidence, epsilon: float) -> np.ndarray:
        """Expected mean squared error of every ρ."""
        return mean_squared_errors(self._dropped(data), data.columns, self.l2_sensitivity(data), epsilon)

    def _dropped(self, data: Incidence) -> np.ndarray:
        """RE_FPA: what leaving out the other coefficients alone costs every ρ, as a mean squared error."""
        return data.memo("fpa dropped energy", lambda: dropped_energy(_spectrum(data), data.columns))


def _spectrum(data: Incidence) -> np.ndarray:
    from scipy.fft import rfft

    return data.memo("fpa spectrum", lambda: rfft(data.counts.astype(np.float64)))
