"""Closed forms of counts published through their first Fourier coefficients. Used by FPA.

Coefficients are those of the real FFT, k = 0 .. ⌊d/2⌋. All but the first, and for even d the last, stand for two of the
full transform's, k and d - k, which are conjugate.
"""

from __future__ import annotations

import numpy as np


def coefficients(d: int) -> int:
    """How many coefficients the real FFT of d values has."""
    return d // 2 + 1


def multiplicity(d: int) -> np.ndarray:
    """How many coefficients of the full transform each coefficient of the real one represents; 1 marks the real-valued ones."""
    twice = np.full(coefficients(d), 2.0)
    twice[0] = 1.0
    if d % 2 == 0:
        twice[-1] = 1.0
    return twice


def to_parts(spectrum: np.ndarray, d: int) -> np.ndarray:
    """The first coefficients as real numbers: all real parts, then the imaginary parts of those that have one."""
    return np.concatenate([spectrum.real, spectrum.imag[multiplicity(d)[: spectrum.size] == 2]])


def from_parts(parts: np.ndarray, rho: int, d: int) -> np.ndarray:
    """The inverse of `to_parts`: the first `rho` coefficients."""
    spectrum = parts[:rho].astype(np.complex128)
    spectrum.imag[multiplicity(d)[:rho] == 2] = parts[rho:]
    return spectrum


def noise_scale(rho: float | np.ndarray, d: int, l2: float, epsilon: float) -> float | np.ndarray:
    """λ = √(ρ d) Δ₂ / ε, for real and imaginary parts of the first ρ coefficients each; `l2` is Δ₂ of the counts."""
    return np.sqrt(rho * d) * l2 / epsilon


def dropped_energy(spectrum: np.ndarray, d: int) -> np.ndarray:
    """Mean squared error of keeping the first ρ coefficients without noise, at index ρ - 1 (by Parseval)."""
    energy = multiplicity(d) * (spectrum.real**2 + spectrum.imag**2) / d**2
    # Summed from the far end, so that small tails are not differences of large sums.
    return np.append(np.cumsum(energy[:0:-1])[::-1], 0.0)


def noise_deviation(rho: int, d: int, l2: float, epsilon: float) -> float:
    """Standard deviation of the noise of each published value with ρ coefficients."""
    weight = float((multiplicity(d)[:rho] ** 2).sum())
    return float(noise_scale(rho, d, l2, epsilon)) * (2 * weight) ** 0.5 / d


def numbers_tried(d: int, ratio: float = 1.25) -> list[int]:
    """Ascending values of ρ from 1 to all coefficients, each about `ratio` times the previous one."""
    row, most = [1], coefficients(d)
    while row[-1] < most:
        row.append(min(most, max(row[-1] + 1, int(row[-1] * ratio))))
    return row


def mean_squared_errors(dropped: np.ndarray, d: int, l2: float, epsilon: float) -> np.ndarray:
    """Exact expected mean squared error of a release with ρ coefficients, at index ρ - 1.

    The real part of a coefficient enters each value with the weight (its multiplicity) cos(·)/d, the imaginary one
    with sin(·), so every value has the variance 2λ²(1 + 4(ρ - 1))/d²; the last one of an even d counts 1, not 4.
    """
    rho = np.arange(1, coefficients(d) + 1)
    weight = np.cumsum(multiplicity(d) ** 2)
    return dropped + 2 * noise_scale(rho, d, l2, epsilon) ** 2 * weight / d**2
