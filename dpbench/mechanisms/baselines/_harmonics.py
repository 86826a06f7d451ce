"""Values from a few Fourier coefficients, harmonic by harmonic. Used by FPA, whose ρ is usually far below d.

An inverse FFT costs d log d, and many times that where d has large prime factors, for one coefficient as for all of them.
"""

from __future__ import annotations

import numpy as np

from dpbench.mechanisms.baselines._fourier import multiplicity
from dpbench.numerics.compiled import kernel

FEW = 64
"""Up to this many harmonics, a sum over them is faster than an inverse FFT of some million values."""
BLOCK = 1024
"""The angle of each harmonic is computed anew for every block, so that rounding errors do not accumulate."""


def inverse(spectrum: np.ndarray, d: int) -> np.ndarray:
    """The d values whose real FFT begins with `spectrum` and is zero after it."""
    if spectrum.size > FEW:
        from scipy.fft import irfft

        return irfft(spectrum, n=d)
    values = np.zeros(d)
    add_harmonics(values, spectrum, 0)
    return values


def add_harmonics(values: np.ndarray, spectrum: np.ndarray, first: int) -> None:
    """Add to `values` what the coefficients `first`, `first` + 1, ... contribute."""
    d, last = values.size, first + spectrum.size
    if last - first > FEW:
        from scipy.fft import irfft

        padded = np.zeros(last, dtype=np.complex128)
        padded[first:] = spectrum
        values += irfft(padded, n=d)
        return
    weights = multiplicity(d)[first:last] / d
    # The first coefficient and, for even d, the last one are real: an imaginary part would have no meaning.
    imaginary = np.where(weights * d == 1, 0.0, spectrum.imag)
    _add(values, weights * spectrum.real, weights * imaginary, first)


@kernel()
def _add(values, real, imaginary, first):  # type: ignore[no-untyped-def]
    """values[j] += Σ_k real_k cos(2πjk/d) - imaginary_k sin(2πjk/d), by the angle sum of block and position in the block."""
    d = values.size
    turn = 2 * np.pi / d
    cosine, sine = np.empty(BLOCK), np.empty(BLOCK)
    for i in range(real.size):
        k = first + i
        for t in range(min(BLOCK, d)):
            angle = turn * ((k * t) % d)
            cosine[t], sine[t] = np.cos(angle), np.sin(angle)
        for start in range(0, d, BLOCK):
            angle = turn * ((k * start) % d)
            c, s = np.cos(angle), np.sin(angle)
            a = real[i] * c - imaginary[i] * s
            b = real[i] * s + imaginary[i] * c
            for t in range(min(BLOCK, d - start)):
                values[start + t] += a * cosine[t] - b * sine[t]
